/* SPDX-License-Identifier: MIT */
/*
 * conformance/books.h - spec 14 vector 16: every page that is out is accounted for
 *
 * pages_out() of the fixture is what the page allocator says; here is what
 * caches, heaps and runs say.
 */
#ifndef CONFORMANCE_BOOKS_H
#define CONFORMANCE_BOOKS_H

#include "page/nested.h"
#include "page/reserve.h"
#include "unit/cache/cache_fixture.h"

static unsigned long books_heap_pages;

static inline void books_count_heap(const struct engine_heap *heap)
{
	for (unsigned int i = 0; i <= heap->more_counters; i++)
		books_heap_pages += heap->counters[i].pages;
}

static inline unsigned long pages_by_the_books(void)
{
	struct engine_stats stats;
	struct list_head *pos;
	struct run_stats runs;
	unsigned long bytes;

	run_stats(&runs);
	bytes = runs.bytes;
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		c->engine.ops->stats(&c->engine, &stats);
		bytes += stats.slab_bytes;
	}
	books_heap_pages = 0;
	cache_heaps_each(books_count_heap);
	return bytes / PAGE_SIZE + books_heap_pages;
}

/* All is back, and every page is accounted for. */
static inline void books_balance(void)
{
	struct list_head *pos;

	nested_settle();
	CHILD_CHECK(!nested_waiting() && !nested_lost() && !reserve_count());
	reserve_check();
	cache_check_all();
	list_for_each(pos, &cache_list)
		CHILD_CHECK(in_use(list_entry(pos, struct cache, list)) == 0);
	CHILD_CHECK(pages_out() == pages_by_the_books());
	cache_shrink_all();
	CHILD_CHECK(pages_out() == 0);
}

#endif /* CONFORMANCE_BOOKS_H */
