/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/pattern_test.c - caches by name, id and alias
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pattern.h"

static void test_patterns(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct snapshot_cache *c;

	(void)state;
	assert_non_null(s);
	c = &s->cache[0];
	s->nr_caches = 2;
	c->id = 192;
	c->refcount = 2;
	c->nr_aliases = 1;
	strcpy(c->name, "malloc-64");
	strcpy(c->unique_id, ":0000064");
	strcpy(s->alias[0], "other");
	assert_true(pattern_matches(s, c, "malloc-64"));
	assert_true(pattern_matches(s, c, "*-?4"));
	assert_true(pattern_matches(s, c, ":*64"));
	assert_true(pattern_matches(s, c, "oth*"));
	assert_false(pattern_matches(s, c, "malloc-6"));
	assert_false(pattern_matches(s, c, "*0000064")); /* ids only where asked for */
	assert_true(pattern_matches(s, c, "m*a*l*c*6**"));
	assert_true(pattern_matches(s, c, "*4"));
	assert_false(pattern_matches(s, c, "m*a*l*c*6?*?"));
	assert_false(pattern_matches(s, c, "malloc-64?"));
	assert_false(pattern_matches(s, c, ""));
	strcpy(s->cache[1].name, "free-pages"); /* no cache */
	s->cache[1].refcount = 1;
	assert_false(pattern_matches(s, &s->cache[1], "*"));
	free(s);
}

/* Rows that commands are not for say why, and whole pages have one name. */
static void test_no_caches(void **state)
{
	static const struct {
		const char *name, *engine;
		bool whole_pages;
		const char *why;
	} rows[] = {
		{ "malloc-large", "", true, "" },
		{ "malloc-mapped", "", true,
		  "malloc-mapped are blocks of whole pages, which go by the name malloc-large" },
		{ "slob-heap", "slob", false,
		  "slob-heap is no cache, but the heap that caches of slob share" },
		{ "free-pages", "", false, "free-pages is no cache" },
	};
	struct snapshot *s = calloc(1, sizeof(*s));
	char why[PATTERN_WHY];

	(void)state;
	assert_non_null(s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(s->cache[i].name, rows[i].name);
		strcpy(s->cache[i].engine, rows[i].engine);
		s->cache[i].whole_pages = rows[i].whole_pages;
		s->nr_caches++;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(pattern_why_not(why, s, &s->cache[i]), rows[i].why);
	assert_ptr_equal(pattern_no_cache(s, "*-mapped"), &s->cache[1]);
	assert_ptr_equal(pattern_no_cache(s, "free-pages"), &s->cache[3]);
	assert_null(pattern_no_cache(s, "malloc-large"));
	assert_null(pattern_no_cache(s, "malloc-64"));
	free(s);
}

static void test_same(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct snapshot_cache other = { .id = 192, .name = "b" };

	(void)state;
	assert_non_null(s);
	s->nr_caches = 1;
	s->cache[0].id = 192;
	strcpy(s->cache[0].name, "a");
	assert_null(pattern_same(s, &other));
	other.name[0] = 'a';
	assert_ptr_equal(pattern_same(s, &other), &s->cache[0]);
	other.id = 193;
	assert_null(pattern_same(s, &other));
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_no_caches),
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
