/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_parse_test.c - one line of a trace: every format, every way to be wrong
 */
#include "trace/trace_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/gfp.h>

#include <cmocka.h>

#define TRACEFS "            bash-15490   [001] .....   655.182140: "
#define ALLOC_FIELDS                                                                 \
	"call_site=copy_process+0x18a/0x1c80 ptr=ffff888115db4500 name=task_struct " \
	"bytes_req=5840 bytes_alloc=5888 gfp_flags=GFP_KERNEL|__GFP_ZERO node=-1 accounted=true"

static struct trace_event event;
static struct trace_error error;

/* The line in a block of its own, so that a read behind its end is found by sanitizers. */
static enum trace_line parse_bytes(const char *line, size_t length)
{
	char *copy = malloc(length ? length : 1);
	enum trace_line result;

	assert_non_null(copy);
	memcpy(copy, line, length);
	memset(&event, 0xee, sizeof(event));
	result = trace_parse_line(copy, length, &event, &error);
	if (result == TRACE_LINE_EVENT && event.name.length) {
		static char name[128];

		assert_true(event.name.start >= copy &&
			    event.name.start + event.name.length <= copy + length);
		trace_copy_text(name, sizeof(name), event.name);
		event.name.start = name; /* outlives the line */
	}
	free(copy);
	return result;
}

static enum trace_line parse(const char *line)
{
	return parse_bytes(line, strlen(line));
}

static void assert_name(const char *name)
{
	assert_int_equal(event.name.length, strlen(name));
	assert_memory_equal(event.name.start, name, strlen(name));
}

static void assert_bad(const char *line, size_t column, const char *expected)
{
	assert_int_equal(parse(line), TRACE_LINE_BAD);
	if (!strstr(error.expected, expected))
		fail_msg("expected '%s' in '%s' for: %s", expected, error.expected, line);
	if (column)
		assert_int_equal(error.column, column);
}

static void tracefs(void **state)
{
	(void)state;
	assert_int_equal(parse(TRACEFS "kmem_cache_alloc: " ALLOC_FIELDS), TRACE_LINE_EVENT);
	assert_int_equal(event.kind, TRACE_CACHE_ALLOC);
	assert_int_equal(event.cpu, 1);
	assert_true(event.ptr == 0xffff888115db4500);
	assert_int_equal(event.bytes_req, 5840);
	assert_int_equal(event.bytes_alloc, 5888);
	assert_int_equal(event.accounted, TRACE_ACCOUNTED_YES);
	assert_int_equal(event.gfp, __GFP_ZERO);
	assert_name("task_struct");

	assert_int_equal(parse(TRACEFS "kfree: call_site=f+0x1/0x2 ptr=0000000000000000"),
			 TRACE_LINE_EVENT);
	assert_int_equal(event.kind, TRACE_KFREE);
	assert_true(event.ptr == 0);
	assert_int_equal(event.name.length, 0);

	assert_int_equal(parse(TRACEFS "kmem_cache_free: call_site=f ptr=ffff888100000000 name=a"),
			 TRACE_LINE_EVENT);
	assert_int_equal(event.kind, TRACE_CACHE_FREE);
	assert_name("a");
}

static void trace_cmd_and_perf(void **state)
{
	static const char *const heads[] = {
		"            bash-15490 [003]   655.182140: kmem_cache_alloc:     ",
		"            bash-15490 [003] d..2.   655.182140123: kmem_cache_alloc:     (f+0x1) ",
		"bash-15490 [003] 655.182140: kmem_cache_alloc: [FAILED TO PARSE] ",
		"bash-15490 (  15490) [003] .... 655: kmem_cache_alloc: ",
		"bash-15490 (-----) [003] .... 655.1: kmem_cache_alloc: ",
		"            bash 15490 [003]   655.182140:     kmem:kmem_cache_alloc: ",
		"bash 15490/15491 [003]   655.182140: kmem:kmem_cache_alloc: (f+0x18a) ",
		"          :-1    -1 [003]   655.182140: kmem:kmem_cache_alloc: ",
		"                -15490   [003] .....   655.182140: kmem_cache_alloc: ", /* no name */
		"-15490 [003] 655.182140: kmem_cache_alloc: ",
		"bash-15490 [003] 655.182140: (+4)     kmem_cache_alloc:     ", /* --ts-diff */
		"bash-15490 [003]222397463955043: kmem_cache_alloc: ",
		"\tbash-15490\t[003]\t655.182140:\tkmem_cache_alloc:\t",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		char line[512];

		snprintf(line, sizeof(line), "%s%s", heads[i],
			 "call_site=copy_process+0x18a ptr=0xffff888115db4500 name=task_struct "
			 "bytes_req=5840 bytes_alloc=5888 gfp_flags=GFP_KERNEL|__GFP_ZERO");
		if (parse(line) != TRACE_LINE_EVENT)
			fail_msg("column %zu: expected %s in: %s", error.column, error.expected,
				 line);
		assert_int_equal(event.cpu, 3);
		assert_true(event.ptr == 0xffff888115db4500);
		assert_int_equal(event.bytes_req, 5840);
		assert_name("task_struct");
	}
}

