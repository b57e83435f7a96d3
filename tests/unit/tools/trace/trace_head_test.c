/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/trace/trace_head_test.c - what stands before the event: task, CPU and time
 */
#include "trace/trace_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct trace_head head;

static bool find(const char *line)
{
	return trace_head_find((struct trace_text){ line, strlen(line) }, &head);
}

static void times(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ " 655.182115", 655182115000 },
		{ " 655.182115123", 655182115123 },
		{ " 655.1821151239", 655182115123 },
		{ " 0.5", 500000000 },
		{ " 123456", 123456 },
		{ " 1", 1 },
		{ "222397463955043", 222397463955043 }, /* trace-cmd: no room for a blank */
		{ " .....222397463955043", 222397463955043 },
		{ " d..21222397463955043", 222397463955043 },
		{ "1.5", 1500000000 },
	};
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int flags = 0; flags < 2; flags++) {
			if (flags && cases[i].ns == 222397463955043)
				continue;
			snprintf(line, sizeof(line), "  a-1  [002]%s%s: kfree: x",
				 flags ? " ....." : "", cases[i].text);
			assert_true(find(line));
			assert_int_equal(head.time, cases[i].ns);
			assert_int_equal(head.cpu, 2);
			assert_int_equal(head.task, 1);
			assert_true(text_equals(head.rest, "kfree: x"));
		}
	}
}

/* trace-cmd with several instances: "%*s: %16s-%-5d [%03d]". */
static void instances(void **state)
{
	static const struct {
		const char *line;
		const char *instance;
	} cases[] = {
		{ "i1:               ls-11920 [001] 1.0: x", "i1" },
		{ " i1:               ls-11920 [001] 1.0: x", "i1" },
		{ "a long: name:  123456789012345-1     [001]1: x", "a long: name" },
		{ "i1:                 -1     [001] 1.0: x", "i1" },
		{ "                  ls-11920 [001] 1.0: x", "" },
		{ "                      ls-11920 [001] 1.0: x", "" },
		{ "    i1:           ls-11920 [001] 1.0: x",
		  "" }, /* all of it is the task's name */
		{ "i1: ls-11920 [001] 1.0: x", "" },
		{ "kworker/u16:3-77 [001] 1.0: x", "" },
		{ "i1:               ls 11920 [001] 1.0: x", "" }, /* perf */
		{ "             ls-11920   (  11920) [001] ..... 1.0: x", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(find(cases[i].line));
		if (!text_equals(head.instance, cases[i].instance))
			fail_msg("wanted '%s' in: %s", cases[i].instance, cases[i].line);
		assert_int_equal(head.cpu, 1);
	}
	/* what a program writes into the trace names no instance */
	assert_true(find("   a-1     [000] 1.0: mark: i1:               ls-2     [001] 1.0: x"));
	assert_int_equal(head.instance.length, 0);
	assert_int_equal(head.cpu, 0);
}

static void no_heads(void **state)
{
	static const char *const lines[] = {
		"",
		"a-1",
		"a-1 [002]",
		"a-1 [002]:",
		"a-1 [] 1.0:",
		"a-1 [2 1.0: x",
		"a-1[002] 1.0: x",
		"a-1 [002]x1.0: x",
		"a-1 [2] 1.: x",
		"a [2] 1.0: x",
		"a-1 [123456] 1: x",
		"a-1 [2] ....12x: y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (find(lines[i]))
			fail_msg("this is none: %s", lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(instances),
		cmocka_unit_test(no_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
