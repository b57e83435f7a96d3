/* SPDX-License-Identifier: MIT */
/*
 * conformance/malloc/stepped_test.c - malloc and its kin, with a signal handler that calls
 * them after each instruction
 *
 * ctest: timeout=300 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * Without rseq: the program starts itself again like that, see stepped.h.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "cache/cache.h"
#include "cache/control/control.h"
#include "malloc/internal.h"
#include "malloc/sampling.h"
#include "page/nested.h"
#include "page/reserve.h"
#include "replaced.h"
#include "stepped.h"

#define HELD 3
#define PATIENCE 200 /* s; who waits for a lock waits for ever */

static void *(*volatile alloc)(size_t) = malloc;
static void *(*volatile alloc_zero)(size_t, size_t) = calloc;
static void *(*volatile alloc_again)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;

/* Hits, misses, large objects, a page run (by the slow path), a mapping of its own. */
static const size_t sizes[] = { 1, 40, 900, 8192, 20000, 100000, 6ul << 20 };

static struct {
	void **held[HELD];
	unsigned long inside;
	uint64_t most_left;
} handler;

/* Its first word says where an object lies: nobody else writes to it. */
static void **mark(void *p)
{
	CHILD_CHECK(p);
	*(void **)p = p;
	return p;
}

static void unmark(void **p)
{
	CHILD_CHECK(*p == p);
	give(p);
}

static void on_step(unsigned long step)
{
	void ***slot = &handler.held[step % HELD];

	handler.inside += lock_is_inside();
	handler.most_left = MAX(handler.most_left, sampling_thread.left);
	if (*slot)
		unmark(*slot);
	*slot = mark(alloc(step % 64 ? 40 : 20000));
}

static void use(__attribute__((unused)) void *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void **p = mark(alloc(MAX(sizes[i], sizeof(void *))));

		p = alloc_again(p, sizes[i] + 100);
		CHILD_CHECK(p && malloc_usable_size(p) >= sizes[i] + 100);
		mark(p);
		unmark(p);
	}
	unmark(mark(alloc_zero(40, 1)));
	unmark(mark(aligned_alloc(4096, 4096)));
}

static void run(void)
{
	alarm(PATIENCE);
	CHILD_CHECK(stepped_run(use, NULL, on_step) > 500);
	CHILD_CHECK(handler.inside > 0);
	for (unsigned int i = 0; i < HELD; i++)
		unmark(handler.held[i]);
	give(alloc(1ul << 20)); /* no hit: what was put off is done */
	CHILD_CHECK(!nested_waiting() && !nested_lost() && !reserve_count());
	reserve_check();
	malloc_check();
}

IN_CHILD(test_by_itself)
{
	run();
}

/* The bytes to go until the next sample never run past 0: nothing would be sampled for ever. */
IN_CHILD(test_while_a_tool_samples)
{
	struct cache *c;

	give(alloc(40));
	c = cache_of(percpu_handle(malloc_class_of(40)));
	CHILD_CHECK(cache_set_sampling(c, true) == 0);
	store_relaxed(&control.sample_until, CONTROL_SAMPLING_FOREVER);
	store_relaxed(&control.sample_mean, 12);
	store_relaxed(&malloc_hot.size_limit, 0);
	run();
	CHILD_CHECK(control.sampled > 0 && handler.most_left > 0);
	CHILD_CHECK(handler.most_left < 1ull << 40);
}

int main(__attribute__((unused)) int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_itself),
		cmocka_unit_test(test_while_a_tool_samples),
	};

	if (malloc_is_replaced() || !stepped_is_possible())
		return TEST_SKIPPED;
	give(alloc(1)); /* the library starts with the first request */
	if (percpu_rseq) {
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execv("/proc/self/exe", argv);
		return TEST_SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