static void every_kind(void **state)
{
	char line[512];

	(void)state;
	for (int kind = 0; kind < TRACE_NR_KINDS; kind++) {
		bool is_free = !trace_kind_is_alloc(kind);

		snprintf(line, sizeof(line), "%s%s: %s", TRACEFS, trace_kind_name(kind),
			 is_free ? "call_site=f ptr=12" : ALLOC_FIELDS);
		assert_int_equal(parse(line), TRACE_LINE_EVENT);
		assert_int_equal(event.kind, kind);
		assert_int_equal(is_free, strstr(trace_kind_name(kind), "free") != NULL);
		assert_int_equal(trace_kind_is_kmalloc(kind),
				 trace_kind_name(kind)[1] != 'm' ||
					 trace_kind_name(kind)[2] == 'a');
	}
}

static void fields_in_any_order_and_new_ones(void **state)
{
	(void)state;
	assert_int_equal(parse(TRACEFS "kmalloc: gfp_flags=GFP_ATOMIC new=thing (x) bytes_alloc=8 "
				       "ptr=0x10ab call_site=f+0x1/0x2 [module] bytes_req=0x7"),
			 TRACE_LINE_EVENT);
	assert_true(event.ptr == 0x10ab);
	assert_int_equal(event.bytes_req, 7);
	assert_int_equal(event.gfp, 0);
	/* the "fields" option of tracefs */
	assert_int_equal(
		parse(TRACEFS "kmem_cache_alloc: call_site=0xffffffff92d10d97 (-1831793257) "
			      "ptr=0xffff9e0e8571e000 (-107689771147264) bytes_req=0x168 (360) "
			      "bytes_alloc=0x180 (384) gfp_flags=0xdc0 (3520) node=0xffffffff (-1) "
			      "accounted=(0)"),
		TRACE_LINE_EVENT);
	assert_int_equal(event.bytes_req, 360);
	assert_int_equal(event.gfp, __GFP_ZERO);
}

static void null_in_words(void **state)
{
	static const char *const nulls[] = { "  (null)", "(nil)", "(null)", "0x0", "0" };
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(nulls) / sizeof(nulls[0]); i++) {
		snprintf(line, sizeof(line), "%skfree: call_site=c10bfa4a ptr=%s", TRACEFS,
			 nulls[i]);
		assert_int_equal(parse(line), TRACE_LINE_EVENT);
		assert_true(event.ptr == 0);
	}
}

static void gfp_flags(void **state)
{
	static const struct {
		const char *text;
		unsigned int gfp;
	} cases[] = {
		{ "none", 0 },
		{ "GFP_KERNEL", 0 },
		{ "GFP_KERNEL_ACCOUNT", __GFP_ACCOUNT },
		{ "GFP_NOFS|__GFP_ZERO|__GFP_NOFAIL|__GFP_ACCOUNT", __GFP_ZERO | __GFP_ACCOUNT },
		{ "GFP_KERNEL|GFP_ZERO|GFP_NOWARN", __GFP_ZERO },
		{ "__GFP_DMA|__GFP_RECLAIMABLE", __GFP_DMA | __GFP_RECLAIMABLE },
		{ "GFP_TEMPORARY", __GFP_RECLAIMABLE },
		{ "GFP_KERNEL|0x8000000", 0 },
		{ "3520", __GFP_ZERO },
		{ "0x400cc0", __GFP_ACCOUNT },
		{ "0xffffffffffffffff",
		  __GFP_ZERO | __GFP_ACCOUNT | __GFP_DMA | __GFP_RECLAIMABLE },
	};
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line),
			 TRACEFS
			 "kmalloc: call_site=f ptr=1 bytes_req=1 bytes_alloc=8 gfp_flags=%s",
			 cases[i].text);
		assert_int_equal(parse(line), TRACE_LINE_EVENT);
		assert_int_equal(event.gfp, cases[i].gfp);
	}
}

