/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/check.c - is every slab what it says it is; and who is still in use
 *
 * Data:       a bitmap of a slab's objects on the stack (4 KiB); of a part of them for walks.
 * Invariants: those of slub.h, slab.h and of struct page; a violation ends in CHECK().
 * Locks:      list_lock of each node in turn. Pushes must not run meanwhile: quiescent caches.
 * Flow:       called by free.c, shrink.c and through slub_ops; for debug builds and reports.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "engine/slub/slab.h"

struct bitmap {
	uint64_t word[SLUB_BITMAP_WORDS];
};

/* Marks the object; false when it was marked before. */
static bool bitmap_mark(struct bitmap *map, unsigned int i)
{
	uint64_t bit = 1ull << (i % 64);
	bool fresh = !(map->word[i / 64] & bit);

	map->word[i / 64] |= bit;
	return fresh;
}

/*
 * Index of an object of the free list; it must be a formatted one of this slab, at its start, since
 * anything else would be handed out to somebody.
 */
static unsigned int object_index(const struct page *slab, const void *obj, unsigned int formatted)
{
	uintptr_t first = (uintptr_t)slub_object(slab, 0);
	uintptr_t offset = (uintptr_t)obj - first;

	CHECK((uintptr_t)obj >= first);
	CHECK(offset % slab->layout->stride == 0);
	CHECK(offset / slab->layout->stride < formatted);
	return (unsigned int)(offset / slab->layout->stride);
}

/* Marks the free objects of a slab and returns how many; every one is met once. */
static unsigned int mark_free(struct engine *e, const struct page *slab, struct bitmap *map)
{
	struct slub_state state = slub_read(slab);
	unsigned int count = 0;
	void *obj;

	memset(map, 0, ((size_t)state.counters.objects / 64 + 1) * sizeof(map->word[0]));
	for (obj = state.freelist; obj; obj = freeptr_get(slub_of(e), slab->layout, obj)) {
		CHECK(bitmap_mark(map, object_index(slab, obj, state.counters.formatted)));
		count++;
	}
	return count;
}

static void check_slab(struct engine *e, struct page *slab)
{
	const struct slab_layout *layout = slab->layout;
	struct slab_counters counters = slub_read(slab).counters;
	struct bitmap map;

	CHECK(slab->type == PAGE_SLAB);
	CHECK(slab->engine == e);
	CHECK(slab->nr_pages == 1u << slab->order);
	CHECK(slab->order == layout->order || slab->order == layout->min_order);
	CHECK(counters.objects == (PAGE_SIZE << slab->order) / layout->stride);
	CHECK(counters.formatted <= counters.objects);
	CHECK(counters.formatted == counters.objects || slub_of(e)->lazy);
	CHECK(counters.inuse <= counters.objects);
	CHECK(!counters.frozen);
	CHECK(counters.inuse + mark_free(e, slab, &map) + (counters.objects - counters.formatted) ==
	      counters.objects);
	CHECK(!e->page_class || page_map.class[page_index(page_address(slab))] == e->page_class);
}

static void check_node(struct engine *e, unsigned int nr)
{
	struct engine_node *node = slub_of(e)->node[nr];
	unsigned long objects = 0;
	unsigned long pages = 0;
	unsigned long slabs = 0;
	struct list_head *pos;

	lock_acquire(&node->list_lock);
	list_for_each(pos, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);
		struct slab_counters counters = slub_read(slab).counters;

		CHECK(pos->next->prev == pos && pos->prev->next == pos);
		CHECK(slab->node == nr);
		check_slab(e, slab);
		CHECK(counters.inuse < counters.objects);
		objects += counters.objects;
		pages += slab->nr_pages;
		CHECK(++slabs <= node->nr_partial);
	}
	CHECK(slabs == node->nr_partial);
	list_for_each(pos, &node->full) {
		struct page *slab = list_entry(pos, struct page, lru);
		struct slab_counters counters = slub_read(slab).counters;

		CHECK(slab->node == nr);
		check_slab(e, slab);
		CHECK(counters.inuse == counters.objects);
		objects += counters.objects;
		pages += slab->nr_pages;
		slabs++;
	}
	/* Full slabs of most caches, and frozen ones, are on no list. */
	CHECK(slabs <= load_relaxed(&node->nr_slabs));
	CHECK(objects <= load_relaxed(&node->total_objects));
	CHECK(pages <= load_relaxed(&node->nr_pages));
	lock_release(&node->list_lock);
}

