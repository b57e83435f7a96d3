/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/replay/replay_stage_test.c - copies, CPUs, and what is alive at any moment of a trace
 */
#include "replay/replay_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/cpu/cpu.h"

#define CPUS 8
#define COPIES 4u

static struct trace_ops trace;
static struct stage stage;

static void add(enum trace_kind kind, uint64_t ptr, uint64_t size, unsigned int cpu)
{
	struct trace_event event = { .kind = kind, .ptr = ptr, .bytes_req = size, .cpu = cpu };

	if (kind == TRACE_CACHE_ALLOC)
		event.name = (struct trace_text){ "stage", 5 };
	assert_int_equal(trace_ops_add(&trace, &event), 0);
}

/* The two CPUs that have events; they are not the first ones. */
#define CPU_LOW 3u
#define CPU_HIGH 40u

/* Slots are used again by objects of other sizes; object 9 is freed by kfree(). */
static int setup(void **state)
{
	char error[128];

	(void)state;
	assert_int_equal(trace_ops_init(&trace), 0);
	for (uint64_t i = 1; i <= 20; i++) {
		add(i % 3 ? TRACE_KMALLOC : TRACE_CACHE_ALLOC, i << 12, i % 3 ? i : 300,
		    i % 2 ? CPU_HIGH : CPU_LOW);
		if (i % 4 == 0)
			add(TRACE_KFREE, (i - 1) << 12, 0, CPU_HIGH);
	}
	add(TRACE_KFREE, 9 << 12, 0, CPU_LOW);
	trace_ops_finish(&trace);
	stage = (struct stage){
		.trace = &trace, .engine = "slob", .copies = COPIES, .spread = true
	};
	assert_int_equal(stage_init(&stage), 0);
	assert_int_equal(stage_create_caches(&stage, error, sizeof(error)), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stage_destroy_caches(&stage);
	stage_exit(&stage);
	trace_ops_destroy(&trace);
	return 0;
}

static void perform(size_t i)
{
	const struct trace_op *op = &trace.ops[i];

	for (unsigned int copy = 0; copy < COPIES; copy++) {
		void **object = stage_object(&stage, op, copy);

		stage_act(&stage, op, copy);
		assert_int_equal(os_current_cpu(), ((op->cpu == CPU_HIGH) + 2 * copy) % CPUS);
		if (op->kind == TRACE_OP_ALLOC) {
			*object = stage_alloc(&stage, stage_class(&stage, op));
			assert_non_null(*object);
		} else {
			stage_free(&stage, stage_class(&stage, op), *object);
			*object = NULL;
		}
	}
}

struct seen {
	uint64_t objects;
	uint64_t bytes;
};

static void see(const void *object, uint32_t size, void *arg)
{
	struct seen *seen = arg;

	assert_non_null(object);
	seen->objects++;
	seen->bytes += size;
}

static void what_is_alive(void **state)
{
	uint64_t objects = 0, bytes = 0;

	(void)state;
	for (size_t i = 0; i < trace.nr_ops; i++) {
		uint64_t size = trace.classes[trace.ops[i].class].size;
		bool alloc = trace.ops[i].kind == TRACE_OP_ALLOC;
		struct seen seen = { 0, 0 };

		perform(i);
		objects += alloc ? COPIES : -(uint64_t)COPIES;
		bytes += alloc ? COPIES * size : -(COPIES * size);
		assert_int_equal(stage_walk(&stage, i + 1, see, &seen), 0);
		assert_int_equal(seen.objects, objects);
		assert_int_equal(seen.bytes, bytes);
	}
	stage_free_all(&stage, trace.nr_ops);
	for (size_t i = 0; i < COPIES * trace.nr_slots; i++)
		assert_null(stage.objects[i]);
}

static void free_in_the_middle(void **state)
{
	struct seen seen = { 0, 0 };

	(void)state;
	for (size_t i = 0; i < trace.nr_ops / 2; i++)
		perform(i);
	stage_free_all(&stage, trace.nr_ops / 2);
	assert_int_equal(stage_walk(&stage, trace.nr_ops / 2, see, &seen), 0);
	assert_int_equal(seen.objects, 0);
}

/* Every object is one copy's, from its allocation to its free, and all copies have some. */
static void split(void **state)
{
	unsigned int owner[64] = { 0 };
	unsigned int nr[COPIES] = { 0 };

	(void)state;
	stage.split = true;
	assert_true(trace.nr_slots <= 64);
	for (size_t i = 0; i < trace.nr_ops; i++) {
		const struct trace_op *op = &trace.ops[i];
		unsigned int part = stage_part(&stage, op);

		assert_true(part < COPIES);
		if (op->kind == TRACE_OP_ALLOC) {
			owner[op->slot] = part;
			nr[part]++;
		}
		assert_int_equal(part, owner[op->slot]);
	}
	for (unsigned int part = 0; part < COPIES; part++)
		assert_true(nr[part] >= 1 && nr[part] <= 12);
}

static void copies(void **state)
{
	(void)state;
	assert_int_equal(stage_copies(&trace, 1), 1);
	assert_int_equal(stage_copies(&trace, 2), 1);
	assert_int_equal(stage_copies(&trace, 7), 3);
	assert_int_equal(stage_copies(&trace, 64), 32);
}

/* Without copies CPU c of the trace is CPU c modulo their number. */
static void not_spread(void **state)
{
	(void)state;
	stage.spread = false;
	for (size_t i = 0; i < trace.nr_ops; i++) {
		stage_act(&stage, &trace.ops[i], 0);
		assert_int_equal(os_current_cpu(), trace.ops[i].cpu % CPUS);
	}
}

static void touch(void **state)
{
	char bytes[200] = { 0 };

	(void)state;
	stage.touch = REPLAY_TOUCH_NONE;
	stage_touch(&stage, bytes, 100);
	assert_int_equal(bytes[0], 0);
	stage.touch = REPLAY_TOUCH_LINE;
	stage_touch(&stage, bytes, 100);
	assert_true(bytes[63] && !bytes[64]);
	stage.touch = REPLAY_TOUCH_ALL;
	stage_touch(&stage, bytes, 100);
	assert_true(bytes[99] && !bytes[100]);
}

/* The program again: a made-up topology is read before main(). */
static void start_again(char **argv)
{
	setenv("USLAB_CONF", "topology=8x2", 1);
	execv(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_alive, setup, teardown),
		cmocka_unit_test_setup_teardown(free_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(split, setup, teardown),
		cmocka_unit_test_setup_teardown(copies, setup, teardown),
		cmocka_unit_test_setup_teardown(not_spread, setup, teardown),
		cmocka_unit_test_setup_teardown(touch, setup, teardown),
	};

	(void)argc;
	if (!getenv("USLAB_CONF"))
		start_again(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
