/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/sparse.c - which partial slabs are worth emptying, for a program that moves by itself
 *
 * Why:        docs/adr/0060.
 * Data:       struct page.stamp of a slab: whether it is one; engine_node.asked.
 * Invariants: the slabs without the mark have room for all objects of those with it, as it was at
 *             the last look; they are before these in the list, until refills pass some by
 *             (lane.c). But slabs far up (page/low.h) have it in any case.
 * Locks:      list_lock for a look, which is tried; the answer takes none.
 * Flow:       called through slub_evacuation.
 *
 * A look goes over the whole partial list of a node, once for as many questions as it has slabs, so
 * that a question costs about three slabs. It sorts the list, the fullest at the head, and of equal
 * ones those that lie lowest in the arena, so that pages come back side by side; if nearly all
 * objects have to move in any case, by place alone. Objects are taken from the head, in caches with
 * lanes from the first slab of the lane: what is moved goes there. Marks of slabs that have become
 * full or empty do not matter, and a new slab has none.
 */
#include <limits.h>

#include "base/bits.h"
#include "engine/evacuation.h"
#include "engine/slub/slab.h"

#define FEW_QUESTIONS 256ul
#define DEGREES 64 /* of use, by which slabs are sorted */

/* By degree of use. */
static unsigned int degree_of(const struct page *slab, unsigned long span)
{
	struct slab_counters counters = slub_read(slab).counters;

	(void)span;
	return counters.inuse * DEGREES / counters.objects;
}

/* By place: the lower one comes first, where the list's head is made of the last rows. */
static unsigned int place_of(const struct page *slab, unsigned long span)
{
	unsigned long place = evacuation_index(slab) / span;

	return DEGREES - (unsigned int)MIN(place, (unsigned long)DEGREES);
}

/* Those that lie far up come last. */
static unsigned int nearness_of(const struct page *slab, unsigned long far)
{
	return evacuation_index(slab) < far;
}

/* Slabs of the highest row come to the head; those of one row keep their order. */
static void sort_locked(struct engine_node *node,
			unsigned int (*row_of)(const struct page *slab, unsigned long by),
			unsigned long by)
{
	struct list_head row[DEGREES + 1];
	struct list_head *pos;
	struct list_head *tmp;

	for (unsigned int i = 0; i <= DEGREES; i++)
		list_init(&row[i]);
	list_for_each_safe(pos, tmp, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);

		list_del(&slab->lru);
		list_add_tail(&slab->lru, &row[row_of(slab, by)]);
	}
	list_init(&node->partial);
	for (unsigned int i = 0; i <= DEGREES; i++)
		list_splice(&row[i], &node->partial);
}

/* Returns how many objects are in use. *thin: that is next to none. */
static unsigned long count_inuse_locked(const struct engine_node *node, bool *thin)
{
	unsigned long objects = 0;
	unsigned long inuse = 0;
	struct list_head *pos;

	list_for_each(pos, &node->partial) {
		struct slab_counters counters =
			slub_read(list_entry(pos, struct page, lru)).counters;

		inuse += counters.inuse;
		objects += counters.objects;
	}
	*thin = inuse * 8 <= objects * EVACUATION_THIN;
	return inuse;
}

/*
 * The first ones, that have room for all objects, stay, but none far up; the others are worth
 * emptying.
 */
static void mark_locked(struct engine_node *node, unsigned long inuse, unsigned long far)
{
	unsigned long room = 0;
	struct list_head *pos;

	list_for_each(pos, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);
		bool stays = room < inuse && nearness_of(slab, far);

		engine_set_slab_sparse(slab, !stays);
		room += slub_read(slab).counters.objects;
	}
}

static void look_again(const struct engine *e, struct engine_node *node)
{
	unsigned long nr_pages = load_relaxed(&page_map.nr_pages);
	unsigned long far = engine_far(e, 0);
	unsigned long inuse;
	bool thin;

	if (!lock_try(&node->list_lock)) /* the next question may do it */
		return;
	inuse = count_inuse_locked(node, &thin);
	sort_locked(node, place_of, DIV_ROUND_UP(nr_pages, (unsigned long)DEGREES));
	if (!thin)
		sort_locked(node, degree_of, 0);
	if (far != ULONG_MAX)
		sort_locked(node, nearness_of, far);
	mark_locked(node, inuse, far);
	store_relaxed(&node->asked, 1); /* 0: never looked */
	lock_release(&node->list_lock);
}

bool slub_is_sparse(struct engine *e, struct page *slab, unsigned long far)
{
	struct engine_node *node = slub_node_of(e, slab);
	unsigned long listed = load_relaxed(&node->nr_partial);
	struct slab_counters counters;

	if (!fetch_add(&node->asked, 1) || load_relaxed(&node->asked) > MAX(listed, FEW_QUESTIONS))
		look_again(e, node);
	counters = slub_read(slab).counters;
	if (unlikely(!nearness_of(slab, far)))
		return !counters.frozen;
	return engine_slab_is_sparse(slab) && !counters.frozen && counters.inuse < counters.objects;
}
