/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/options_test.c - one table of options: what is taken, what is refused, what is printed
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "options.h"
#include "process/source.h"
#include "util.h"

enum { OPTION_LONG = OPTION_OWN };

static const struct option_row rows[] = {
	ROW_PID,
	ROW_CORE,
	ROW_KERNEL,
	{ .help = "Others:" },
	{ 'm', "may", "[TEXT]", "with a value or without" },
	{ OPTION_LONG, "a-name-that-is-long", "VALUE",
	  "twenty words that are of no use but to be more than what a line of eighty columns has "
	  "room for" },
	{ 0 },
};

/* What was taken, as text. */
struct taken {
	struct source_options source;
	char text[128];
};

static int set(void *arg, int option, const char *value)
{
	struct taken *taken = arg;
	size_t used = strlen(taken->text);
	int status;

	if (source_take_option(&taken->source, option, value, &status))
		return status;
	snprintf(taken->text + used, sizeof(taken->text) - used, "%d=%s;", option,
		 value ? value : "-");
	return EXIT_OK;
}

static const struct option_table table = {
	.command = "test", .usage = "usage: it", .rows = rows, .notes = "The end.", .set = set
};

static int take(const struct option_table *t, struct taken *taken, int argc, char **argv)
{
	*taken = (struct taken){ .source.command = "test" };
	return options_take(t, taken, argc, argv);
}

#define TAKE(t, taken, ...)                                                               \
	take(t, taken, (int)(sizeof((char *[]){ "test", __VA_ARGS__ }) / sizeof(char *)), \
	     (char *[]){ "test", __VA_ARGS__, NULL })

static void test_taken(void **state)
{
	struct option_table stops = table;
	struct taken taken;
	char want[64];

	(void)state;
	assert_int_equal(TAKE(&table, &taken, "-p", "7", "--may", "rest"), -1);
	assert_int_equal(taken.source.pid, 7);
	assert_string_equal(taken.text, "109=-;");
	assert_int_equal(optind, 4);
	assert_int_equal(TAKE(&table, &taken, "-mx", "--may=y", "--a-name=z"), -1);
	snprintf(want, sizeof(want), "109=x;109=y;%d=z;", OPTION_LONG);
	assert_string_equal(taken.text, want);
	/* options behind an argument are options, but where the argument is a program */
	assert_int_equal(TAKE(&table, &taken, "rest", "-m"), -1);
	assert_string_equal(taken.text, "109=-;");
	stops.stops = true;
	assert_int_equal(TAKE(&stops, &taken, "rest", "-m"), -1);
	assert_string_equal(taken.text, "");
}

static void test_sources(void **state)
{
	struct taken taken;

	(void)state;
	assert_int_equal(TAKE(&table, &taken, "--core", "file"), -1);
	assert_int_equal(taken.source.kind, SOURCE_CORE);
	assert_string_equal(taken.source.core, "file");
	assert_int_equal(TAKE(&table, &taken, "--kernel"), -1);
	assert_int_equal(taken.source.kind, SOURCE_TREE);
	assert_null(taken.source.tree);
}

static void refused(void *arg)
{
	char **argv = arg;
	struct taken taken;
	int argc = 0;

	while (argv[argc])
		argc++;
	CHILD_CHECK(take(&table, &taken, argc, argv) == EXIT_USAGE);
}

static void test_refused(void **state)
{
	static const struct {
		const char *argv[5];
		const char *text;
	} cases[] = {
		{ { "test", "-x" }, "unknown option '-x'" },
		{ { "test", "--root", "x" }, "unknown or ambiguous option '--root'" },
		{ { "test", "-p" }, "option '-p' needs a value" },
		{ { "test", "-p", "x" }, "'x' is no process id" },
		{ { "test", "--kernel=x" }, "option '--kernel' takes no value" },
		{ { "test", "--kernel", "--core", "x" },
		  "one of --core, --kernel and --root only" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct child c = child_run(refused, (void *)cases[i].argv);

		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, cases[i].text));
		assert_non_null(strstr(c.text, "Try 'uslab test --help'."));
	}
}

static const char *number_name(unsigned int i)
{
	return i == 0 ? "one" : i == 1 ? "two" : NULL;
}

static void refuse_values(void *arg)
{
	unsigned long number = 7;

	(void)arg;
	CHILD_CHECK(options_choose("test", "number", "three", number_name) == -1);
	CHILD_CHECK(options_number("test", "--rounds", "5", 4, &number) == EXIT_USAGE);
	CHILD_CHECK(options_number("test", "--rounds", "0", 4, &number) == EXIT_USAGE);
	CHILD_CHECK(number == 7);
}

static void test_values(void **state)
{
	struct child c = child_run(refuse_values, NULL);
	unsigned long number = 0;

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "uslab test: no number 'three'; there are: one, two\n"));
	assert_non_null(strstr(c.text, "--rounds takes a number from 1 to 4, not '5'\n"));
	assert_int_equal(options_choose("test", "number", "two", number_name), 1);
	assert_int_equal(options_number("test", "--rounds", "4", 4, &number), EXIT_OK);
	assert_int_equal(number, 4);
}

static void list(void)
{
	puts("A list.");
}

static void print_help(void *arg)
{
	struct option_table with_list = table;
	struct taken taken;

	(void)arg;
	with_list.list = list;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	CHILD_CHECK(TAKE(&with_list, &taken, "--help") == EXIT_OK);
}

static void test_help(void **state)
{
	struct child c = child_run(print_help, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(
		c.text,
		"usage: it\n"
		"A list.\n"
		"\n"
		"  -p, --pid=PID     the process\n"
		"      --core=FILE   a core file in place of a process\n"
		"      --kernel      the running kernel, from /sys/kernel/slab (needs root)\n"
		"\n"
		"Others:\n"
		"  -m, --may[=TEXT]  with a value or without\n"
		"      --a-name-that-is-long=VALUE  twenty words that are of no use but to be\n"
		"                    more than what a line of eighty columns has room for\n"
		"  -h, --help        this text\n"
		"  -V, --version     the version\n"
		"\n"
		"The end.\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),	cmocka_unit_test(test_sources),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_help),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
