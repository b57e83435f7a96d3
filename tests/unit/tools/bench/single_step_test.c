/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/bench/single_step_test.c - instructions are counted exactly, also in restartable
 * sequences; and with that, what bulk calls take beside loops of single calls
 *
 * ctest: timeout=200 sanitize=no
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <uslab/account.h>
#include <uslab/group.h>
#include <uslab/slab.h>
#include <cmocka.h>

#if USLAB_HAVE_RSEQ
#include <sys/rseq.h>
#endif

#include "bench/single_step.h"

#define MOST 1000
#define MAX_STEPS 10000000ul

static struct kmem_cache *cache;
static void *objects[MOST];

static __attribute__((noinline)) void by_loop(size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(objects[i] = kmem_cache_alloc(cache, GFP_KERNEL)))
			abort();
	for (size_t i = 0; i < n; i++)
		kmem_cache_free(cache, objects[i]);
}

static __attribute__((noinline)) void by_bulk(size_t n)
{
	if (!kmem_cache_alloc_bulk(cache, GFP_KERNEL, n, objects))
		abort();
	kmem_cache_free_bulk(cache, n, objects);
}

static __attribute__((noinline)) void nothing(size_t n)
{
	__asm__ volatile("" : : "r"(n));
}

/* What is done before each run but those of nothing(), and is not counted. */
static void (*prepare)(size_t n);

static void prepared_run(void (*run)(size_t), size_t n, bool counted)
{
	if (prepare && run != nothing)
		prepare(n);
	if (counted)
		raise(SIGUSR1);
	run(n);
	if (counted)
		raise(SIGUSR1);
}

/* The child: each function some times for every count, the last time between two marks. */
static _Noreturn void be_counted(void (*const *run)(size_t), size_t nr, const size_t *counts,
				 size_t nr_counts)
{
	cpu_set_t here;
	int cpu = sched_getcpu();

	/* what it has cached is this CPU's */
	CPU_ZERO(&here);
	CPU_SET((unsigned int)(cpu < 0 ? 0 : cpu), &here);
	sched_setaffinity(0, sizeof(here), &here);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	for (size_t i = 0; i < nr_counts; i++)
		for (size_t j = 0; j < nr; j++) {
			for (unsigned int warm = 0; warm < 3; warm++)
				prepared_run(run[j], counts[i], false);
			prepared_run(run[j], counts[i], true);
		}
	_exit(0);
}

/* Steps to the next mark. 0: it is not to be had. */
static unsigned long count_to_mark(struct tracee *t)
{
	unsigned long steps = 0;
	int signal;

	while ((signal = step_once(t)) == SIGTRAP)
		if (++steps > MAX_STEPS)
			return 0;
	return signal == SIGUSR1 ? steps : 0;
}

/* Both functions for both counts, in turn: how many steps each takes. */
static void count_two(void (*const run[2])(size_t), const size_t counts[2], unsigned long steps[4])
{
	struct tracee t = { .started = false };

	t.pid = fork();
	assert_true(t.pid >= 0);
	if (!t.pid)
		be_counted(run, 2, counts, 2);
	for (size_t i = 0; i < 4; i++) {
		if (!step_run_to_mark(&t))
			skip(); /* no tracing here */
		steps[i] = count_to_mark(&t);
		assert_true(steps[i]);
	}
	step_kill(&t);
}

/*
 * Where the fronts do something else: one object, a few, and what no longer fits into one array,
 * into two, into a slab. Of own caches all of the small ones too where calls have sequences;
 * without, each object takes ten times as many steps, which lock and unlock in the same way. A step
 * takes up to 60 us in a virtual machine.
 */
static const size_t all_counts[] = { 1,	 2,  3,	 4,  5,	 6,  7,	 8,  9,	 10, 12, 16,
				     30, 31, 32, 33, 61, 62, 63, 64, 65, 94, 100 };
static const size_t few_counts[] = { 1, 2, 3, 8, 32, 63, 65 };

/*
 * The counts to be tried, and how many: those above, or with USLAB_TEST_COUNTS=FROM-TO these, of
 * own caches only, and each is printed.
 */
