/* SPDX-License-Identifier: MIT */
/*
 * front/array_near.c - an array whose objects lie scattered, or in slabs of other CPUs, gets others
 *
 * Why:        docs/adr/0058, docs/adr/0074, docs/adr/0082.
 * Data:       of each depot how many exchanges are left, and since when (depot.h).
 * Invariants: an exchange takes as many objects from the engine as it gives back, or fewer. For
 *             neighbours no slab is made.
 * Locks:      the engine's inside calls. The counts are hints, changed without a lock: what is lost
 *             when two threads change them are some exchanges more or fewer.
 * Flow:       called by array_sheaf.h; calls array.c, depot_sort.c, engine->ops,
 *             page/realtime.h.
 *
 * Objects go out of arrays and depots in the order in which they came back. A program that frees
 * in any order and then builds a list gets objects that lie each on another page, and pays for it
 * at each walk along the list. Slabs sort objects by where they lie, at the price of the slab path:
 * some 25 ns for an object back and another one out. So a miss that is about to hand out a sheaf of
 * scattered objects takes objects of few slabs in its place, and gives the sheaf's to their slabs;
 * but only so many times in an epoch that programs which free and allocate in bursts hardly notice.
 * Where slabs have no neighbours either, it waits for the next epoch. A depot that has many objects
 * finds neighbours among these: then it is sorted, and the sheaf goes out as it is.
 *
 * Small objects whose slabs are another CPU's (engine/slub/lane.c) came with a thread that moved,
 * or were freed here: they lie on, or beside, cache lines that the other CPU writes to. They go
 * back to their slabs, where the other one finds them, and out go objects of slabs of this CPU. The
 * same number bounds both.
 *
 * The sheaf is the caller's. Between the engine's two calls this thread alone knows both the old
 * and the new objects, and all of them count as in use; a thread that is preempted, or ended, there
 * keeps nothing from others but these.
 */
#include "front/array_sheaf.h"

#include "base/bits.h"
#include "page/realtime.h"

#define NEAR_MAX_OBJECT 512u /* bytes; of larger ones few lie on a page in any case */
#define NEAR_LOOK 16u	     /* objects that are looked at */
#define NEAR_FEW_PAGES 11u   /* on no more pages than that they are neighbours */
#define NEAR_FIRST_PAIRS 3u  /* two of one page among these: not scattered, in most cases */
#define NEAR_PAUSE 16	     /* misses until the clock is asked again whether the epoch is over */

unsigned int array_near_most = ARRAY_NEAR_DEFAULT;

/* Of NEAR_LOOK objects; pages are told apart by six bits of their numbers. */
static bool is_scattered(void *const *objs)
{
	uint64_t pages = 0;

	for (unsigned int i = 0; i < NEAR_FIRST_PAIRS; i++)
		if (on_one_page(objs[i], objs[i + 1]))
			return false;
	for (unsigned int i = 0; i < NEAR_LOOK; i++)
		pages |= 1ull << ((uintptr_t)objs[i] >> PAGE_SHIFT) % 64;
	return bits_count(pages) > NEAR_FEW_PAGES;
}

/* No more exchanges for so many epochs. */
static void wait_for(struct depot *d, uint32_t now, uint32_t epochs)
{
	store_relaxed(&d->near_epoch, now);
	store_relaxed(&d->near_wait, epochs);
	store_relaxed(&d->near_left, -NEAR_PAUSE);
}

/* May there be one now? Takes it. left, as it was: 0 or more. */
static bool take_turn(struct depot *d, int32_t left)
{
	uint32_t now;

	if (left > 0) {
		store_relaxed(&d->near_left, left - 1);
		return true;
	}
	now = depot_epoch();
	if (now - load_relaxed(&d->near_epoch) < load_relaxed(&d->near_wait)) {
		store_relaxed(&d->near_left, -NEAR_PAUSE);
		return false;
	}
	left = (int32_t)load_relaxed(&array_near_most);
	wait_for(d, now, 1);
	if (left)
		store_relaxed(&d->near_left, left - 1);
	return left;
}

/* They come slab by slab, so most are near their place. */
static void sort_by_address(void **objs, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		void *obj = objs[i];
		unsigned int at = i;

		for (; at && objs[at - 1] > obj; at--)
			objs[at] = objs[at - 1];
		objs[at] = obj;
	}
}

/* n objects, in ascending order, in place of those of a sheaf. */
static uintptr_t put_in_place(struct front *f, struct depot *d, uintptr_t top, void **objs,
			      unsigned int n)
{
	void **entry = (void **)sheaf_flush(f, top);

	while (n)
		*++entry = objs[--n];
	count_event(&d->nr_exchanges);
	return (uintptr_t)entry;
}

/* Neighbours in place of the objects of a sheaf, if the engine has any. */
static noinline uintptr_t exchange(struct front *f, struct depot *d, uintptr_t top)
{
	const struct engine_ops *ops = f->engine->ops;
	void *objs[USLAB_SHEAF_CAPACITY];
	unsigned int n;

	if (!ops->refill_near)
		return top;
	n = ops->refill_near(f->engine, objs, sheaf_count(top));
	if (n < NEAR_LOOK || is_scattered(objs)) {
		if (n)
			f->engine->ops->flush(f->engine, objs, n);
		wait_for(d, depot_epoch(), 1);
		return top;
	}
	sort_by_address(objs, n);
	return put_in_place(f, d, top, objs, n);
}

/* Objects of this CPU's slabs in place of others'. They ascend slab by slab. */
static noinline uintptr_t exchange_for_own(struct front *f, struct depot *d, uintptr_t top)
{
	void *objs[USLAB_SHEAF_CAPACITY];
	unsigned int n;

	n = f->engine->ops->refill(f->engine, objs, sheaf_count(top), GFP_NOWAIT | __GFP_NOWARN,
				   NUMA_NO_NODE);
	return n ? put_in_place(f, d, top, objs, n) : top;
}

bool sheaf_may_change_slow(struct front *f, struct depot *d, uintptr_t top)
{
	int32_t left = load_relaxed(&d->near_left);

	if (realtime_is_on())
		return false;
	if (unlikely(left < 0)) {
		store_relaxed(&d->near_left, left + 1);
		return false;
	}
	if (unlikely(is_of_others(f, *(void **)top, percpu_cpu())))
		return true;
	return sheaf_count(top) >= NEAR_LOOK && f->engine->size <= NEAR_MAX_OBJECT &&
	       unlikely(is_scattered((void **)top - (NEAR_LOOK - 1)));
}

uintptr_t sheaf_near_slow(struct front *f, uintptr_t top)
{
	struct depot *d = array_depot(f);

	if (!sheaf_may_change_slow(f, d, top) || !take_turn(d, load_relaxed(&d->near_left)))
		return top;
	if (is_of_others(f, *(void **)top, percpu_cpu()))
		return exchange_for_own(f, d, top);
	return depot_sort(d) ? top : exchange(f, d, top);
}
