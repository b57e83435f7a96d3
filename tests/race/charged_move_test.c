/* SPDX-License-Identifier: MIT */
/*
 * race/charged_move_test.c - a slab is emptied just before an object of it gets the word of its
 * group
 *
 * ctest: timeout=300 serial
 *
 * One thread allocates. Right before it stores the object's word it waits until another thread has
 * looked at all objects of the cache, or is about to move this one. If so that thread waits in
 * turn, until the program has an object. That one is charged, and stays so wherever it moves.
 */
#include "cache/group/hit.h"
#include "cache/group/watched.h"
#include "cache/lent.h"
#include "cache/live.h"
#include "cache/mobility/mobility.h"
#include "cache/object.h"
#include "cache/profile/profile.h"
#include "conformance/store.h"

static const void *pending;	/* allocated, without a word so far; atomic */
static bool may_go_on;		/* the thread that allocates; atomic */
static bool is_stored;		/* the program can find the object; atomic */
static bool moves, threads_end; /* atomic */
static unsigned int met;	/* by the other thread: how often */

static void wait_for(const bool *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void let_go(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

/* ---- the thread that allocates ---- */

static void before_word(const void *obj)
{
	if (!load_relaxed(&moves) || load_relaxed(&pending))
		return; /* once an allocation */
	store_release(&pending, obj);
	wait_for(&may_go_on);
}

#define group_set_last_word(c, obj, id) (before_word(obj), group_set_last_word(c, obj, id))
#define group_add(id, c, obj, how) (before_word(obj), group_add(id, c, obj, how))
#define take take_charged
#include "cache/charged.c"
#undef take
#define take take_watched
#define charge charge_watched
#include "cache/watch.c"
#undef take
#undef charge
#include "cache/direct.c"
#undef group_set_last_word
#undef group_add

/* ---- the thread that moves ---- */

static void wait_until_stored(const void *obj)
{
	if (obj != load_acquire(&pending))
		return;
	met++;
	let_go(&may_go_on);
	wait_for(&is_stored);
}

/* What the move is to be charged to is known now. */
static bool hold_and_wait(struct cache *c, const void *obj, uint32_t *id)
{
	bool ret = group_hold(c, obj, id);

	wait_until_stored(obj);
	return ret;
}

#define group_hold hold_and_wait
#include "cache/mobility/evacuate.c"
#undef group_hold

static void *move_all_objects(void *arg)
{
	for (;;) {
		while (!load_acquire(&pending) && !load_acquire(&threads_end))
			sched_yield();
		if (load_acquire(&threads_end))
			return arg;
		while (cache_defrag(store.c, NUMA_NO_NODE, 0)) {}
		let_go(&may_go_on);
		wait_for(&is_stored);
		store_release(&pending, NULL);
	}
}

/* ---- the ways to an object ---- */

static struct slab_sheaf *lent;

static void *by_call(void)
{
	return cache_alloc(store.c, GFP_KERNEL, NUMA_NO_NODE);
}

static void *by_watched_call(void)
{
	return cache_alloc_sampled(store.c, 0, NULL, GFP_KERNEL, 0);
}

static void *by_direct_call(void)
{
	return cache_alloc_direct(store.c, GFP_KERNEL, 0, NULL);
}

static void *by_sheaf(void)
{
	return lent_alloc(store.c, GFP_KERNEL, lent, NULL);
}

/* Of object 0, whose slab is one that is nearly empty, as all are. */
static void allocate_meanwhile(void *(*allocate)(void))
{
	uint32_t *obj;

	if (store.slot[0])
		drop(0);
	let_go(&moves);
	obj = allocate();
	store_relaxed(&moves, false);
	CHILD_CHECK(obj && load_relaxed(&may_go_on));
	fill(obj, 0);
	store.slot[0] = obj;
	let_go(&is_stored);
	while (load_acquire(&pending))
		sched_yield();
	store_relaxed(&may_go_on, false);
	store_relaxed(&is_stored, false);
	CHILD_CHECK(group_of(store.c, store.slot[0]) == group_current);
}

static void run(void *(*allocate)(void), slab_flags_t flags)
{
	struct uslab_group_statistics stat;
	struct uslab_group *group;
	pthread_t thread;
	struct cache *c;
	int error;

	ready();
	CHILD_CHECK((group = group_create("g", 0, NULL, &error)));
	group_enter(group);
	c = made(&(struct cache_spec){ .name = "store",
				       .size = 100,
				       .flags = flags,
				       .ctor = store_ctor,
				       .engine = &slub_ops,
				       .front = &front_none_ops });
	open_store(c, 400);
	CHILD_CHECK(mobility_set_ratio(c, 100) == 0);
	CHILD_CHECK(!pthread_create(&thread, NULL, move_all_objects, NULL));
	for (unsigned int round = 0; round < 20; round++) {
		empty_store();
		thin_out();
		CHILD_CHECK((lent = lent_prefill(c, GFP_KERNEL, 1, NULL)));
		allocate_meanwhile(allocate);
		lent_return(c, lent, NULL);
	}
	let_go(&threads_end);
	pthread_join(thread, NULL);
	CHILD_CHECK(met);
	empty_store();
	CHILD_CHECK(group_stat(group, &stat) == 0);
	CHILD_CHECK(stat.peak && !stat.usage);
	group_check();
	cache_check_all();
}

IN_CHILD(test_charged_by_itself)
{
	run(by_call, SLAB_ACCOUNT);
}

IN_CHILD(test_with_keys)
{
	run(by_call, USLAB_ACCOUNT_INLINE);
}

IN_CHILD(test_watched)
{
	run(by_watched_call, SLAB_ACCOUNT);
}

IN_CHILD(test_direct)
{
	run(by_direct_call, SLAB_ACCOUNT);
}

IN_CHILD(test_of_a_lent_sheaf)
{
	run(by_sheaf, SLAB_ACCOUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charged_by_itself), cmocka_unit_test(test_with_keys),
		cmocka_unit_test(test_watched),		  cmocka_unit_test(test_direct),
		cmocka_unit_test(test_of_a_lent_sheaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
