/* SPDX-License-Identifier: MIT */
/*
 * inspect/heaps.c - the heaps of a process: pages that objects of all caches and blocks share
 *
 * Data:       struct snapshot of the caller.
 * Invariants: see inspect/snapshot.h; s->nr_heaps is within the array.
 * Locks:      none.
 * Flow:       called by inspect/snapshot.c before, by pages.c during, and by snapshot.c after the
 *             pages are counted.
 *
 * Objects of caches are counted by their caches, wherever they lie; the row of a heap has the
 * blocks of kmalloc and malloc as its objects, and all pages.
 */
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "cache/cache.h"
#include "inspect/internal.h"

#define MAX_MORE_COUNTERS 63 /* far more than any heap has */

BUILD_ASSERT(CACHE_NR_ENGINES <= SNAPSHOT_MAX_HEAPS);

#define MAX_COUNTERS 63u /* more, read from a process, are not valid */

/* Sums; counters that cannot be read count as 0. */
static void read_counters(struct snapshot *s, struct snapshot_heap *heap,
			  const struct engine_heap *from)
{
	struct engine_heap_counters counters[1 + MAX_MORE_COUNTERS];
	unsigned int n = 1 + from->more_counters;

	if (from->more_counters > MAX_MORE_COUNTERS) {
		s->totals.inconsistent++;
		return;
	}
	if (!snapshot_read(s, (uintptr_t)from->counters, counters, n * sizeof(counters[0])))
		return;
	for (unsigned int i = 0; i < n; i++) {
		heap->objects += counters[i].objects;
		heap->blocks += counters[i].blocks;
		heap->bytes += counters[i].bytes;
	}
}

/* The heap of the engine whose ops lie there, if it has one. */
static void read_heap(struct snapshot *s, uint64_t ops_address)
{
	struct snapshot_heap *heap = &s->heap[s->nr_heaps];
	struct engine_heap from;
	struct engine_ops ops;

	if (!snapshot_read(s, ops_address, &ops, sizeof(ops)) || !ops.heap ||
	    !snapshot_read(s, (uintptr_t)ops.heap, &from, sizeof(from)))
		return;
	memset(heap, 0, sizeof(*heap));
	heap->address = (uintptr_t)ops.heap;
	snapshot_text(s, (uintptr_t)ops.name, heap->name, sizeof(heap->name));
	read_counters(s, heap, &from);
	s->nr_heaps++;
}

void snapshot_heaps(struct snapshot *s)
{
	uint64_t engines[CACHE_NR_ENGINES];

	if (!snapshot_read(s, s->root.engines, engines, sizeof(engines)))
		return;
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++)
		read_heap(s, engines[i]);
}

void snapshot_heap_page(struct snapshot *s, const struct page *page)
{
	for (unsigned int i = 0; i < s->nr_heaps; i++)
		if (s->heap[i].address == (uintptr_t)page->heap) {
			s->heap[i].pages++;
			s->heap[i].partial += (uint32_t)page->counters != 0;
			return;
		}
	s->totals.inconsistent++;
}

void snapshot_heap_rows(struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_heaps; i++) {
		const struct snapshot_heap *heap = &s->heap[i];
		unsigned long bytes = heap->pages << PAGE_SHIFT;
		struct snapshot_cache *c;
		char name[SNAPSHOT_NAME_MAX];

		if (!heap->pages)
			continue;
		snprintf(name, sizeof(name), "%s-heap", heap->name);
		c = snapshot_add_row(s, name, heap->pages, bytes);
		memcpy(c->engine, heap->name, sizeof(c->engine));
		c->objects = c->total_objects = heap->blocks;
		c->object_bytes = MIN(heap->bytes, bytes);
		c->object_size = c->slab_size =
			(unsigned int)(heap->objects ? c->object_bytes / heap->objects : 0);
		c->align = ARCH_KMALLOC_MINALIGN;
		c->partial = heap->partial;
		s->totals.slab_bytes += bytes;
	}
}
