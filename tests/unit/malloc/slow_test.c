/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/slow_test.c - what free() says of pointers that are none of ours; sizes of blocks;
 * instructions on the way to page runs that CPUs keep
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "child.h"
#include "front/array.h"
#include "malloc/internal.h"
#include "replaced.h"
#include "page/run.h"
#include "stepped.h"

static void *(*volatile alloc)(size_t) = malloc;
static void (*volatile give)(void *) = free;

static void test_block_size(void **state)
{
	(void)state;
	for (size_t size = 1; size < 40 << 20; size += 1 + size / 7) {
		char *p = alloc(size);
		size_t usable = malloc_block_size(p);
		size_t more = size <= 2 << 20 ? size / RUN_LENGTHS : 0;

		assert_true(usable >= size);
		if (size <= MALLOC_MAX_SMALL)
			assert_int_equal(usable, malloc_class_size(malloc_class_of(size)));
		else
			assert_true(usable < size + PAGE_SIZE + more);
		memset(p + size - 1, 1, usable - size + 1);
		give(p);
	}
	assert_int_equal(malloc_block_size(&state), 0);
}

/* Fills the array of this CPU, so that the next free of that size goes to the slow path. */
static void fill_array(size_t size)
{
	enum { NR = 4 * USLAB_SHEAF_CAPACITY };
	static void *objects[NR];

	for (unsigned int i = 0; i < NR; i++)
		objects[i] = alloc(size);
	for (unsigned int i = 0; i < NR; i++)
		free_slow(objects[i], NULL);
}

static void free_stack(void *arg)
{
	char local[64];

	(void)arg;
	give(local + 16);
}

static void free_inside_object(void *arg)
{
	char *p = alloc(64);

	(void)arg;
	free_slow(p + 16, NULL);
}

static void free_inside_run(void *arg)
{
	char *p = alloc(100000);

	(void)arg;
	give(p + PAGE_SIZE);
}

static void free_run_twice(void *arg)
{
	char *p = alloc(100000);

	(void)arg;
	give(p);
	give(p);
}

static void free_large_twice(void *arg)
{
	char *p = alloc(20 << 20);

	(void)arg;
	give(p);
	give(p);
}

static void free_object_twice(void *arg)
{
	void *p = alloc(64);

	(void)arg;
	free_slow(p, NULL);
	free_slow(p, NULL);
}

static void realloc_stack(void *arg)
{
	void *(*volatile resize)(void *, size_t) = realloc;
	char local[64];

	(void)arg;
	CHILD_CHECK(!resize(local, 100));
}

/* Reported in one line and a stack; the program goes on. */
static void test_bad_pointers(void **state)
{
	static const struct {
		void (*fn)(void *arg);
		const char *text;
	} cases[] = {
		{ free_stack, "was not allocated by uslab" },
		{ free_inside_object, "lies inside of an object of malloc-64, not at its start" },
		{ free_inside_run, "lies inside of a block of 102400 bytes, not at its start" },
		{ free_run_twice, "lies in free memory: freed twice?" },
		{ free_large_twice, "free(): 0x" },
		{ realloc_stack, "realloc(): 0x" },
	};

	(void)state;
	fill_array(64);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct child c = child_run(cases[i].fn, NULL);

		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, cases[i].text));
		assert_memory_equal(c.text, "uslab: ", 7);
		assert_non_null(strstr(strchr(c.text, '\n'), "\nCall Trace:\n"));
	}
}

static void test_object_twice(void **state)
{
	struct child c;

	(void)state;
	fill_array(64);
	c = child_run(free_object_twice, NULL);
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "BUG malloc-64 (Not tainted): Object already free\n"));
}

static void test_slow_is_complete(void **state)
{
	(void)state;
	for (size_t size = 0; size < 100000; size = size * 5 / 4 + 1) {
		char *p = malloc_slow(size, NULL);

		assert_non_null(p);
		memset(p, 1, size);
		free_slow(p, NULL);
	}
	free_slow(NULL, NULL);
}

static void test_zeroed_is_true(void **state)
{
	(void)state;
	for (size_t size = 1000; size < 16 << 20; size *= 3) {
		for (int round = 0; round < 3; round++) {
			bool zeroed;
			unsigned char *p = malloc_any(size, &zeroed, NULL);

			assert_non_null(p);
			for (size_t i = 0; zeroed && i < size; i++)
				assert_int_equal(p[i], 0);
			memset(p, 0xff, size);
			give(p);
		}
	}
}

/* ---- the fast path to page runs ---- */

#define RUN_BYTES 65536
#define PAIRS 8u
#define FAST_PAIR 720 /* instructions of this program, which is not LTO's; 541 with GCC 12 */

static void run_pairs(void *arg)
{
	for (unsigned int i = 0; i < *(unsigned int *)arg; i++)
		give(alloc(RUN_BYTES));
}

static void do_nothing(unsigned long step)
{
	(void)step;
}

/*
 * Instructions of a pair. Steps take so long that now and then one of the pairs looks at the clock:
 * the least of some. No restartable sequence is on the way, which the signals would abort.
 */
static unsigned long pair_steps(void)
{
	unsigned int warm = 100;
	unsigned int nr = PAIRS;
	unsigned long least = ULONG_MAX;

	for (unsigned int i = 0; i < 5; i++) {
		unsigned long steps;

		run_pairs(&warm);
		steps = stepped_run(run_pairs, &nr, do_nothing);
		least = MIN(least, steps / PAIRS);
	}
	return least;
}

/* It is taken where hits are open, and not while depots of large objects are to be looked after. */
static void test_fast_path_to_kept_runs(void **state)
{
	unsigned long fast;
	unsigned long slow;
	cpu_set_t before;
	cpu_set_t here;
	int cpu = sched_getcpu();

	(void)state;
	if (!stepped_is_possible() || is_emulated())
		skip_because("instructions cannot be counted here");
	CPU_ZERO(&here);
	CPU_SET((unsigned int)(cpu < 0 ? 0 : cpu), &here);
	if (sched_getaffinity(0, sizeof(before), &before) ||
	    sched_setaffinity(0, sizeof(here), &here)) /* what a CPU keeps is its own */
		skip_because("no CPU can be chosen");
	fast = pair_steps();
	store_relaxed(&array_limit_large, 1u);
	slow = pair_steps();
	store_relaxed(&array_limit_large, 0u);
	sched_setaffinity(0, sizeof(before), &before);
	printf("a pair takes %lu instructions, by the slow path %lu\n", fast, slow);
	if (load_relaxed(&malloc_hot.size_limit))
		assert_true(fast <= FAST_PAIR && slow > fast + 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_size),
		cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_object_twice),
		cmocka_unit_test(test_slow_is_complete),
		cmocka_unit_test(test_zeroed_is_true),
		cmocka_unit_test(test_fast_path_to_kept_runs),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