static size_t asked_counts(bool all, size_t counts[MOST])
{
	const char *range = getenv("USLAB_TEST_COUNTS");
	size_t from;
	size_t to;

	if (!range) {
		memcpy(counts, all ? all_counts : few_counts,
		       all ? sizeof(all_counts) : sizeof(few_counts));
		return all ? sizeof(all_counts) / sizeof(all_counts[0])
			   : sizeof(few_counts) / sizeof(few_counts[0]);
	}
	assert_int_equal(sscanf(range, "%zu-%zu", &from, &to), 2);
	assert_true(from && from <= to && to <= MOST);
	for (size_t n = from; n <= to; n++)
		counts[n - from] = n;
	return to - from + 1;
}

static bool has_sequences(void)
{
#if USLAB_HAVE_RSEQ
	return __rseq_size != 0;
#else
	return false;
#endif
}

/*
 * A bulk call takes no more than the loop, or this many hundredths if that is more; from 8 objects
 * on this many at most.
 */
static void beside_loop(const char *what, unsigned long percent, void (*const run[3])(size_t),
			bool all)
{
	size_t counts[MOST];
	size_t nr = asked_counts(all, counts);
	unsigned long steps[3];
	struct tracee t = { .started = false };

	t.pid = fork();
	assert_true(t.pid >= 0);
	if (!t.pid)
		be_counted(run, 3, counts, nr);
	for (size_t i = 0; i < nr; i++) {
		for (size_t j = 0; j < 3; j++) {
			if (!step_run_to_mark(&t))
				skip(); /* no tracing here */
			steps[j] = count_to_mark(&t);
			assert_true(steps[j]);
		}
		steps[1] -= steps[0];
		steps[2] -= steps[0];
		if (getenv("USLAB_TEST_COUNTS"))
			printf("%s %zu: %lu in bulk, %lu one by one, %.3f\n", what, counts[i],
			       steps[2], steps[1], (double)steps[2] / (double)steps[1]);
		if (100 * steps[2] > (percent > 100 ? percent : 100) * steps[1] ||
		    (counts[i] >= 8 && 100 * steps[2] > percent * steps[1]))
			fail_msg("%s, %zu objects: %lu instructions in bulk, %lu one by one", what,
				 counts[i], steps[2], steps[1]);
	}
	step_kill(&t);
}

static void bulk_beside_loop(const struct kmem_cache_args *args, bool all)
{
	static void (*const run[])(size_t) = { nothing, by_loop, by_bulk };

	prepare = NULL;
	cache = kmem_cache_create_args("steps", 64, args, SLAB_NOLEAKTRACE);
	assert_non_null(cache);
	beside_loop(args->front, 75, run, all); /* a loop misses as cheaply: 0.71 at 64 objects */
	kmem_cache_destroy(cache);
}

static void test_bulk_array(void **state)
{
	static const struct kmem_cache_args args = { .engine = "slub", .front = "array" };

	(void)state;
#ifndef __OPTIMIZE__
	skip();
#endif
	bulk_beside_loop(&args, has_sequences());
}

static void test_bulk_cpuslab(void **state)
{
	static const struct kmem_cache_args args = { .engine = "slub", .front = "cpuslab" };

	(void)state;
#ifndef __OPTIMIZE__
	skip();
#endif
	bulk_beside_loop(&args, false);
}

#if USLAB_HAVE_RSEQ && defined(__OPTIMIZE__)
/* ---- kfree_bulk(): of one cache, of two in turn, of kmallocs ---- */

static struct kmem_cache *other_cache;

static void some_of_cache(size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(objects[i] = kmem_cache_alloc(cache, GFP_KERNEL)))
			abort();
}

static void some_of_two_caches(size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(objects[i] = kmem_cache_alloc(i % 2 ? cache : other_cache, GFP_KERNEL)))
			abort();
}

static void some_kmallocs(size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(objects[i] = kmalloc(64, GFP_KERNEL)))
			abort();
}

static void kmallocs_of_two_sizes(size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(objects[i] = kmalloc(i % 2 ? 64 : 128, GFP_KERNEL)))
			abort();
}

static __attribute__((noinline)) void by_kfree(size_t n)
{
	for (size_t i = 0; i < n; i++)
		kfree(objects[i]);
}

static __attribute__((noinline)) void by_kfree_bulk(size_t n)
{
	kfree_bulk(n, objects);
}

/*
 * Those of several kinds in turn take no more than the loop: what looks at many of them pays from
 * some 20 on. Of own caches with arrays each kfree() is a hit, too, and a tenth is what the look at
 * few of them costs.
 */
