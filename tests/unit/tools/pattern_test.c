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
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