/* What stands for a task's name may hold anything, headers included. */
static void names_of_tasks(void **state)
{
	static const char *const names[] = {
		"Web Content",
		"my-task-7",
		"(sd-pam)",
		"<...>",
		"x [003] 1.5: y:",
		"a-1 [000] 1: x:",
		"[000]",
		"-",
		"a=b",
		"#!",
		"1-1 [1] 1.1: ",
		"\xff\xfe\x01",
		"p 1 [0] 1: k:",
	};
	char line[512];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(line, sizeof(line), "%16s-%-7d [042] .....     1.000001: kfree: %s",
			 names[i], 77, "call_site=f ptr=12");
		if (parse(line) != TRACE_LINE_EVENT)
			fail_msg("column %zu: expected %s in: %s", error.column, error.expected,
				 line);
		assert_int_equal(event.kind, TRACE_KFREE);
		assert_int_equal(event.cpu, 42);
		assert_true(event.ptr == 0x12);
	}
	/* perf gives kernel threads names of up to 63 bytes */
	snprintf(line, sizeof(line), "%s  77 [042] 1.000001: kmem:kfree: call_site=f ptr=12",
		 "kworker/u16:3-events_unbound_and_more");
	assert_int_equal(parse(line), TRACE_LINE_EVENT);
}

/* Text that a program writes into the trace cannot pass for an event. */
static void forged_events(void **state)
{
	(void)state;
	assert_int_equal(parse(TRACEFS
			       "tracing_mark_write: x-1 [000] 1.0: kfree: call_site=f ptr=12"),
			 TRACE_LINE_OTHER);
	assert_int_equal(parse(TRACEFS
			       "kmem_cache_free: call_site=f ptr=12 name=y-2 [1] 1.0: kfree:"),
			 TRACE_LINE_EVENT);
	assert_int_equal(event.kind, TRACE_CACHE_FREE);
	assert_int_equal(event.cpu, 1);
	assert_name("y-2 [1] 1.0: kfree:");
	assert_int_equal(parse("bash 1 [000] 1.0: other:kfree: call_site=f ptr=12"),
			 TRACE_LINE_OTHER);
}

