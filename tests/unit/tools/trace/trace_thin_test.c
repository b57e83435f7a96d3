/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_thin_test.c - what is left of a trace is a trace, with counts that fit
 */
#include "trace/trace_thin.h"

#include <stdio.h>

#include "unit/tools/trace_fixture.h"

#define NR_OBJECTS 20000u
#define LIVE 500u /* at the same time */

static void add(enum trace_kind kind, uint64_t ptr, uint64_t size, uint64_t time)
{
	struct trace_event event = { .kind = kind, .ptr = ptr, .bytes_req = size, .time = time };

	assert_int_equal(trace_ops_add(&t, &event), 0);
}

/* Object i lives from i to i + LIVE, one microsecond each; every size tells the object's parity. */
static void make_trace(void)
{
	for (uint64_t i = 0; i < NR_OBJECTS; i++) {
		if (i >= LIVE)
			add(TRACE_KFREE, (i - LIVE + 1) << 12, 0, i * 1000);
		add(TRACE_KMALLOC, (i + 1) << 12, i % 2 ? 64 : 1000, i * 1000);
	}
	trace_ops_finish(&t);
}

/* Performs the operations on slots, and compares what that gives with the trace's own counts. */
static void assert_sound(void)
{
	uint32_t *class = calloc(t.nr_slots + 1u, sizeof(*class)); /* + 1; 0: empty */
	uint64_t live = 0, bytes = 0, peak = 0, peak_op = 0, allocations = 0;

	assert_non_null(class);
	for (size_t i = 0; i < t.nr_ops; i++) {
		const struct trace_op *op = &t.ops[i];

		assert_true(op->slot < t.nr_slots);
		assert_int_equal(class[op->slot],
				 op -> kind == TRACE_OP_ALLOC ? 0 : op -> class + 1u);
		class[op->slot] = op->kind == TRACE_OP_ALLOC ? op->class + 1u : 0;
		if (op->kind == TRACE_OP_ALLOC) {
			allocations++;
			live++;
			bytes += t.classes[op->class].size;
		} else {
			live--;
			bytes -= t.classes[op->class].size;
		}
		if (peak < bytes) {
			peak = bytes;
			peak_op = i;
		}
		assert_true(!i || trace_ops_time(&t, i) >= trace_ops_time(&t, i - 1));
	}
	assert_int_equal(t.counts.allocations, allocations);
	assert_int_equal(t.counts.matched_frees, allocations - live);
	assert_int_equal(t.counts.live_objects, live);
	assert_int_equal(t.counts.live_bytes, bytes);
	assert_int_equal(t.counts.peak_bytes, peak);
	assert_int_equal(t.counts.peak_op, peak_op);
	free(class);
}

static void a_tenth_over_all_the_time(void **state)
{
	uint64_t odd = 0;

	(void)state;
	make_trace();
	assert_sound();
	assert_int_equal(trace_thin(&t, 10), 0);
	assert_sound();
	assert_in_range(t.counts.allocations, NR_OBJECTS / 10 * 8 / 10, NR_OBJECTS / 10 * 12 / 10);
	assert_in_range(t.nr_slots, LIVE / 10 / 2, LIVE / 10 * 2);
	/* the rhythm of the trace does not decide which */
	for (size_t i = 0; i < t.nr_ops; i++)
		odd += t.ops[i].kind == TRACE_OP_ALLOC && t.classes[t.ops[i].class].size == 64;
	assert_in_range(odd, t.counts.allocations * 4 / 10, t.counts.allocations * 6 / 10);
	/* from the beginning to the end */
	assert_in_range(trace_ops_time(&t, t.nr_ops - 1), (NR_OBJECTS - 100) * 1000ul,
			NR_OBJECTS * 1000ul);
	assert_in_range(trace_ops_time(&t, t.nr_ops / 2), NR_OBJECTS * 450ul, NR_OBJECTS * 550ul);
}

static void nothing_is_lost_by_one(void **state)
{
	size_t nr_ops;

	(void)state;
	make_trace();
	nr_ops = t.nr_ops;
	assert_int_equal(trace_thin(&t, 1), 0);
	assert_int_equal(t.nr_ops, nr_ops);
	assert_sound();
}

static void one_object_always_stays(void **state)
{
	(void)state;
	make_trace();
	assert_int_equal(trace_thin(&t, UINT32_MAX), 0);
	assert_sound();
	assert_in_range(t.counts.allocations, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_tenth_over_all_the_time, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_lost_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(one_object_always_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
