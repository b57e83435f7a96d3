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

static struct fs_names names;

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
	const struct fs_entry *entry = fs_names_find(&names, name);

	assert_non_null(entry);
	assert_string_equal(entry->name, name);
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
	assert_null(fs_names_find(&names, "fourth"));
	assert_null(fs_names_find(&names, ""));
	assert_string_equal(fs_names_folder(&names, 1), ":0000064");
	assert_string_equal(fs_names_folder(&names, 0), "plain");
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
	expect("slob", 3, false);
	expect("slob~4", 4, false);
	assert_string_equal(fs_names_folder(&names, 1), ":0000064~201");
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
	assert_int_equal(strlen(fs_names_folder(&names, 5)), 63 + 5);
	assert_null(fs_names_find(&names, "a/b/c"));
}

static void test_whole_pages(void **state)
{
	(void)state;
	fixture_add("plain", "");
	fixture_add("free-pages", "")->id = 0;
	fs_names_make(&names, fixture_s);
	assert_int_equal(names.count, 1);
	assert_null(fs_names_find(&names, "free-pages"));
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
		expect(fs_names_folder(&names, i), i, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain_and_merged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_aliases_without_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_that_are_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whole_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