static void lines_that_are_no_events(void **state)
{
	static const char *const nothing[] = {
		"",
		" \t ",
		"\r",
		"# tracer: nop",
		"# x-1 [000] 1.0: kfree: ptr=1",
		"##### CPU 1 buffer started ####",
		"cpus=8",
		"version = 6",
		"CPU 1 is empty",
		" => __kmalloc_node",
		"=> x",
		"\tffffffff8782660d kmem_cache_alloc+0xfd ([kernel.kallsyms])",
		"\t    7fd8de3ea365 __lxstat64+0x15 (/usr/lib64/libc-2.17.so)",
		TRACEFS "<stack trace>",
		TRACEFS "<user stack trace>",
	};
	static const char *const others[] = {
		TRACEFS "sched_wakeup: comm=x pid=1",
		TRACEFS "mm_page_alloc: page=1",
		TRACEFS "do_sys_open <-sys_open",
		TRACEFS "kmalloc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		if (parse(nothing[i]) != TRACE_LINE_NOTHING)
			fail_msg("this is something: %s", nothing[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(parse(others[i]), TRACE_LINE_OTHER);
}

static void lost_events(void **state)
{
	(void)state;
	assert_int_equal(parse("CPU:1 [LOST 123 EVENTS]"), TRACE_LINE_LOST);
	assert_int_equal(event.lost, 123);
	assert_int_equal(parse("CPU:12 [LOST EVENTS]"), TRACE_LINE_LOST);
	assert_int_equal(event.lost, 0);
	assert_int_equal(parse("CPU:7 [204600 EVENTS DROPPED]"), TRACE_LINE_LOST);
	assert_int_equal(event.lost, 204600);
	assert_bad("CPU:7 [204600 EVENTS]", 1, "an event of the kernel's");
	assert_bad("CPU:7 [LOST x EVENTS]", 1, "an event of the kernel's");
	/* perf script --show-lost-events */
	assert_int_equal(parse("perf  1234 [001]   123.456789: PERF_RECORD_LOST lost 34"),
			 TRACE_LINE_LOST);
	assert_int_equal(event.lost, 34);
	assert_int_equal(parse("PERF_RECORD_LOST_SAMPLES lost 7"), TRACE_LINE_LOST);
	assert_int_equal(event.lost, 7);
	assert_int_equal(parse("x 1 [001] 1.000000: PERF_RECORD_LOST lost x"), TRACE_LINE_OTHER);
	assert_int_equal(parse("x 1 [001] 1.000000: PERF_RECORD_EXIT(1:1):(1:1)"),
			 TRACE_LINE_OTHER);
}

/* The head of tracefs: what is still there of what was written. */
static void overwritten_events(void **state)
{
	static const char *const nothing[] = {
		"# entries-in-buffer/entries-written: 167591/167591   #P:2",
		"# entries-in-buffer/entries-written: 0/0   #P:2",
		"# entries-in-buffer/entries-written: 5/4   #P:2",
		"# entries-in-buffer/entries-written: 4/",
		"# entries-in-buffer/entries-written: /5",
		"# entries-in-buffer/entries-written: 4",
		"# entries-in-buffer/entries-written: 4/5x",
		"# entries-in-buffer/entries-written: ",
		"# entries-in-buffer/entries-written:",
	};

	(void)state;
	assert_int_equal(parse("# entries-in-buffer/entries-written: 113678/167591   #P:2"),
			 TRACE_LINE_OVERWRITTEN);
	assert_int_equal(event.lost, 53913);
	assert_int_equal(parse("# entries-in-buffer/entries-written: 0/7"), TRACE_LINE_OVERWRITTEN);
	assert_int_equal(event.lost, 7);
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		assert_int_equal(parse(nothing[i]), TRACE_LINE_NOTHING);
}

/* perf script -F +period */
static void periods(void **state)
{
	(void)state;
	assert_int_equal(
		parse("cc1  77/78 [003]   9.000001:          1 kmem:kmalloc: " ALLOC_FIELDS),
		TRACE_LINE_EVENT);
	assert_int_equal(event.kind, TRACE_KMALLOC);
	assert_int_equal(event.cpu, 3);
	assert_int_equal(event.bytes_req, 5840);
	assert_int_equal(parse("cc1  77 [003]   9.000001:     250000 cycles: ffffffff81 f+0x1"),
			 TRACE_LINE_OTHER);
	assert_int_equal(parse("cc1  77 [003]   9.000001:          1"), TRACE_LINE_OTHER);
}

/* Kernels before 6.1 do not say it. */
static void accounted(void **state)
{
	static const struct {
		const char *text;
		enum trace_accounted accounted;
	} v[] = { { " accounted=true", TRACE_ACCOUNTED_YES },
		  { " accounted=false", TRACE_ACCOUNTED_NO },
		  { " accounted=1", TRACE_ACCOUNTED_YES },
		  { " accounted=0", TRACE_ACCOUNTED_NO },
		  { " accounted=maybe", TRACE_ACCOUNTED_UNSAID },
		  { "", TRACE_ACCOUNTED_UNSAID } };
	char line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		snprintf(line, sizeof(line),
			 TRACEFS "kmalloc: call_site=f ptr=1 bytes_req=8 bytes_alloc=16 "
				 "gfp_flags=GFP_KERNEL%s",
			 v[i].text);
		assert_int_equal(parse(line), TRACE_LINE_EVENT);
		assert_int_equal(event.accounted, v[i].accounted);
		assert_int_equal(event.bytes_alloc, 16);
	}
}

static void lines_that_are_wrong(void **state)
{
	(void)state;
	assert_bad("root:x:0:0", 1, "an event of the kernel's");
	assert_bad("  bash-1 [000 1.0: kfree: ptr=1", 3, "an event of the kernel's");
	assert_bad("bash-x [000] 1.0: kfree: ptr=1", 1, "an event of the kernel's");
	assert_bad("bash-1[000] 1.0: kfree: ptr=1", 1, "an event of the kernel's");
	assert_bad("bash-1 [000000] 1.0: kfree: ptr=1", 1, "an event of the kernel's");
	assert_bad("bash-1 [000] 1.: kfree: ptr=1", 1, "an event of the kernel's");
	assert_bad("bash-1 [000] 1.0 kfree: ptr=1", 1, "an event of the kernel's");
	assert_bad(" 1 [000] 1.0: kfree: ptr=1", 2, "an event of the kernel's");
	assert_bad(TRACEFS, 0, "an event after the time");
	assert_bad("x-1 [0] 1.0: kfree: call_site=f ptr=", 37, "a pointer in hex");
	assert_bad("x-1 [0] 1.0: kfree: call_site=f ptr=0x", 37, "a pointer in hex");
	assert_bad("x-1 [0] 1.0: kfree: call_site=f ptr=12345678901234567", 37, "a pointer in hex");
	assert_bad("x-1 [0] 1.0: kfree: call_site=f ptr=(____ptrval____)", 37, "a pointer in hex");
	assert_bad("x-1 [0] 1.0: kfree: call_site=f ptr=12 34", 37, "a pointer in hex");
	assert_bad("x-1 [0] 1.0: kfree: call_site= ptr=12", 0, "a call site");
	assert_bad("x-1 [0] 1.0: kfree: ptr=12", 27, "field 'call_site=' of event kfree");
	assert_bad("x-1 [0] 1.0: kfree: 12", 21, "a field 'key=value'");
	assert_bad("x-1 [0] 1.0: kfree: call_site=f ptr=1 ptr=2", 39, "each field once");
	assert_bad("x-1 [0] 1.0: kmem_cache_free: call_site=f ptr=1 name=", 54, "a cache's name");
	assert_bad(TRACEFS "kmalloc: call_site=f ptr=1 bytes_req=1 bytes_alloc=8", 0,
		   "field 'gfp_flags=' of event kmalloc");
	assert_bad(TRACEFS "kmalloc: call_site=f ptr=1 bytes_req=99999999999999999999", 0,
		   "a number after 'bytes_req='");
	assert_bad(TRACEFS "kmalloc: call_site=f ptr=1 bytes_req=1 bytes_alloc=8 gfp_flags=GFP_|",
		   0, "flags joined by '|'");
	assert_bad(TRACEFS "kmalloc: call_site=f ptr=1 bytes_req=1 bytes_alloc=8 gfp_flags=0xg", 0,
		   "flags joined by '|'");
}

/* Every beginning of a line is either wrong, or no event. */
static void cut_lines(void **state)
{
	static const char line[] = TRACEFS "kmem_cache_alloc: " ALLOC_FIELDS;
	const char *complete = strstr(line, " node=");

	(void)state;
	for (size_t length = 0; length < (size_t)(strstr(line, "gfp_flags=") - line); length++)
		assert_int_not_equal(parse_bytes(line, length), TRACE_LINE_EVENT);
	/* node and accounted came late: without them it is a line of an older kernel */
	assert_int_equal(parse_bytes(line, (size_t)(complete - line)), TRACE_LINE_EVENT);
}

static void binary_text(void **state)
{
	static const char nul[] = TRACEFS "kfree: call_site=f\0g ptr=1\0002";
	static const char name[] = TRACEFS "kmem_cache_free: call_site=f ptr=12 name=a\0\xff b";

	(void)state;
	assert_int_equal(parse_bytes(nul, sizeof(nul) - 1), TRACE_LINE_BAD);
	assert_string_equal(error.found, "1?2");
	assert_int_equal(parse_bytes(name, sizeof(name) - 1), TRACE_LINE_EVENT);
	assert_int_equal(event.name.length, 5);
	assert_string_equal(event.name.start, "a?? b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tracefs),
		cmocka_unit_test(trace_cmd_and_perf),
		cmocka_unit_test(every_kind),
		cmocka_unit_test(fields_in_any_order_and_new_ones),
		cmocka_unit_test(null_in_words),
		cmocka_unit_test(gfp_flags),
		cmocka_unit_test(names_of_tasks),
		cmocka_unit_test(forged_events),
		cmocka_unit_test(lines_that_are_no_events),
		cmocka_unit_test(lost_events),
		cmocka_unit_test(overwritten_events),
		cmocka_unit_test(periods),
		cmocka_unit_test(accounted),
		cmocka_unit_test(lines_that_are_wrong),
		cmocka_unit_test(cut_lines),
		cmocka_unit_test(binary_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
