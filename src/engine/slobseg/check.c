/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/check.c - is every page what it says it is; who is still in use
 *
 * Data:       a bitmap of a page's objects on the stack.
 * Invariants: those of slobseg.h; a violation ends in CHECK() if it is slobseg_check()
 *             that finds it. The others follow what a program may have overwritten,
 *             inside of its page and once.
 * Locks:      slobseg.lock.
 * Flow:       called by list.c, pow2.c and through slobseg_ops; for debug builds and reports.
 */
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/slobseg/slobseg.h"
#include "os/cpu/cpu.h"

struct bitmap {
	uint64_t word[PAGE_SIZE / SLOBSEG_WORD / 64];
};

/* false: it was marked before. */
static bool bitmap_mark(struct bitmap *map, unsigned int i)
{
	bool fresh = !(map->word[i / 64] >> (i % 64) & 1);

	map->word[i / 64] |= 1ull << (i % 64);
	return fresh;
}

static bool bitmap_has(const struct bitmap *map, unsigned int i)
{
	return map->word[i / 64] >> (i % 64) & 1;
}

/*
 * Marks the free objects of a page as far as its list can be believed. Returns how many; *whole:
 * each lies at its place and is met once, and there is no more.
 */
static unsigned int mark_free(const struct slobseg *s, const struct page *page, struct bitmap *map,
			      bool *whole)
{
	unsigned int count = 0;
	void *obj;

	memset(map, 0, sizeof(*map));
	for (obj = page->freelist; obj; obj = *slobseg_link(s, obj)) {
		uint64_t offset = (uint64_t)obj - (uint64_t)page_address(page);

		if (!slobseg_starts(s, offset) ||
		    !bitmap_mark(map, (unsigned int)offset / s->layout.stride))
			break;
		count++;
	}
	*whole = !obj;
	return count;
}

bool slobseg_list_is_whole(const struct slobseg *s, const struct page *page)
{
	struct bitmap map;
	bool whole;
	unsigned int free = mark_free(s, page, &map, &whole);

	return whole && page->counters == slobseg_used(s, free);
}

bool slobseg_is_listed(const struct slobseg *s, const struct page *page, const void *obj)
{
	struct bitmap map;
	bool whole;

	mark_free(s, page, &map, &whole);
	return bitmap_has(&map, (unsigned int)((uintptr_t)obj % PAGE_SIZE) / s->layout.stride);
}

/* A page of a list. Returns its free objects. */
static unsigned int check_page(const struct slobseg *s, const struct page *page)
{
	struct bitmap map;
	bool whole;
	unsigned int free = mark_free(s, page, &map, &whole);

	CHECK(whole);
	CHECK(page->type == s->type && page->layout == &s->layout);
	CHECK(slobseg_is_pool(s) ? page->heap == s->heap : page->engine == s->engine);
	CHECK(page->order == 0 && page->nr_pages == 1);
	CHECK(page->counters == slobseg_used(s, free));
	CHECK(page->counters != s->empty && page->counters != s->full);
	CHECK(page_map.class[page - page_map.pages] == s->page_class);
	return free;
}

void slobseg_check_lists(struct slobseg *s)
{
	unsigned long pages = 0;
	unsigned long free = 0;
	unsigned int node;

	lock_acquire(&s->lock);
	for (node = 0; node < s->nr_nodes; node++) {
		struct list_head *prev = NULL;
		struct list_head *pos;

		for (pos = s->first[node]; pos; prev = pos, pos = pos->next) {
			const struct page *page = list_entry(pos, struct page, lru);

			CHECK(pos->prev == prev && page->node == node);
			CHECK(++pages <= s->nr_partial);
			free += check_page(s, page);
		}
	}
	CHECK(pages == s->nr_partial && pages + s->isolated <= s->count->pages);
	CHECK(s->count->objects + free == s->count->pages * s->layout.objects);
	CHECK(s->count->bytes == s->count->objects * s->layout.stride);
	CHECK(s->count->blocks <= s->count->objects);
	lock_release(&s->lock);
}

void slobseg_check(struct engine *e)
{
	struct slobseg *s = slobseg_of(e);

	CHECK(s->engine == e && e->layout == &s->layout && e->size == s->layout.stride);
	CHECK(e->size % e->align == 0 && e->size >= e->object_size);
	if (slobseg_is_direct(s))
		CHECK(!s->nr_partial);
	else
		slobseg_check_lists(s);
}

static void walk_page_locked(const struct slobseg *s, const struct page *page,
			     void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	struct bitmap map;
	bool whole;

	mark_free(s, page, &map, &whole);
	for (unsigned int i = 0; i < s->layout.objects; i++)
		if (!bitmap_has(&map, i))
			visit(page_address(page), slobseg_object(page, i), arg);
}

void slobseg_walk_slab(struct engine *e, struct page *slab,
		       void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	struct slobseg *s = slobseg_of(e);

	if (slobseg_is_direct(s)) {
		visit(page_address(slab), page_address(slab), arg);
		return;
	}
	lock_acquire(&s->lock);
	if (!(slab->counters & SLOBSEG_OFF))
		walk_page_locked(s, slab, visit, arg);
	lock_release(&s->lock);
}

void slobseg_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	struct slobseg *s = slobseg_of(e);
	struct list_head *pos;

	lock_acquire(&s->lock);
	for (unsigned int node = 0; node < s->nr_nodes; node++)
		for (pos = s->first[node]; pos; pos = pos->next)
			walk_page_locked(s, list_entry(pos, struct page, lru), visit, arg);
	lock_release(&s->lock);
}

bool slobseg_is_free(struct engine *e, struct page *page, const void *obj)
{
	struct slobseg *s = slobseg_of(e);
	bool is_free;

	if (slobseg_is_direct(s))
		return false; /* the block would be gone */
	lock_acquire(&s->lock);
	is_free = slobseg_is_listed(s, page, obj);
	lock_release(&s->lock);
	return is_free;
}
