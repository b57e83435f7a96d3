/* SPDX-License-Identifier: MIT */
/*
 * unit/os/process/env_test.c - pairs and sizes from the environment
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "child.h"
#include "os/process/env.h"

#define NAME "USLAB_ENV_TEST"

static char seen[4096];

/* Notes each pair as [key|value]; refuses keys that start with '!'. */
static bool note(const char *key, const char *value, void *arg)
{
	size_t len = strlen(seen);

	CHILD_CHECK(arg == &seen);
	snprintf(seen + len, sizeof(seen) - len, "[%s|%s]", key, value);
	return key[0] != '!';
}

static void run_pairs(void *expected)
{
	seen[0] = '\0';
	os_env_pairs(NAME, &(struct os_env_reader){ note, NULL, &seen });
	CHILD_CHECK(strcmp(seen, expected) == 0);
}

/* Sets the variable to text; checks the pairs seen and the lines on stderr. */
static void check_pairs(const char *text, const char *expected, const char *said)
{
	struct child c;

	if (text)
		setenv(NAME, text, 1);
	else
		unsetenv(NAME);
	c = child_run(run_pairs, (void *)expected);
	assert_true(child_passed(&c));
	assert_string_equal(c.text, said);
}

static void test_env(void **state)
{
	(void)state;
	unsetenv(NAME);
	assert_null(os_env(NAME));
	setenv(NAME, "text", 1);
	assert_string_equal(os_env(NAME), "text");
}

static void test_pairs(void **state)
{
	(void)state;
	check_pairs(NULL, "", "");
	check_pairs("", "", "");
	check_pairs("a=1", "[a|1]", "");
	check_pairs("a=1,b=two,c", "[a|1][b|two][c|]", "");
	check_pairs("a=,=b,a==", "[a|][|b][a|=]", "");
	check_pairs(",,a=1,,", "[a|1]", "");
	check_pairs("a=x y/z;-", "[a|x y/z;-]", "");
}

static void test_refused(void **state)
{
	(void)state;
	check_pairs("a=1,!b=2,c=3", "[a|1][!b|2][c|3]", "uslab: " NAME ": ignored \"!b=2\"\n");
	check_pairs("!x", "[!x|]", "uslab: " NAME ": ignored \"!x\"\n");
}

static void explain(char why[OS_ENV_WHY_BYTES], const char *key, const char *value)
{
	snprintf(why, OS_ENV_WHY_BYTES, "%s is not %s", key, value);
}

static void run_explained(void *arg)
{
	seen[0] = '\0';
	os_env_pairs(NAME, &(struct os_env_reader){ note, explain, arg });
}

static void test_explained(void **state)
{
	struct child c;

	(void)state;
	setenv(NAME, "a=1,!b=2,!c", 1);
	c = child_run(run_explained, &seen);
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: " NAME ": ignored \"!b=2\": !b is not 2\n"
				    "uslab: " NAME ": ignored \"!c\": !c is not \n");
}

#define TOO_LONG ": keys and values have at most 127 bytes\n"

static void test_too_long(void **state)
{
	char x[600];
	char text[1024];
	char expected[1024];
	char said[1024];

	(void)state;
	memset(x, 'x', sizeof(x));
	/* 127 bytes fit, on both sides */
	snprintf(text, sizeof(text), "%.127s=%.127s", x, x);
	snprintf(expected, sizeof(expected), "[%.127s|%.127s]", x, x);
	check_pairs(text, expected, "");
	/* 128 do not; the pairs around are seen */
	snprintf(text, sizeof(text), "a=1,b=%.128s,c=3", x);
	snprintf(said, sizeof(said), "uslab: " NAME ": ignored \"b=%.128s\"" TOO_LONG, x);
	check_pairs(text, "[a|1][c|3]", said);
	snprintf(text, sizeof(text), "%.128s=1", x);
	snprintf(said, sizeof(said), "uslab: " NAME ": ignored \"%.128s=1\"" TOO_LONG, x);
	check_pairs(text, "", said);
	/* a very long one is shown cut */
	snprintf(text, sizeof(text), "a=%.598s", x);
	snprintf(said, sizeof(said), "uslab: " NAME ": ignored \"a=%.253s\"..." TOO_LONG, x);
	check_pairs(text, "", said);
}

static void test_sizes(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "64", 64 },
		{ "16k", 16384 },
		{ "16K", 16384 },
		{ "1M", 1ul << 20 },
		{ "3m", 3ul << 20 },
		{ "2g", 2ul << 30 },
		{ "2G", 2ul << 30 },
		{ "1t", 1ul << 40 },
		{ "3T", 3ul << 40 },
		{ "18446744073709551615", SIZE_MAX },
		{ "18014398509481983k", SIZE_MAX - 1023 },
		{ "007", 7 },
	};
	static const char *const bad[] = { "",
					   "k",
					   "-1",
					   "+1",
					   " 1",
					   "1 ",
					   "1kb",
					   "1.5k",
					   "0x10",
					   "1p",
					   "k1",
					   "18446744073709551616",
					   "18014398509481984k",
					   "17179869184g",
					   "16777216T",
					   "99999999999999999999999" };
	size_t bytes;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bytes = 1;
		assert_true(os_parse_size(good[i].text, &bytes));
		assert_true(bytes == good[i].bytes);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bytes = 12345;
		assert_false(os_parse_size(bad[i], &bytes));
		assert_int_equal(bytes, 12345);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env),	 cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_explained),
		cmocka_unit_test(test_too_long), cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
