/* SPDX-License-Identifier: MIT */
/*
 * race/charged_test.c - hits and misses of a CPU's charged array, while another CPU takes it away
 *
 * ctest: timeout=500 serial sanitize=no
 *
 * One thread allocates and frees charged objects, with delays in the sequences of hits, of
 * withdrawals and of installs. Another one drains the arrays of the group, destroys the group, or
 * drains the cache's front, at any moment of that. When both are done, no object may be lost or in
 * two places, and all that is charged must lie in stocks and arrays. The same with keys in objects
 * and inline hits, where the thread is in this group, in another one and in none in turn. With what
 * is named in inject.h broken, the same rounds must find that it is not so.
 */
#include "inject.h"

#if !USLAB_HAVE_RSEQ
int main(void)
{
	return 77; /* no sequences in this build */
}
#else

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mix.h"
#include "cache/cache.h"
#include "child.h"

static uint64_t nowhere;

static inline uint64_t *owner_to_write(uint64_t *owner)
{
	return race_broken & BROKEN_KEY && load_relaxed(owner) ? &nowhere : owner;
}

#define percpu_owner(id, cpu) owner_to_write(percpu_owner(id, cpu))
#include "front/array_charged.c"
#undef percpu_owner
#include "cache/charged.c"
#include "cache/group/array.c"
#include "pair_up.h"

#define ROUNDS 3000
#define CALLS 60
#define SIZE 192u

static struct uslab_group *handle;
static struct uslab_group *other;
static struct cache *cache;
static bool keyed;

static void *allocate(void)
{
	return keyed ? kmem_cache_alloc_account(cache->handle, GFP_KERNEL)
		     : group_cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
}

static void give_object(void *obj)
{
	if (keyed)
		kmem_cache_free_account(cache->handle, obj);
	else
		group_cache_free(cache, obj, NULL);
}

/* Of n rounds: with keys an array of another owner comes in between. */
static struct uslab_group *group_of_round(unsigned int n)
{
	return !keyed || n % 4 < 2 ? handle : n % 4 == 2 ? other : NULL;
}

/* Some are kept for a while, so that arrays get empty and full. */
static void allocate_some(uint64_t r)
{
	void *p[CALLS];
	unsigned int n = 0;

	for (unsigned int i = 0; i < CALLS; i++) {
		if (i == (r >> 16) % CALLS)
			race_delay[(keyed && r >> 63 ? 40 : 34) + r % 6] = (int)(r >> 24 & 511);
		if (i == (r >> 40) % CALLS)
			race_delay[9 + r % 3] = (int)(r >> 48 & 2047);
		if (n && (mix_bits(r + i) & 3) == 0)
			give_object(p[--n]);
		else if ((p[n] = allocate()))
			memset(p[n++], 0x5a, SIZE);
	}
	while (n)
		give_object(p[--n]);
}

static void *allocate_on(void *arg)
{
	pin(0);
	for (unsigned int n = 0;; n++) {
		meet();
		if (load_relaxed(&pair_ends))
			return arg;
		group_enter(group_of_round(n));
		allocate_some(mix_bits(n + 1) ^ mix_multiply(n));
		memset(race_delay, 0, sizeof(race_delay));
		group_enter(NULL);
		meet();
	}
}

static struct uslab_group *make_group(void)
{
	struct uslab_group *made;
	int error;

	made = group_create("race", 0, NULL, &error);
	CHILD_CHECK(made);
	return made;
}

static struct group *group_of_handle(struct uslab_group *of)
{
	return group_at((uint32_t)((uintptr_t)of & 0xffff));
}

static struct group *group(void)
{
	return group_of_handle(handle);
}

static void make_cache(void)
{
	const struct cache_spec spec = { .name = "race",
					 .size = SIZE,
					 .flags = keyed ? USLAB_ACCOUNT_INLINE : SLAB_ACCOUNT,
					 .front = &front_array_ops,
					 .no_merge = true };
	struct kmem_cache *s;

	CHILD_CHECK(!cache_create(&spec, &s));
	cache = cache_of(s);
}

static bool is_exact(struct uslab_group *of)
{
	const struct group *g = group_of_handle(of);

	return load_relaxed(&g->usage) == group_ahead_locked(g);
}

