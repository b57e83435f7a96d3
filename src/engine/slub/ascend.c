/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/ascend.c - objects of a slab in the order of their addresses
 *
 * Why:        docs/adr/0056.
 * Data:       a bit for each object of a slab, on the stack.
 * Invariants: what is not sure to be a list of this slab's objects is left as it is, for those to
 *             find who take it.
 * Locks:      list_lock where the name says so; else the objects are the caller's.
 * Flow:       called by refill.c.
 *
 * A program that frees in any order leaves free lists in any order. Who builds a list or a tree out
 * of such objects, and walks along it, jumps to and fro in each page, where no prefetcher of a CPU
 * can follow. So an array that takes a part of a slab's list takes the lowest objects, ascending,
 * and what stays is linked in that order: the next array finds it sorted unless frees came between.
 *
 * Small objects share cache lines, and there are many in a slab: they stay as they are, since whole
 * lists would be followed for the few that are wanted.
 */
#include "engine/slub/slab.h"

#define ASCEND_OBJECTS 128u /* in a slab, at most: those of 32 bytes in one page */

struct places {
	uint64_t words[ASCEND_OBJECTS / 64];
};

/* false: no object starts there, or it was added before. */
static inline bool places_add(struct places *places, const struct page *slab, const void *obj)
{
	uint32_t offset = (uint32_t)((const char *)obj - (const char *)slub_object(slab, 0));
	uint32_t i = offset / slab->layout->stride;
	uint64_t bit = 1ull << i % 64;

	if (unlikely(i >= ASCEND_OBJECTS || i * slab->layout->stride != offset ||
		     places->words[i / 64] & bit))
		return false;
	places->words[i / 64] |= bit;
	return true;
}

/* Takes out the lowest one; there must be one. */
static inline void *places_pop(struct places *places, const struct page *slab)
{
	unsigned int w = 0;
	unsigned int i;

	while (!places->words[w])
		w++;
	i = (unsigned int)__builtin_ctzll(places->words[w]);
	places->words[w] &= places->words[w] - 1;
	return slub_object(slab, w * 64 + i);
}

/* Random free lists are there so that nobody can foretell addresses. */
static inline bool may_ascend(const struct slub *s, const struct slub_state *state)
{
	return s->lazy && !s->hardened && state->counters.objects <= ASCEND_OBJECTS;
}

void slub_ascend(const struct engine *e, const struct page *slab, void **objs, unsigned int n)
{
	struct slub_state state = slub_read(slab);
	struct places places = { { 0 } };

	if (n < 2 || !may_ascend(slub_of(e), &state))
		return;
	for (unsigned int i = 0; i < n; i++)
		if (unlikely(!places_add(&places, slab, objs[i])))
			return;
	for (unsigned int i = 0; i < n; i++)
		objs[i] = places_pop(&places, slab);
}

/*
 * Follows a list of n objects to its last one, and adds all others. NULL: the first max ascend as
 * they are, or the list is not what it should be.
 */
static void *collect(const struct engine *e, const struct page *slab, void *obj, unsigned int n,
		     unsigned int max, struct places *places)
{
	bool ascends = true;

	for (unsigned int i = 1; i < n; i++) {
		void *next = freeptr_get(slub_of(e), slab->layout, obj);

		if (unlikely(!next || !freeptr_is_inside(slab, next) ||
			     !places_add(places, slab, obj)))
			return NULL;
		ascends = ascends && next > obj;
		if (ascends && i == max)
			return NULL;
		obj = next;
	}
	return obj;
}

/* Links n of the places in front of the slab's list, while others push to it. */
static void put_back_locked(struct engine *e, struct page *slab, struct places *places,
			    unsigned int n)
{
	const struct slub *s = slub_of(e);
	void *head = places_pop(places, slab);
	void *tail = head;
	struct slub_state old;
	struct slub_state new;

	for (unsigned int i = 1; i < n; i++) {
		void *next = places_pop(places, slab);

		freeptr_set(s, slab->layout, tail, next);
		tail = next;
	}
	do {
		old = slub_read(slab);
		new.freelist = head;
		new.counters = old.counters;
		new.counters.inuse -= n;
		freeptr_set(s, slab->layout, tail, old.freelist);
	} while (unlikely(!slub_exchange(e, slab, &old, &new)));
}

/*
 * Two exchanges. The first one takes all but the last object of the list, so that the slab is never
 * full and stays on the partial list; the second one, a push like that of a free, brings back what
 * is not wanted. In between those objects count as in use: pushes of others cannot make the slab
 * empty, and whoever else takes needs list_lock. If a push comes before the first exchange, nothing
 * is done: the list has changed, and is taken as it is.
 */
unsigned int slub_take_ascending_locked(struct engine *e, struct page *slab, void **objs,
					unsigned int max)
{
	struct slub_state old = slub_read(slab);
	unsigned int n = old.counters.objects - old.counters.inuse;
	struct slub_state new = old;
	struct places places = { { 0 } };

	if (n < max + 2 || !may_ascend(slub_of(e), &old) ||
	    old.counters.formatted != old.counters.objects || !old.freelist)
		return 0;
	new.freelist = collect(e, slab, old.freelist, n, max, &places);
	new.counters.inuse += n - 1;
	if (!new.freelist || !slub_exchange(e, slab, &old, &new))
		return 0;
	for (unsigned int i = 0; i < max; i++)
		objs[i] = places_pop(&places, slab);
	put_back_locked(e, slab, &places, n - 1 - max);
	return max;
}
