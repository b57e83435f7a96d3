/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/check.c - is the heap what it says it is
 *
 * Data:       none.
 * Invariants: those of slob.h and heap.c; a violation ends in CHECK().
 * Locks:      the heap's, for the whole walk.
 * Flow:       slob_heap_check() through struct engine_heap, once for all caches; slob_check()
 *             through struct engine_ops, for one: tests, debug builds.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "engine/slob/slob.h"

static void check_listed(const struct slob_heap *heap, const struct page *page)
{
	CHECK(page->lru.next->prev == &page->lru && page->lru.prev->next == &page->lru);
	CHECK(page->type == PAGE_HEAP);
	CHECK(page->heap == heap->ops);
	CHECK(page->nr_pages == 1);
	CHECK(page_map.class[page_index(page_address(page))] == 0);
	CHECK(slob_page_free_bytes(page) > 0);
	CHECK(slob_page_free_bytes(page) < PAGE_SIZE);
	CHECK(slob_page_is_whole(page));
}

void slob_heap_check(struct slob_heap *heap)
{
	const struct engine_heap_counters *counters = &heap->counters;
	unsigned long pages = 0;
	unsigned long free = 0;
	struct list_head *pos;
	unsigned int i;

	lock_acquire(&heap->lock);
	for (i = 0; i < SLOB_LISTS; i++) {
		list_for_each(pos, &heap->list[i]) {
			const struct page *page = list_entry(pos, struct page, lru);

			CHECK(i <= heap->last_list);
			CHECK(++pages <= counters->pages);
			check_listed(heap, page);
			free += slob_page_free_bytes(page);
		}
	}
	CHECK(pages + heap->isolated <= counters->pages);
	/* Pages on no list are full. */
	CHECK(counters->bytes == counters->pages * PAGE_SIZE - free);
	CHECK(counters->objects >= counters->pages);
	CHECK(counters->objects >= counters->blocks);
	lock_release(&heap->lock);
}

void slob_check(struct engine *e)
{
	struct slob *s = slob_of(e);

	CHECK(e->layout == &s->layout);
	CHECK(e->size == s->layout.stride);
	CHECK(s->layout.objects >= 1);
	lock_acquire(&s->heap->lock);
	CHECK(s->heap->counters.objects - s->heap->counters.blocks >= e->heap_objects);
	CHECK(!s->direct || !e->heap_objects);
	lock_release(&s->heap->lock);
	CHECK(s->direct || !load_relaxed(&s->nr_direct));
	CHECK(s->direct || is_pow2(s->shape.align));
}