/* Nothing runs: are there bytes that nobody has, or objects that somebody has, or nobody? */
static const char *wrong(void)
{
	struct engine_stats stats;

	cache->engine.ops->stats(&cache->engine, &stats);
	if (stats.total_objects - stats.free_objects != cache->front.ops->held(&cache->front))
		return "objects are lost, or in two places";
	if (!is_exact(handle) || !is_exact(other))
		return "bytes are charged that are nowhere, or the other way round";
	cache->front.ops->check(&cache->front);
	return NULL;
}

static void disturb(unsigned int n)
{
	switch (n % 4) {
	case 0:
		group_destroy(handle);
		break;
	case 1:
		lock_acquire(&cache_lock);
		cache->front.ops->drain(&cache->front);
		cache_unlock();
		break;
	default:
		group_arrays_drain(group());
	}
}

static const char *one_round(unsigned int n)
{
	const char *what;

	meet();
	spin((int)(mix_bits(n) >> 8 & 16383));
	disturb(n);
	meet();
	what = wrong();
	if (n % 4)
		return what;
	if (!what && (group()->usage || groups_table->dying))
		what = "the group is not gone";
	handle = make_group();
	return what;
}

/* *arg: what is broken. Ends with status 3 once something is wrong. */
static void rounds(void *arg)
{
	const char *what = NULL;
	unsigned int n;

	CHILD_CHECK(cache_init() == 0);
	handle = make_group();
	other = make_group();
	make_cache();
	race_broken = *(int *)arg;
	pair_start(allocate_on);
	for (n = 1; !what && pair_goes_on(n - 1, ROUNDS, race_broken); n++)
		what = one_round(n);
	if (what) {
		dprintf(STDERR_FILENO, "race: wrong in round %u: %s\n", n - 1, what);
		_exit(3);
	}
	pair_end();
	group_check();
	cache_check_all();
}

static void test_taken_away(void **state)
{
	(void)state;
	pair_run(rounds, 0);
}

static void test_no_fence_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_FENCE);
}

static void test_no_second_look_is_seen(void **state)
{
	(void)state;
	pair_run(rounds, BROKEN_RETRY);
}

static void test_no_key_is_seen(void **state)
{
	(void)state;
	if (!keyed)
		skip();
	pair_run(rounds, BROKEN_KEY);
}

/* ---- signals between any two instructions: sequences of one thread, nested ---- */

static volatile sig_atomic_t signals;
static void *volatile held; /* by the handler */

static void allocate_in_handler(int signal)
{
	(void)signal;
	signals++;
	if (!keyed && lock_is_inside())
		return;
	if (held)
		give_object(held);
	held = held ? NULL : allocate();
}

static void interrupted(void *arg)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } };

	CHILD_CHECK(cache_init() == 0);
	handle = make_group();
	other = make_group();
	make_cache();
	group_enter(handle);
	race_broken = *(int *)arg;
	signal(SIGALRM, allocate_in_handler);
	CHILD_CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (uint64_t n = 1; signals < 2000; n++) {
		allocate_some(mix_bits(n));
		memset(race_delay, 0, sizeof(race_delay));
	}
	signal(SIGALRM, SIG_IGN);
	if (held)
		give_object(held);
	group_enter(NULL);
	CHILD_CHECK(!wrong());
}

static void test_signals(void **state)
{
	int broken = 0;
	struct child c = child_run(interrupted, &broken);

	(void)state;
	assert_true(child_passed(&c));
}

static void test_signals_without_restart_are_seen(void **state)
{
	int broken = BROKEN_RESTART;
	struct child c;

	(void)state;
	if (!os_rseq_on)
		skip();
	c = child_run_broken(interrupted, &broken);
	printf("race: broken on purpose (%d): status %#x, %.90s\n", broken, c.status, c.text);
	assert_int_not_equal(c.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_away),
		cmocka_unit_test(test_no_fence_is_seen),
		cmocka_unit_test(test_no_second_look_is_seen),
		cmocka_unit_test(test_no_key_is_seen),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signals_without_restart_are_seen),
	};

	int failed;

	os_rseq_init();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	keyed = true;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
