/* SPDX-License-Identifier: MIT */
/*
 * report/pages.c - the page descriptors of a process, counted
 *
 * Data:       struct snapshot of the caller; descriptors are read in pieces of its buffer.
 * Invariants: every block is counted once, by its head; a head that cannot be one is left out.
 * Locks:      none. A block that is handed over while its part of the array is read may be counted
 *             as what it was or as what it becomes, or not at all.
 * Flow:       called by report/snapshot.c. One pass over an array: nothing to loop on.
 */
#include "base/bits.h"
#include "page/arena.h"
#include "report/internal.h"

#define PIECE (SNAPSHOT_BUFFER / sizeof(struct page))

static void count_slab(struct snapshot *s, const struct page *page)
{
	union {
		uint64_t word;
		struct slab_counters is;
	} counters = { .word = page->counters };
	unsigned long bytes = PAGE_SIZE << page->order;
	int index = snapshot_find_engine(s, (uintptr_t)page->engine);
	unsigned long inuse = MIN(counters.is.inuse, counters.is.objects);
	struct snapshot_cache *c;

	if (index < 0) {
		s->totals.unknown_bytes += bytes;
		return;
	}
	c = &s->cache[index];
	c->slabs++;
	c->slab_bytes += bytes;
	c->total_objects += counters.is.objects;
	s->work[index].inuse += inuse;
	if (counters.is.frozen) {
		c->cpu_slabs++;
	} else if (inuse < counters.is.objects) {
		/* not a CPU's, and room in it: then it is on its node's list */
		c->partial++;
		c->objects_partial += inuse;
	}
}

static void count_page(struct snapshot *s, const struct page *page)
{
	struct snapshot_totals *t = &s->totals;
	bool possible = true;

	switch (page->type) {
	case PAGE_SLAB:
		possible = page->order <= ARENA_CHUNK_ORDER;
		if (possible)
			count_slab(s, page);
		break;
	case PAGE_HEAP:
		snapshot_heap_page(s, page);
		break;
	case PAGE_RUN:
		possible = page->nr_pages <= 1u << ARENA_CHUNK_ORDER;
		if (possible) {
			t->runs++;
			t->run_bytes += (unsigned long)page->nr_pages << PAGE_SHIFT;
		}
		break;
	case PAGE_BUDDY:
		possible = page->order <= ARENA_CHUNK_ORDER && page->nr_pages <= 1u << page->order;
		if (possible) {
			t->free_bytes += PAGE_SIZE << page->order;
			t->dirty_bytes += (unsigned long)page->nr_pages << PAGE_SHIFT;
		}
		break;
	case PAGE_NONE:
	case PAGE_TAIL:
		break;
	default:
		possible = false;
	}
	t->inconsistent += !possible;
}

void snapshot_pages(struct snapshot *s)
{
	const struct page *piece = (const struct page *)s->buffer;

	for (unsigned long i = 0; i < s->nr_pages; i += PIECE) {
		unsigned long n = MIN(PIECE, s->nr_pages - i);

		/* what is not readable at one place is not readable further on */
		if (!snapshot_read(s, s->descriptors + i * sizeof(*piece), s->buffer,
				   n * sizeof(*piece)))
			break;
		for (unsigned long j = 0; j < n; j++)
			count_page(s, &piece[j]);
	}
}
