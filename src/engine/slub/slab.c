/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/slab.c - a slab from its first page to its last (spec 4.5, 4.6)
 *
 * Data:       struct page of type SLAB: engine, layout, {freelist, counters}.
 * Invariants: type and class bytes are written before any object's address leaves this file, and
 *             cleared by pcp_free() after the last object has come back.
 * Locks:      none here: a new or an empty slab is private. slub_format_rest_locked: list_lock.
 * Flow:       called by engine/slub/; calls page/pcp.c.
 */
#include "base/bits.h"
#include "base/mix.h"
#include "engine/placement.h"
#include "engine/slub/slab.h"
#include "engine/typesafe.h"
#include "page/meta.h"

uint64_t slub_draw(struct slub *s)
{
	return mix_bits(s->random + mix_multiply(fetch_add(&s->draws, 1)));
}

unsigned int *slub_random_sequence(unsigned int objects, uint64_t seed)
{
	unsigned int *seq = meta_alloc(objects * sizeof(*seq));
	unsigned int i;

	if (!seq)
		return NULL;
	for (i = 0; i < objects; i++)
		seq[i] = i;
	for (i = objects - 1; i > 0; i--) { /* Fisher-Yates */
		unsigned int j = (unsigned int)(mix_bits(seed + mix_multiply(i)) % (i + 1));
		unsigned int swapped = seq[i];

		seq[i] = seq[j];
		seq[j] = swapped;
	}
	return seq;
}

void slub_unaccount(struct engine *e, struct page *slab)
{
	engine_node_sub(slub_node_of(e, slab), slub_read(slab).counters.objects, slab->nr_pages);
}

/*
 * Links objects first..last in ascending order, with next behind the last, and constructs them.
 * Returns the head.
 */
static void *link_ascending(struct engine *e, struct page *slab, unsigned int first,
			    unsigned int end, void *next)
{
	const struct slab_layout *layout = slab->layout;
	unsigned int i;

	for (i = end; i-- > first;) {
		void *obj = slub_object(slab, i);

		if (e->ctor)
			e->ctor(obj);
		freeptr_set(slub_of(e), layout, obj, next);
		next = obj;
	}
	return next;
}

unsigned int slub_next_random(const struct slub *s, unsigned int *pos, unsigned int objects)
{
	unsigned int index;

	do {
		index = s->random_seq[*pos];
		*pos = (*pos + 1) % s->layout.objects;
	} while (index >= objects);
	return index;
}

/* The same in the order of the cache's permutation, entered at a random point. */
static void *link_shuffled(struct engine *e, struct page *slab, unsigned int objects)
{
	struct slub *s = slub_of(e);
	unsigned int pos = (unsigned int)(slub_draw(s) % s->layout.objects);
	void *next = NULL;
	unsigned int i;

	for (i = 0; i < objects; i++) {
		void *obj = slub_object(slab, slub_next_random(s, &pos, objects));

		if (e->ctor)
			e->ctor(obj);
		freeptr_set(s, slab->layout, obj, next);
		next = obj;
	}
	return next;
}

/* Without a free list. hardened: the link of each is looked at when it is handed out. */
static void construct_whole(struct engine *e, struct page *slab, unsigned int objects)
{
	bool linked = slub_of(e)->hardened;

	for (unsigned int i = 0; (e->ctor || linked) && i < objects; i++) {
		void *obj = slub_object(slab, i);

		if (e->ctor)
			e->ctor(obj);
		if (linked)
			freeptr_set(slub_of(e), slab->layout, obj, NULL);
	}
}

/* No object of a new slab is charged. */
static void clear_keys(const struct page *slab, unsigned int objects)
{
	for (unsigned int i = 0; i < objects; i++)
		*(uint32_t *)((char *)slub_object(slab, i) + slab->layout->key) = 0;
}

/* Returns the free list; NULL: there is none. */
static void *format(struct engine *e, struct page *slab, unsigned int objects, enum slub_new what)
{
	const struct slub *s = slub_of(e);

	if (what == SLUB_WHOLE)
		construct_whole(e, slab, objects);
	if (what != SLUB_LINKED)
		return NULL;
	if (s->random_seq && objects <= s->layout.objects && objects > 1)
		return link_shuffled(e, slab, objects);
	return link_ascending(e, slab, 0, objects, NULL);
}

