/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/slow_test.c - what free() says of pointers that are none of ours; sizes of blocks;
 * instructions on the way to page runs that CPUs keep
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "front/array.h"
#include "malloc/internal.h"
#include "replaced.h"
#include "page/page.h"
#include "stepped.h"

static void *(*volatile alloc)(size_t) = malloc;
static void (*volatile give)(void *) = free;

static void test_block_size(void **state)
{
	(void)state;
	for (size_t size = 1; size < 40 << 20; size += 1 + size / 7) {
		char *p = alloc(size);
		size_t usable = malloc_block_size(p);

		assert_true(usable >= size);
		if (size <= MALLOC_MAX_SMALL)
			assert_int_equal(usable, malloc_class_size(malloc_class_of(size)));
		else
			assert_true(usable < size + PAGE_SIZE);
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

/* ---- the short way to page runs ---- */

#define RUN_BYTES 65536
#define PAIRS 8u
#define SHORT_PAIR 720 /* instructions of this program, which is not LTO's; 541 with GCC 12 */
#define MOST_STEPS 200000ul

static void run_pairs(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		give(alloc(RUN_BYTES));
}

/* On one CPU: what it keeps is its own. */
static _Noreturn void be_stepped(void)
{
	cpu_set_t here;
	int cpu = sched_getcpu();

	CPU_ZERO(&here);
	CPU_SET((unsigned int)(cpu < 0 ? 0 : cpu), &here);
	if (sched_setaffinity(0, sizeof(here), &here) || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	run_pairs(100);
	raise(SIGUSR1);
	run_pairs(PAIRS);
	raise(SIGUSR1);
	_exit(0);
}

/* Steps of a stopped process up to its next signal; 0: there is none. */
static unsigned long steps_to_mark(pid_t pid)
{
	unsigned long steps;
	int status = 0;

	for (steps = 0; steps < MOST_STEPS; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return 0;
		if (WSTOPSIG(status) != SIGTRAP)
			return WSTOPSIG(status) == SIGUSR1 ? steps : 0;
	}
	return 0;
}

/* Instructions of a pair, in a child. 0: they cannot be counted here. */
static unsigned long pair_steps(void)
{
	unsigned long steps = 0;
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		be_stepped();
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 0;
	if (WIFSTOPPED(status)) {
		steps = steps_to_mark(pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return steps / PAIRS;
}

/*
 * Steps take so long that now and then one of the pairs looks at the clock, or others have taken
 * what the CPU keeps: the least of some.
 */
static unsigned long least_pair_steps(void)
{
	unsigned long least = 0;

	for (unsigned int i = 0; i < 5; i++) {
		unsigned long steps = pair_steps();

		least = !least || (steps && steps < least) ? steps : least;
	}
	return least;
}

/* It is gone where hits are open, and not while depots of large objects are to be looked after. */
static void test_way_to_kept_runs(void **state)
{
	unsigned long there;
	unsigned long around;

	(void)state;
	if (!STEPPED_CAN || !bare_process() || is_emulated())
		skip_because("instructions cannot be counted here");
	there = least_pair_steps();
	store_relaxed(&array_limit_large, 1u);
	around = least_pair_steps();
	store_relaxed(&array_limit_large, 0u);
	if (!there || !around)
		skip_because("nothing can be traced here");
	printf("a pair takes %lu instructions, the long way %lu\n", there, around);
	if (load_relaxed(&malloc_hot.size_limit))
		assert_true(there <= SHORT_PAIR && around > there + 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_size),     cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_object_twice),   cmocka_unit_test(test_slow_is_complete),
		cmocka_unit_test(test_zeroed_is_true), cmocka_unit_test(test_way_to_kept_runs),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