static void test_kfree_bulk(void **state)
{
	static void (*const run[])(size_t) = { nothing, by_kfree, by_kfree_bulk };
	static const struct {
		const char *what;
		const char *front;
		void (*prepare)(size_t n);
		unsigned long percent;
	} kinds[] = {
		{ "own cache, array", "array", some_of_cache, 110 },
		{ "own cache, cpuslab", "cpuslab", some_of_cache, 67 },
		{ "two own caches, array", "array", some_of_two_caches, 110 },
		{ "two own caches, cpuslab", "cpuslab", some_of_two_caches, 100 },
		{ "kmallocs", "array", some_kmallocs, 70 }, /* GCC 14: 68 */
		{ "kmallocs of two sizes", "array", kmallocs_of_two_sizes, 100 },
	};

	(void)state;
#if defined(USLAB_DEBUG_BUILD) || defined(__clang__)
	/* few objects: a handful of instructions decide, which are those that GCC makes with -O2 */
	skip();
#endif
	if (!has_sequences() || getenv("USLAB_TEST_COUNTS"))
		skip(); /* nothing is a hit, and arrays are moved one by one */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct kmem_cache_args args = { .engine = "slub", .front = kinds[i].front };

		cache = kmem_cache_create_args("steps", 64, &args, SLAB_NOLEAKTRACE);
		other_cache = kmem_cache_create_args("others", 72, &args, SLAB_NOLEAKTRACE);
		assert_true(cache && other_cache);
		prepare = kinds[i].prepare;
		beside_loop(kinds[i].what, kinds[i].percent, run, false);
		prepare = NULL;
		kmem_cache_destroy(cache);
		kmem_cache_destroy(other_cache);
	}
}

static __attribute__((noinline)) void by_pair(size_t n)
{
	struct kmem_cache *s = cache;

	for (size_t i = 0; i < n; i++) {
		void *p = kmem_cache_alloc(s, GFP_KERNEL);

		if (!p)
			abort();
		kmem_cache_free(s, p);
	}
}

static __attribute__((noinline)) void by_account_pair(size_t n)
{
	struct kmem_cache *s = cache;

	for (size_t i = 0; i < n; i++) {
		void *p = kmem_cache_alloc_account(s, GFP_KERNEL);

		if (!p)
			abort();
		kmem_cache_free_account(s, p);
	}
}

#if defined(USLAB_DEBUG_BUILD) /* -O1 */
#define MOST_OF_PAIR 28
#elif defined(__clang__)
#define MOST_OF_PAIR 26
#else
#define MOST_OF_PAIR 25
#endif

/* Both inlined, marks and all; beside them the loop has 3 instructions, and the look for NULL 2. */
static void test_own_pair(void **state)
{
	static const struct kmem_cache_args args = { .engine = "slub", .front = "array" };
	static void (*const run[])(size_t) = { nothing, by_pair };
	static const size_t counts[] = { 10, 110 };
	unsigned long steps[4];

	(void)state;
	if (!__rseq_size)
		skip();
	cache = kmem_cache_create_args("pairs", 64, &args, SLAB_NOLEAKTRACE);
	assert_non_null(cache);
	count_two(run, counts, steps);
	assert_in_range(steps[3] - steps[1], 100 * 20, 100 * (MOST_OF_PAIR + 5));
	kmem_cache_destroy(cache);
}

/* ---- what is charged to a group ---- */

/*
 * Instructions of an allocation and free by that function, and the loop around them: so many times
 * more beside a few times.
 */
static unsigned long steps_of_pair(void (*pair)(size_t), size_t more)
{
	const size_t counts[] = { 16, 16 + more }; /* three times before: cache/group/array.c */
	void (*const run[])(size_t) = { nothing, pair };
	unsigned long steps[4];

	count_two(run, counts, steps);
	return (steps[3] - steps[1]) / more;
}

/*
 * A pair of a cache without SLAB_ACCOUNT, with it and no group, and charged. The last takes at most
 * so many more than the one before: to find the object's word, and to change the stock. A cache
 * that was there before the first group takes no more than one that is made later.
 */
#ifdef USLAB_DEBUG_BUILD
#define MOST_OF_CHARGE 500
#else
#define MOST_OF_CHARGE 200
#endif

