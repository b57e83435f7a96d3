/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/replay/replay_run_test.c - operations performed on the real library,
 * and its counts afterwards
 */
#include "replay/replay_run.h"
#include "inspect/snapshot.h"
#include "inspect/usage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const fronts[] = { "array", "cpuslab", "none" };

static struct trace_ops trace;

static int setup(void **state)
{
	(void)state;
	return trace_ops_init(&trace);
}

static int teardown(void **state)
{
	(void)state;
	trace_ops_destroy(&trace);
	return 0;
}

static void add(enum trace_kind kind, uint64_t ptr, uint64_t size, const char *name)
{
	struct trace_event event = { .kind = kind, .ptr = ptr, .bytes_req = size };

	if (name)
		event.name = (struct trace_text){ name, strlen(name) };
	assert_int_equal(trace_ops_add(&trace, &event), 0);
}

/* Caches, kmallocs and large kmallocs, freed each way; 300 stay alive. */
static void make_trace(void)
{
	for (uint64_t i = 1; i <= 500; i++) {
		add(TRACE_CACHE_ALLOC, i << 24 | 1, 64, "replay-a");
		add(TRACE_CACHE_ALLOC, i << 24 | 2, 700, "replay-b");
		add(TRACE_KMALLOC, i << 24 | 3, i * 16, NULL);
	}
	for (uint64_t i = 1; i <= 400; i++) {
		add(TRACE_CACHE_FREE, i << 24 | 1, 0, "replay-a");
		add(TRACE_KFREE, i << 24 | 2, 0, NULL);
		add(TRACE_KFREE, i << 24 | 3, 0, NULL);
	}
	add(TRACE_KMALLOC, 4096, 100000, NULL);
	add(TRACE_KFREE, 4096, 0, NULL);
}

static void assert_times(const struct replay_times *times, uint64_t count)
{
	assert_int_equal(times->count, count);
	assert_true(times->median >= 0.0 && times->median <= times->p99);
	assert_true(times->p99 <= times->p99_9 && times->p99_9 <= times->max);
	assert_true(times->max > 0.0);
}

static void every_front(void **state)
{
	(void)state;
	make_trace();
	for (size_t i = 0; i < 3; i++) {
		struct replay replay = { .trace = &trace,
					 .options = { .engine = "slub",
						      .front = fronts[i],
						      .touch = REPLAY_TOUCH_ALL,
						      .rounds = 1 } };
		const struct replay_result *result = &replay.result;

		assert_int_equal(replay_run(&replay), 0);
		assert_int_equal(result->live, 300);
		assert_int_equal(result->live_library, 300);
		assert_int_equal(result->live_freed, 0);
		assert_int_equal(result->out_of_memory, 0);
		assert_int_equal(replay.nr_caches, 2);
		assert_true(result->slab_peak >= 500 * (64 + 700 + 16));
		assert_true(result->slab_peak >= result->slab_end);
		/* beyond 8192 bytes it is whole pages, a power of two of them */
		assert_int_equal(result->large_peak, 131072);
		assert_int_equal(result->large_end, 0);
		assert_times(&result->time[REPLAY_ALLOC], 1501);
		assert_times(&result->time[REPLAY_FREE], 1201);
		assert_true(result->seconds > 0.0);
		replay_destroy(&replay);
	}
}

static void rounds_and_leftovers(void **state)
{
	struct replay replay = { .trace = &trace,
				 .options = { .touch = REPLAY_TOUCH_LINE, .rounds = 4 } };
	struct usage before, after;

	(void)state;
	make_trace();
	assert_int_equal(replay_run(&replay), 0);
	assert_int_equal(replay.result.live, 300);
	replay_destroy(&replay);
	usage_read(&before);
	assert_int_equal(replay_run(&replay), 0);
	replay_destroy(&replay);
	/* nothing piles up from one replay to the next */
	usage_read(&after);
	assert_int_equal(before.slab_bytes, after.slab_bytes);
	assert_int_equal(after.large_bytes, 0);
}

static void nothing_to_do(void **state)
{
	struct replay replay = { .trace = &trace, .options = { .rounds = 1 } };

	(void)state;
	add(TRACE_KFREE, 0x1000, 0, NULL);
	assert_int_equal(replay_run(&replay), 0);
	assert_int_equal(replay.result.live, 0);
	assert_true(replay.result.time[REPLAY_ALLOC].max == 0.0);
	replay_destroy(&replay);
}

static void unknown_front(void **state)
{
	struct replay replay = { .trace = &trace, .options = { .rounds = 1, .front = "nonsense" } };

	(void)state;
	add(TRACE_CACHE_ALLOC, 0x1000, 64, "replay-c");
	assert_int_equal(replay_run(&replay), -EINVAL);
	assert_memory_equal(replay.error, "cannot create cache 'replay-c' of 64 bytes: ", 44);
	replay_destroy(&replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_to_do, setup, teardown),
		cmocka_unit_test_setup_teardown(every_front, setup, teardown),
		cmocka_unit_test_setup_teardown(rounds_and_leftovers, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_front, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
