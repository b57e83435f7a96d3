/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/heap.c - blocks of any size, for kmalloc and malloc over an engine that has a heap
 *
 * Why:        docs/adr/0008.
 * Data:       none.
 * Invariants: an object in a page of type PAGE_HEAP whose header names a cache is freed through
 *             that cache's front, every other block to the heap.
 * Locks:      none held here; the heap's own.
 * Flow:       called by kmalloc.c, check.c and malloc/slow.c; calls engine_heap, free.c,
 *             pressure.c.
 */
#include <string.h>

#include "base/bits.h"
#include "cache/group/group.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/pressure.h"
#include "cache/profile/profile.h"
#include "os/cpu/cpu.h"
#include "page/used.h"

void *cache_heap_alloc(const struct engine_heap *heap, size_t size, size_t align, gfp_t gfp,
		       int node)
{
	struct pressure t = { .wanted = gfp, .size = size, .whose = "a heap" };
	void *p;

	if (node >= (int)os_topology.nr_nodes)
		node = NUMA_NO_NODE; /* spec 5.10: as for any cache */
	p = heap->alloc(heap, size, align, gfp | __GFP_NOWARN, node);
	while (unlikely(!p) && pressure_again(&t))
		p = heap->alloc(heap, size, align, t.gfp, node);
	if (p && used_are_kept())
		used_set(p);
	if (p && gfp & __GFP_ZERO)
		memset(p, 0, size);
	return p;
}

static void free_block(const struct engine_heap *heap, void *p, const void *caller)
{
	instrument_enter();
	if (instrument_is_on())
		instrument_block_free(p, heap->size(p), caller);
	profile_drop(NULL, p);
	group_drop(NULL, p);
	heap->free(p);
	instrument_leave();
}

void cache_heap_free(const struct cache_call *call, const struct engine_heap *heap, void *p,
		     const void *caller)
{
	struct cache *c;

	if (unlikely(!cache_is_in_use(p))) {
		cache_report_pointer(call, NULL, p);
		return;
	}
	c = cache_of_object(p);
	if (c)
		cache_free_for(c, p, caller);
	else if (!used_are_kept() || used_clear(p))
		free_block(heap, p, caller);
}

/* No two engines share a heap. */
void cache_heaps_each(void (*visit)(const struct engine_heap *heap))
{
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++)
		if (cache_engines[i]->heap)
			visit(cache_engines[i]->heap);
}