static void test_charged(void **state)
{
	static const char *const fronts[] = { "array", "cpuslab", "queues" };
	struct kmem_cache *before;
	struct uslab_group *group;

	(void)state;
	if (!__rseq_size)
		skip();
	before = kmem_cache_create("before", 64, 0, SLAB_NOLEAKTRACE | SLAB_ACCOUNT, NULL);
	assert_non_null(before);
	group = uslab_group_create("steps", 0, NULL);
	assert_non_null(group);
	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++) {
		const struct kmem_cache_args args = { .engine = i == 2 ? "slab" : "slub",
						      .front = fronts[i] };
		unsigned long plain, outside, charged;

		cache = kmem_cache_create_args("plain", 64, &args, SLAB_NOLEAKTRACE);
		assert_non_null(cache);
		plain = steps_of_pair(by_pair, 20);
		kmem_cache_destroy(cache);
		cache = kmem_cache_create_args("charged", 64, &args,
					       SLAB_NOLEAKTRACE | SLAB_ACCOUNT);
		assert_non_null(cache);
		outside = steps_of_pair(by_pair, 20);
		uslab_group_enter(group);
		charged = steps_of_pair(by_pair, 20);
		uslab_group_enter(NULL);
		kmem_cache_destroy(cache);
		printf("%s: a pair takes %lu instructions, %lu with SLAB_ACCOUNT, %lu if charged\n",
		       fronts[i], plain - 5, outside - 5, charged - 5);
		assert_true(charged <= outside + MOST_OF_CHARGE);
		if (i)
			continue;
		cache = before;
		assert_in_range(steps_of_pair(by_pair, 20), outside - 5, outside + 5);
		uslab_group_enter(group);
		assert_in_range(steps_of_pair(by_pair, 20), charged - 5, charged + 5);
		uslab_group_enter(NULL);
		kmem_cache_destroy(cache);
	}
	assert_int_equal(uslab_group_usage(group), 0);
	uslab_group_destroy(group);
}

/*
 * With keys a pair takes at most a quarter more than one of a cache where nothing is charged, also
 * for a thread in no group.
 */
static void test_charged_inline(void **state)
{
	unsigned long plain, outside, charged;
	struct uslab_group *group;

	(void)state;
	if (!__rseq_size)
		skip();
	cache = kmem_cache_create("plain", 64, 0, SLAB_NOLEAKTRACE, NULL);
	assert_non_null(cache);
	plain = steps_of_pair(by_pair, 100) - 5;
	kmem_cache_destroy(cache);
	group = uslab_group_create("steps", 0, NULL);
	assert_non_null(group);
	cache = kmem_cache_create("keys", 64, 0, USLAB_ACCOUNT_INLINE, NULL);
	assert_non_null(cache);
	outside = steps_of_pair(by_account_pair, 100) - 5;
	uslab_group_enter(group);
	for (unsigned int i = 0; i < 40; i++)
		by_account_pair(1);
	charged = steps_of_pair(by_account_pair, 100) - 5;
	uslab_group_enter(NULL);
	printf("a pair takes %lu instructions, %lu with keys, %lu if charged\n", plain, outside,
	       charged);
	assert_in_range(outside, plain, plain * 5 / 4);
	assert_in_range(charged, plain, plain * 5 / 4);
	kmem_cache_destroy(cache);
	assert_int_equal(uslab_group_usage(group), 0);
	uslab_group_destroy(group);
}
#endif

/* What is between two marks is the same each time. */
static void test_exact(void **state)
{
	static void (*const run[])(size_t) = { nothing, nothing };
	static const size_t counts[] = { 1, 1 };
	unsigned long steps[4];

	(void)state;
	count_two(run, counts, steps);
	for (size_t i = 0; i < 4; i++) {
		assert_true(steps[i] < 1000);
		assert_int_equal(steps[i], steps[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
#if USLAB_HAVE_RSEQ && defined(__OPTIMIZE__)
		cmocka_unit_test(test_own_pair),
		cmocka_unit_test(test_charged),
		cmocka_unit_test(test_charged_inline),
#endif
		cmocka_unit_test(test_bulk_array),
		cmocka_unit_test(test_bulk_cpuslab),
#if USLAB_HAVE_RSEQ && defined(__OPTIMIZE__)
		cmocka_unit_test(test_kfree_bulk),
#endif
	};

	if (getenv("USLAB_TEST_VALGRIND"))
		return 77; /* skipped: what is stepped through there is valgrind's own code */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
