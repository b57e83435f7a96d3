/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_load_test.c - a whole file: what is counted, and what is said about
 * mistakes
 */
#include "trace/trace_load.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "temp_file.h"

#define HEAD "bash-1 [001] ..... 1.0: "
#define ALLOC HEAD "kmalloc: call_site=f ptr=1000 bytes_req=5 bytes_alloc=8 gfp_flags=GFP_KERNEL\n"
#define FREE HEAD "kfree: call_site=f ptr=1000\n"
#define OTHER HEAD "sched_wakeup: comm=x\n"

static struct trace_load load;

/* load.max_events and load.keep_going are the caller's. */
static int load_text(const char *text)
{
	assert_int_equal(temp_file_fill(text, strlen(text)), 0);
	load = (struct trace_load){ .path = temp_file,
				    .max_events = load.max_events,
				    .keep_going = load.keep_going };
	return trace_load(&load);
}

static void assert_error(const char *text, unsigned int line, const char *what)
{
	char start[128];

	assert_int_equal(load_text(text), -EINVAL);
	snprintf(start, sizeof(start), "%s:%u: %s", temp_file, line, what);
	if (strncmp(load.error, start, strlen(start)))
		fail_msg("wanted '%s', got '%s'", start, load.error);
	assert_null(load.ops.ops);
}

static void counts(void **state)
{
	(void)state;
	assert_int_equal(load_text("# a\n" ALLOC OTHER "CPU:0 [LOST 5 EVENTS]\n" FREE FREE
				   "CPU:0 [LOST EVENTS]\n\n"),
			 0);
	assert_int_equal(load.lines, 8);
	assert_int_equal(load.events, 3);
	assert_int_equal(load.ignored, 1);
	assert_int_equal(load.gaps, 2);
	assert_int_equal(load.lost, 5);
	assert_int_equal(load.bad, 0);
	assert_int_equal(load.ops.nr_ops, 2);
	assert_int_equal(load.ops.counts.unmatched_frees, 1);
	assert_string_equal(load.error, "");
	trace_ops_destroy(&load.ops);
}

/* Only the head of the file says what its own tracer has lost. */
static void overwritten(void **state)
{
#define WRITTEN "# entries-in-buffer/entries-written: 3/10   #P:2\n"
	(void)state;
	assert_int_equal(load_text("# tracer: nop\n#\n" WRITTEN "#\n" ALLOC WRITTEN FREE), 0);
	assert_int_equal(load.gaps, 1);
	assert_int_equal(load.lost, 7);
	trace_ops_destroy(&load.ops);
	assert_int_equal(load_text(OTHER WRITTEN ALLOC), 0);
	assert_int_equal(load.gaps, 0);
	assert_int_equal(load.lost, 0);
	trace_ops_destroy(&load.ops);
}

#define I1 "i1:             bash-1     [001] 1.0: kfree: call_site=f ptr=1000\n"
#define I2 "i2:             bash-1     [001] 1.0: kfree: call_site=f ptr=1000\n"
#define I2_OTHER "i2:             bash-1     [001] 1.0: sched_wakeup: comm=x\n"

static void instances(void **state)
{
	static const struct {
		const char *text, *first, *other;
		bool has;
	} cases[] = {
		{ ALLOC FREE, "", "", false },	      { I1 I1 I2_OTHER, "i1", "", false },
		{ I1 I1 I2 ALLOC, "i1", "i2", true }, { I2 FREE, "i2", "", true },
		{ FREE I2 I1, "", "i2", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(load_text(cases[i].text), 0);
		assert_string_equal(load.instance, cases[i].first);
		assert_string_equal(load.other_instance, cases[i].other);
		assert_int_equal(load.has_instances, cases[i].has);
		trace_ops_destroy(&load.ops);
	}
}

static void order(void **state)
{
#define AT(time) "a-1 [000] " time ": kfree: call_site=f ptr=1000\n"
	(void)state;
	/* a millisecond is what clocks of CPUs may differ by */
	assert_int_equal(load_text(AT("2.0") AT("1.999") AT("1.998999") AT("2.1") AT("2.0")), 0);
	assert_int_equal(load.early, 2);
	trace_ops_destroy(&load.ops);
	assert_int_equal(load_text(AT("2.0") AT("1.0") AT("1.5")), 0);
	assert_int_equal(load.early, 2);
	trace_ops_destroy(&load.ops);
}

static void first_events_only(void **state)
{
	(void)state;
	load.max_events = 2;
	/* what comes later is not even looked at */
	assert_int_equal(load_text(ALLOC OTHER FREE "nonsense"), 0);
	assert_int_equal(load.events, 2);
	assert_int_equal(load.lines, 3);
	trace_ops_destroy(&load.ops);
}

static void mistakes(void **state)
{
	(void)state;
	assert_error("", 1, "expected memory events");
	assert_error("# a\n\n", 2, "expected memory events");
	assert_error(OTHER, 1, "expected memory events");
	assert_error("# a\nfoo\n" ALLOC, 2, "column 1: expected an event of the kernel's");
	assert_error(ALLOC HEAD "kfree: call_site=f\n", 2,
		     "column 43: expected field 'ptr=' of event kfree, found the end of the line");
	assert_error(ALLOC HEAD "kfree: call_site=f ptr=x\n", 2,
		     "column 48: expected a pointer in hex after 'ptr=', found 'x'");
	assert_error(ALLOC FREE HEAD "kfree: call_site=f ptr=10", 3,
		     "expected the rest of the line and a newline, found the end of the file");
	assert_error("a-1 [99999] 1.0: kfree: call_site=f ptr=0\n", 1,
		     "expected a CPU below 8192, found 99999");
}

static void keep_going(void **state)
{
	char first[64];

	(void)state;
	load.keep_going = true;
	assert_int_equal(load_text("foo\n" ALLOC
				   "bar\na-1 [99999] 1.0: kfree: call_site=f ptr=0\n" HEAD
				   "kfree: ptr=1000\n" FREE "cut"),
			 0);
	assert_int_equal(load.bad, 5);
	assert_int_equal(load.lines, 7);
	assert_int_equal(load.ops.nr_ops, 2);
	snprintf(first, sizeof(first), "%s:1: column 1: ", temp_file);
	assert_memory_equal(load.error, first, strlen(first));
	trace_ops_destroy(&load.ops);
	/* why there is nothing */
	assert_int_equal(load_text("foo\nbar\n"), -EINVAL);
	assert_non_null(strstr(load.error, ":2: expected memory events"));
	assert_non_null(
		strstr(load.error, "found none up to here; lines left out: 2; the first: "));
	assert_non_null(strstr(load.error, ":1: column 1: expected an event of the kernel's"));
	assert_int_equal(load_text(OTHER), -EINVAL);
	assert_null(strstr(load.error, "left out"));
}

static void no_such_file(void **state)
{
	(void)state;
	load = (struct trace_load){ .path = "/does/not/exist", .keep_going = true };
	assert_int_equal(trace_load(&load), -EINVAL);
	assert_string_equal(load.error, "/does/not/exist: cannot open: No such file or directory");
}

static int reset(void **state)
{
	(void)state;
	load = (struct trace_load){ 0 };
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(counts, reset),
		cmocka_unit_test_setup(overwritten, reset),
		cmocka_unit_test_setup(instances, reset),
		cmocka_unit_test_setup(order, reset),
		cmocka_unit_test_setup(first_events_only, reset),
		cmocka_unit_test_setup(mistakes, reset),
		cmocka_unit_test_setup(keep_going, reset),
		cmocka_unit_test_setup(no_such_file, reset),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
