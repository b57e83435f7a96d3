/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/slab.c - a slab from its first page to its last (spec 4.5, 4.6)
 *
 * Data:       struct page of type SLAB: engine, layout, {freelist, counters}.
 * Invariants: type and class bytes are written before any object's address leaves this file, and
 *             cleared by pcp_free() after the last object has come back.
 * Locks:      none here: a new or an empty slab is private. slab_carve_rest_locked: list_lock.
 * Flow:       called by engine/slub/; calls page/pcp.c.
 */
#include "base/bits.h"
#include "engine/slub/slab.h"
#include "os/cpu/cpu.h"
#include "os/memory/policy.h"
#include "page/meta.h"
#include "page/pcp.h"

#define GOLDEN 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: odd, its multiples spread well */

/* splitmix64: every bit of the argument reaches every bit of the result. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t slub_draw(struct slub *s)
{
	return mix(s->random + fetch_add(&s->draws, 1) * GOLDEN);
}

unsigned int *slab_random_sequence(unsigned int objects, uint64_t seed)
{
	unsigned int *seq = meta_alloc(objects * sizeof(*seq));
	unsigned int i;

	if (!seq)
		return NULL;
	for (i = 0; i < objects; i++)
		seq[i] = i;
	for (i = objects - 1; i > 0; i--) { /* Fisher-Yates */
		unsigned int j = (unsigned int)(mix(seed + i * GOLDEN) % (i + 1));
		unsigned int swapped = seq[i];

		seq[i] = seq[j];
		seq[j] = swapped;
	}
	return seq;
}

static void account(struct slub_node *node, unsigned long objects, unsigned long pages)
{
	fetch_add(&node->nr_slabs, 1);
	fetch_add(&node->total_objects, objects);
	fetch_add(&node->nr_pages, pages);
}

void slab_unaccount(struct engine *e, struct page *slab)
{
	struct slub_node *node = slab_node(e, slab);

	fetch_sub(&node->nr_slabs, 1);
	fetch_sub(&node->total_objects, slab_read(slab).counters.objects);
	fetch_sub(&node->nr_pages, slab->nr_pages);
}

/* Pages for a slab: the preferred order, else the smallest that holds an object. */
static struct page *alloc_pages(struct engine *e, const struct slab_layout *layout, gfp_t gfp,
				int node, unsigned int *objects)
{
	bool thisnode = gfp & __GFP_THISNODE;
	unsigned int order = layout->order;
	struct page *page;

	if (node < 0 && os_topology.nr_nodes > 1) /* spec 0.4: SLUB's policies are by slab */
		node = (int)os_policy_node(os_current_node());
	page = pcp_alloc(node, order, e->page_lists, thisnode);
	*objects = layout->objects;
	if (!page && layout->min_order < order) {
		order = layout->min_order;
		*objects = layout->min_objects;
		page = pcp_alloc(node, order, e->page_lists, thisnode);
		if (page)
			slub_count(e, ORDER_FALLBACK);
	}
	if (page)
		page->order = (uint8_t)order;
	return page;
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
		void *obj = slab_object(slab, i);

		if (e->ctor)
			e->ctor(obj);
		freeptr_set(slub_of(e), layout, obj, next);
		next = obj;
	}
	return next;
}

/*
 * The same in the order of the cache's permutation, entered at a random point. It is made for
 * slabs of the plain layout: entries beyond this slab's objects are skipped (spec 4.5).
 */
static void *link_shuffled(struct engine *e, struct page *slab, unsigned int objects)
{
	struct slub *s = slub_of(e);
	unsigned int length = s->layout.objects;
	unsigned int pos = (unsigned int)(slub_draw(s) % length);
	void *next = NULL;
	unsigned int i;

	for (i = 0; i < length; i++) {
		unsigned int index = s->random_seq[(pos + i) % length];
		void *obj = slab_object(slab, index);

		if (index >= objects)
			continue;
		if (e->ctor)
			e->ctor(obj);
		freeptr_set(s, slab->layout, obj, next);
		next = obj;
	}
	return next;
}

struct page *slab_new(struct engine *e, gfp_t gfp, int node, bool lazy)
{
	struct slub *s = slub_of(e);
	/* Acquire: pairs with the release of whoever puts another layout in place (debug/). */
	const struct slab_layout *layout = load_acquire(&e->layout);
	struct slab_counters counters = { 0 };
	unsigned int objects;
	struct page *slab = alloc_pages(e, layout, gfp, node, &objects);

	if (!slab)
		return NULL;
	slab->lru.next = NULL;
	slab->lru.prev = NULL;
	/* Atomic, because a hit path of front/cpuslab.c may look at pages that were another's. */
	store_relaxed(&slab->engine, e);
	store_relaxed(&slab->layout, layout);

	if (lazy)
		slab->freelist = NULL;
	else if (s->random_seq && objects <= s->layout.objects && objects > 1)
		slab->freelist = link_shuffled(e, slab, objects);
	else
		slab->freelist = link_ascending(e, slab, 0, objects, NULL);
	counters.objects = (uint16_t)(objects & SLAB_MAX_OBJECTS);
	counters.carved = lazy ? 0 : (uint16_t)objects;
	slab->counters = counters_word(counters);

	account(slab_node(e, slab), objects, 1ul << slab->order);
	if (e->page_class)
		page_set_class(slab, 1ul << slab->order, e->page_class);
	page_set_block(slab, PAGE_SLAB, 1ul << slab->order);
	engine_hide_slab(e, page_address(slab), PAGE_SIZE << slab->order);
	return slab;
}

void slab_free_pages(struct engine *e, struct page *slab)
{
	slub_count(e, FREE_SLAB);
	pcp_free(slab, slab->order, e->page_lists);
}

void slab_free_list(struct engine *e, struct page *slabs)
{
	while (slabs) {
		struct page *slab = slabs;

		slabs = slab->next;
		slab_free_pages(e, slab);
	}
}

void slab_carve_rest_locked(struct engine *e, struct page *slab)
{
	struct slab_state old = slab_read(slab);
	struct slab_state new;
	unsigned int first = old.counters.carved;
	unsigned int objects = old.counters.objects;
	void *head;

	if (first == objects)
		return;
	/* Linked in front of the free list like a chain that is freed; see chain_push(). */
	head = link_ascending(e, slab, first, objects, NULL);
	do {
		old = slab_read(slab);
		new.freelist = head;
		new.counters = old.counters;
		new.counters.carved = (uint16_t)objects;
		freeptr_set(slub_of(e), slab->layout, slab_object(slab, objects - 1), old.freelist);
	} while (!slab_exchange(e, slab, &old, &new));
}

void slab_isolate_locked(struct engine *e, struct slub_node *node, struct page *slab)
{
	struct slab_state old;
	struct slab_state new;

	if (!slab_read(slab).counters.frozen && slab->lru.next)
		node_remove_partial_locked(node, slab);
	do {
		old = slab_read(slab);
		new = old;
		new.freelist = NULL;
		new.counters.inuse = old.counters.objects;
		new.counters.carved = old.counters.objects;
	} while (!slab_exchange(e, slab, &old, &new));
}
