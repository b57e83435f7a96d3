/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/fs/fs_names_test.c - names of folders and links for made-up caches
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fs/fs.h"
#include "unit/tools/fs_fixture.h"

static struct distinct names;

static int setup(void **state)
{
	(void)state;
	return fixture_init();
}

static int teardown(void **state)
{
	(void)state;
	fixture_exit();
	return 0;
}

static void expect(const char *name, unsigned int cache, bool is_link)
{
	const struct distinct_name *entry = distinct_find(&names, name);

	assert_non_null(entry);
	assert_string_equal(entry->text, name);
	assert_int_equal(entry->cache, cache);
	assert_int_equal(entry->is_link, is_link);
}

static void test_plain_and_merged(void **state)
{
	(void)state;
	fixture_add("plain", "");
	fixture_add("first", ":0000064");
	fixture_alias("second");
	fixture_alias("third");
	fs_names_make(&names, fixture_s);
	assert_int_equal(names.count, 5);
	expect("plain", 0, false);
	expect(":0000064", 1, false);
	expect("first", 1, true);
	expect("second", 1, true);
	expect("third", 1, true);
	assert_null(distinct_find(&names, "fourth"));
	assert_null(distinct_find(&names, ""));
	assert_string_equal(distinct_own(&names, 1), ":0000064");
	assert_string_equal(distinct_own(&names, 0), "plain");
}

/* A merged cache that is debugged has no id any more; its other names still lead to it. */
static void test_aliases_without_id(void **state)
{
	(void)state;
	fixture_add("first", "");
	fixture_alias("second");
	fs_names_make(&names, fixture_s);
	expect("first", 0, false);
	expect("second", 0, true);
	assert_int_equal(names.count, 2);
}

/* The same id with another engine; a name that is a folder already; heaps have no number. */
static void test_names_twice(void **state)
{
	(void)state;
	fixture_add("a", ":0000064")->id = 200;
	fixture_add("b", ":0000064")->id = 201;
	fixture_add("b", "")->id = 202;
	fixture_add("slob", "")->id = 203;
	fixture_heap("slob");
	fs_names_make(&names, fixture_s);
	expect(":0000064", 0, false);
	expect(":0000064~201", 1, false);
	expect("a", 0, true);
	expect("b", 2, false);
	expect("b~201", 1, true);
	expect("slob~203", 3, false);
	expect("slob", 4, false);
	assert_string_equal(distinct_own(&names, 1), ":0000064~201");
}

static void test_names_that_are_no_names(void **state)
{
	char longest[SNAPSHOT_NAME_MAX];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	fixture_add("a/b/c", "")->id = 200;
	fixture_add("", "")->id = 201;
	fixture_add(".", "")->id = 202;
	fixture_add("..", "")->id = 203;
	fixture_add(longest, "")->id = 204;
	fixture_add(longest, "")->id = 2047;
	fs_names_make(&names, fixture_s);
	expect("a!b!c", 0, false);
	expect("~201", 1, false);
	expect(".~202", 2, false);
	expect("..~203", 3, false);
	expect(longest, 4, false);
	assert_int_equal(strlen(distinct_own(&names, 5)), 63 + 5);
	assert_null(distinct_find(&names, "a/b/c"));
}

/* One that looks like a name that was made so; the same name again and again. */
static void test_names_that_were_made(void **state)
{
	(void)state;
	fixture_add("dup", "")->id = 200;
	fixture_add("dup", "")->id = 201;
	fixture_add("dup~201", "")->id = 202;
	fixture_add("first", ":0000064")->id = 203;
	fixture_alias("again");
	fixture_alias("again");
	fixture_alias("again");
	fs_names_make(&names, fixture_s);
	expect("dup", 0, false);
	expect("dup~201~2", 1, false);
	expect("dup~201", 2, false);
	expect("again", 3, true);
	expect("again~203", 3, true);
	expect("again~203~2", 3, true);
	assert_int_equal(names.count, 8);
}

/* First words of the lines of slabinfo: one for each cache, whatever its name is. */
static void test_words(void **state)
{
	(void)state;
	fixture_add("with two blanks", ":0000064")->id = 200;
	fixture_alias("another");
	fixture_add("with?two blanks", "")->id = 201;
	fixture_add("", "")->id = 202;
	fixture_add("a/b", "")->id = 203;
	fixture_add(" ", "")->id = 204;
	fixture_add("free-pages", "")->id = 0;
	fs_names_words(&names, fixture_s);
	assert_int_equal(names.count, 5);
	assert_string_equal(distinct_own(&names, 0), "with?two?blanks");
	assert_string_equal(distinct_own(&names, 1), "with?two?blanks~201");
	assert_string_equal(distinct_own(&names, 2), "~202");
	assert_string_equal(distinct_own(&names, 3), "a/b");
	assert_string_equal(distinct_own(&names, 4), "?");
	expect("a/b", 3, false);
}

static void test_whole_pages(void **state)
{
	(void)state;
	fixture_add("plain", "");
	fixture_add("free-pages", "")->id = 0;
	fs_names_make(&names, fixture_s);
	assert_int_equal(names.count, 1);
	assert_null(distinct_find(&names, "free-pages"));
}

/* As many as there can be. */
static void test_many(void **state)
{
	char name[32];

	(void)state;
	while (fixture_s->nr_caches < SNAPSHOT_MAX_CACHES) {
		snprintf(name, sizeof(name), "cache-%u", fixture_s->nr_caches);
		fixture_add(name, ":0000064");
	}
	while (fixture_s->nr_aliases < SNAPSHOT_MAX_ALIASES)
		fixture_alias("alias");
	fs_names_make(&names, fixture_s);
	assert_int_equal(names.count, FS_MAX_ENTRIES);
	for (unsigned int i = 0; i < SNAPSHOT_MAX_CACHES; i++)
		expect(distinct_own(&names, i), i, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain_and_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_aliases_without_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_that_are_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_that_were_made, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whole_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