/* Pages become a slab. */
static void open_slab(struct engine *e, const struct slab_layout *layout, struct page *slab,
		      enum slub_new what)
{
	struct slab_counters counters = { 0 };
	unsigned int objects;

	objects = slab->order == layout->order ? layout->objects : layout->min_objects;
	engine_own_pages(e, slab, layout);

	if (unlikely(layout->key))
		clear_keys(slab, objects);
	slab->freelist = format(e, slab, objects, what);
	counters.objects = (uint16_t)(objects & SLAB_MAX_OBJECTS);
	counters.formatted = what == SLUB_LAZY ? 0 : (uint16_t)objects;
	counters.inuse = what == SLUB_WHOLE ? (uint16_t)objects : 0;
	slab->counters = engine_counters_word(counters);

	engine_node_add(slub_node_of(e, slab), objects, 1ul << slab->order);
	if (e->page_class)
		page_set_class(slab, 1ul << slab->order, e->page_class);
	page_set_block(slab, PAGE_SLAB, 1ul << slab->order);
	engine_hide_slab(e, page_address(slab), PAGE_SIZE << slab->order);
}

struct page *slub_new_slab(struct engine *e, gfp_t gfp, int node, enum slub_new what)
{
	/* Acquire: pairs with the release of whoever puts another layout in place (debug/). */
	const struct slab_layout *layout = load_acquire(&e->layout);
	struct page *slab;

	while ((slab = engine_get_pages(e, layout, gfp, node))) {
		open_slab(e, layout, slab, what);
		if (likely(placement_keeps(e, slab)))
			return slab;
		slub_unaccount(e, slab);
		slub_free_pages(e, slab);
	}
	return NULL;
}

struct page *slub_try_new_slab(struct engine *e, unsigned int node)
{
	const struct slab_layout *layout = load_acquire(&e->layout); /* as above */
	struct page *slab = engine_try_pages(e, layout, node);

	if (slab)
		open_slab(e, layout, slab, slub_of(e)->lazy ? SLUB_LAZY : SLUB_LINKED);
	return slab;
}

struct page *slub_new_low_slab(struct engine *e, unsigned long far)
{
	const struct slab_layout *layout = load_acquire(&e->layout); /* as above */
	struct page *slab = engine_low_block(e, layout->order, far);

	if (slab)
		open_slab(e, layout, slab, slub_of(e)->lazy ? SLUB_LAZY : SLUB_LINKED);
	return slab;
}

void slub_free_pages(struct engine *e, struct page *slab)
{
	engine_count(e, FREE_SLAB);
	if (unlikely(e->dtor))
		engine_destruct_slab(e, slub_object(slab, 0), slab->layout->stride,
				     engine_counters(slab).objects);
	engine_free_pages(e, slab);
}

void slub_free_slabs(struct engine *e, struct page *slabs)
{
	while (slabs) {
		struct page *slab = slabs;

		slabs = slab->next;
		slub_free_pages(e, slab);
	}
}

void slub_format_rest_locked(struct engine *e, struct page *slab)
{
	struct slub_state old = slub_read(slab);
	struct slub_state new;
	unsigned int first = old.counters.formatted;
	unsigned int objects = old.counters.objects;
	void *head;

	if (first == objects)
		return;
	/* Linked in front of the free list like a chain that is freed; see chain_push(). */
	head = link_ascending(e, slab, first, objects, NULL);
	do {
		old = slub_read(slab);
		new.freelist = head;
		new.counters = old.counters;
		new.counters.formatted = (uint16_t)objects;
		freeptr_set(slub_of(e), slab->layout, slub_object(slab, objects - 1), old.freelist);
	} while (!slub_exchange(e, slab, &old, &new));
}

void slub_isolate_locked(struct engine *e, struct engine_node *node, struct page *slab)
{
	struct slub_state old;
	struct slub_state new;

	if (!slub_read(slab).counters.frozen && slab->lru.next)
		engine_node_remove_partial_locked(node, slab);
	do {
		old = slub_read(slab);
		new = old;
		new.freelist = NULL;
		new.counters.inuse = old.counters.objects;
		new.counters.formatted = old.counters.objects;
	} while (!slub_exchange(e, slab, &old, &new));
}