void slub_check(struct engine *e)
{
	const struct slub *s = slub_of(e);
	unsigned int i;

	CHECK(e->size == s->layout.stride);
	CHECK(s->layout.stride >= s->layout.offset + sizeof(void *));
	CHECK(s->layout.objects >= 1 && s->layout.objects <= SLAB_MAX_OBJECTS);
	for (i = 0; i < s->nr_nodes; i++)
		check_node(e, i);
}

#define PART 2048u /* objects that a walk looks at at once: for small stacks */

/* Marks the free objects with numbers from first on. */
static void mark_part(struct engine *e, const struct page *slab, unsigned int first,
		      uint64_t map[PART / 64])
{
	struct slub_state state = slub_read(slab);
	unsigned int left = state.counters.formatted;
	void *obj;

	memset(map, 0, PART / 8);
	for (obj = state.freelist; obj; obj = freeptr_get(slub_of(e), slab->layout, obj)) {
		unsigned int i = object_index(slab, obj, state.counters.formatted) - first;

		CHECK(left--); /* each is met once */
		if (i < PART)
			map[i / 64] |= 1ull << (i % 64);
	}
}

/* Context: list_lock of its node. */
static void walk_slab_locked(struct engine *e, struct page *slab,
			     void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	unsigned int formatted = slub_read(slab).counters.formatted;
	uint64_t map[PART / 64];

	for (unsigned int i = 0; i < formatted; i++) {
		if (i % PART == 0)
			mark_part(e, slab, i, map);
		if (!(map[i % PART / 64] >> (i % 64) & 1))
			visit(page_address(slab), slub_object(slab, i), arg);
	}
}

void slub_walk_slab(struct engine *e, struct page *slab,
		    void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	struct engine_node *node = slub_node_of(e, slab);

	lock_acquire(&node->list_lock);
	if (slub_list_is_whole_locked(e, slab))
		walk_slab_locked(e, slab, visit, arg);
	lock_release(&node->list_lock);
}

void slub_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	const struct slub *s = slub_of(e);
	struct list_head *pos;
	unsigned int n;

	for (n = 0; n < s->nr_nodes; n++) {
		lock_acquire(&s->node[n]->list_lock);
		list_for_each(pos, &s->node[n]->partial)
			walk_slab_locked(e, list_entry(pos, struct page, lru), visit, arg);
		lock_release(&s->node[n]->list_lock);
	}
}

/* The list as far as it can be believed: a program may have written to it. */
static bool is_listed_locked(struct engine *e, const struct page *slab, const void *obj)
{
	struct slub_state state = slub_read(slab);
	unsigned int left = state.counters.objects;
	void *next = state.freelist;

	for (; next && left && next != obj; left--) {
		size_t offset = (size_t)((char *)next - (char *)slub_object(slab, 0));

		if (offset % slab->layout->stride ||
		    offset / slab->layout->stride >= state.counters.formatted)
			return false;
		next = freeptr_get(slub_of(e), slab->layout, next);
	}
	return next && next == obj;
}

/* Pushes may come in between, in front of what is followed: then its length says nothing. */
bool slub_list_is_whole_locked(struct engine *e, struct page *slab)
{
	struct slub_state state = slub_read(slab);
	unsigned int left = state.counters.formatted;
	void *obj;

	for (obj = state.freelist; obj && left; left--) {
		if (!freeptr_is_inside(slab, obj) || !slub_starts_object(e, slab, obj))
			break;
		obj = freeptr_get(slub_of(e), slab->layout, obj);
	}
	return (!obj && left == state.counters.inuse) || !slub_is_still(e, slab, &state);
}

bool slub_is_free(struct engine *e, struct page *slab, const void *obj)
{
	struct engine_node *node = slub_node_of(e, slab);
	bool is_free;

	/* so that nobody takes objects; pushes come in front of what is followed */
	lock_acquire(&node->list_lock);
	is_free = slub_object(slab, slub_read(slab).counters.formatted) <= (void *)(uintptr_t)obj ||
		  is_listed_locked(e, slab, obj);
	lock_release(&node->list_lock);
	return is_free;
}
