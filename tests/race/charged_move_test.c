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
#include "debug/report/report.h"
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
static uint32_t hold_and_wait(struct cache *c, const void *obj)
{
	uint32_t id = group_hold(c, obj);

	wait_until_stored(obj);
	return id;
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

/*
 * With arrays: what the CPU holds of charged objects is of another group, so that each object is
 * charged by itself; and what is free was freed by a thread in no group, and has that key.
 */
static void fill_arrays(struct uslab_group *mine, struct uslab_group *other)
{
	void *obj;

	group_enter(NULL);
	empty_store();
	thin_out();
	group_enter(other);
	for (unsigned int i = 0; i < 80; i++) {
		CHILD_CHECK((obj = obj_alloc(store.c)));
		obj_free(store.c, obj);
	}
	group_enter(mine);
}

struct way {
	void *(*allocate)(void);
	slab_flags_t flags;
	const struct front_ops *front;
	size_t limit; /* of the group, while it allocates */
};

static void run(struct way way)
{
	struct uslab_group *mine, *other;
	struct uslab_group_statistics stat;
	pthread_t thread;
	struct cache *c;
	int error;

	ready();
	if (way.flags == USLAB_ACCOUNT_INLINE && !percpu_rseq)
		return; /* there are no keys */
	stay_here();
	CHILD_CHECK((mine = group_create("mine", 0, NULL, &error)));
	CHILD_CHECK((other = group_create("other", 0, NULL, &error)));
	c = made(&(struct cache_spec){ .name = "store",
				       .size = 100,
				       .flags = way.flags,
				       .ctor = store_ctor,
				       .engine = &slub_ops,
				       .front = way.front });
	CHILD_CHECK(group_has_keys(c) == (way.flags == USLAB_ACCOUNT_INLINE));
	open_store(c, 400);
	CHILD_CHECK(mobility_set_ratio(c, 100) == 0);
	CHILD_CHECK(!pthread_create(&thread, NULL, move_all_objects, NULL));
	for (unsigned int round = 0; round < 20; round++) {
		fill_arrays(mine, other);
		CHILD_CHECK((lent = lent_prefill(c, GFP_KERNEL, 1, NULL)));
		CHILD_CHECK(group_set_limit(mine, way.limit) == 0);
		allocate_meanwhile(way.allocate);
		CHILD_CHECK(group_set_limit(mine, 0) == 0);
		lent_return(c, lent, NULL);
	}
	let_go(&threads_end);
	pthread_join(thread, NULL);
	CHILD_CHECK(met);
	empty_store();
	group_enter(NULL);
	group_destroy(other);
	CHILD_CHECK(group_stat(mine, &stat) == 0);
	cache_shrink(c);
	CHILD_CHECK(stat.peak && group_stat(mine, &stat) == 0 && !stat.usage);
	group_check();
	cache_check_all();
	CHILD_CHECK(report_counters.reports == 0);
}

IN_CHILD(test_charged_by_itself)
{
	run((struct way){ by_call, SLAB_ACCOUNT, &front_none_ops, 0 });
}

IN_CHILD(test_beside_arrays)
{
	run((struct way){ by_call, SLAB_ACCOUNT, &front_array_ops, 0 });
}

IN_CHILD(test_with_keys)
{
	run((struct way){ by_call, USLAB_ACCOUNT_INLINE, &front_array_ops, 0 });
}

IN_CHILD(test_watched)
{
	run((struct way){ by_watched_call, SLAB_ACCOUNT, &front_none_ops, 0 });
}

IN_CHILD(test_watched_with_keys)
{
	run((struct way){ by_watched_call, USLAB_ACCOUNT_INLINE, &front_array_ops, 0 });
}

IN_CHILD(test_direct)
{
	run((struct way){ by_direct_call, SLAB_ACCOUNT, &front_none_ops, 0 });
}

IN_CHILD(test_of_a_lent_sheaf)
{
	run((struct way){ by_sheaf, SLAB_ACCOUNT, &front_none_ops, 0 });
}

/* What is lent is charged beyond the limit, also where another object has to be found. */
IN_CHILD(test_of_a_lent_sheaf_at_a_limit)
{
	run((struct way){ by_sheaf, SLAB_ACCOUNT, &front_none_ops, 1 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charged_by_itself),
		cmocka_unit_test(test_beside_arrays),
		cmocka_unit_test(test_with_keys),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_watched_with_keys),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_of_a_lent_sheaf),
		cmocka_unit_test(test_of_a_lent_sheaf_at_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
