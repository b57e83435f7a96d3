/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/info/info_rows_test.c - filters, names and order of a made-up snapshot
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "info/info.h"

static struct snapshot *s;
static struct info_row rows[SNAPSHOT_MAX_CACHES];
static struct info_alias aliases[64];

static struct snapshot_cache *add(const char *name, const char *id, unsigned long slabs)
{
	struct snapshot_cache *c = &s->cache[s->nr_caches++];

	c->id = s->nr_caches;
	strcpy(c->name, name);
	strcpy(c->unique_id, id);
	c->refcount = 1;
	c->slabs = slabs;
	c->slab_bytes = slabs * 4096;
	c->first_alias = s->nr_aliases;
	return c;
}

/* One more name for the cache that was added last. */
static void add_alias(const char *name)
{
	struct snapshot_cache *c = &s->cache[s->nr_caches - 1];

	/* newest first, as the library keeps them */
	memmove(s->alias[c->first_alias + 1], s->alias[c->first_alias],
		c->nr_aliases * sizeof(s->alias[0]));
	strcpy(s->alias[c->first_alias], name);
	c->nr_aliases++;
	c->refcount++;
	s->nr_aliases++;
}

static int setup(void **state)
{
	(void)state;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -1;
	add("delta", "", 4);
	add("Alpha", ":0000064", 1);
	add("beta", ":0000128", 3)->flags = SLAB_RECLAIM_ACCOUNT;
	add_alias("gamma-the-longest");
	add_alias("kmall-x");
	add_alias("zeta");
	add("empty", "", 0);
	add("twin", "", 4);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(s);
	return 0;
}

static struct info_options defaults(void)
{
	return (struct info_options){ .lines = ULONG_MAX };
}

/* Names of the rows, with a blank after each. */
static const char *list(const struct info_options *options)
{
	static char text[256];
	unsigned int count = info_rows(s, options, rows);

	text[0] = '\0';
	for (unsigned int i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", rows[i].name);
	return text;
}

static void check_pattern(struct info_options options, const char *pattern, const char *expected)
{
	regex_t compiled;

	assert_int_equal(regcomp(&compiled, pattern, REG_ICASE | REG_NOSUB), 0);
	options.pattern = &compiled;
	assert_string_equal(list(&options), expected);
	regfree(&compiled);
}

static void test_names(void **state)
{
	struct info_options options = defaults();

	(void)state;
	assert_string_equal(list(&options), ":0000128 Alpha delta twin ");
	options.first_alias = true; /* "kmall" beats the longest */
	assert_string_equal(list(&options), "Alpha delta kmall-x twin ");
	check_pattern(options, "a", "Alpha delta kmall-x ");
	check_pattern(options, "ta$", "beta delta ");
}

static void test_pattern(void **state)
{
	struct info_options options = defaults();

	(void)state;
	check_pattern(options, "ALPHA", "Alpha ");
	check_pattern(options, "zeta", "zeta ");
	check_pattern(options, "eta", ":0000128 ");
	check_pattern(options, "^:", "");
	check_pattern(options, "0000", ""); /* ids are not what is matched */
}

static void test_filters(void **state)
{
	struct info_options options = defaults();

	(void)state;
	options.with_empty = true;
	assert_string_equal(list(&options), ":0000128 Alpha delta empty twin ");
	options.unreclaimable = true;
	assert_string_equal(list(&options), "Alpha delta empty twin ");
	options.only_empty = true;
	assert_string_equal(list(&options), "empty ");
	options.with_empty = false;
	assert_string_equal(list(&options), "empty ");
}

static void test_order(void **state)
{
	struct info_options options = defaults();

	(void)state;
	options.inverted = true;
	assert_string_equal(list(&options), "twin delta Alpha :0000128 ");
	options.inverted = false;
	options.order = INFO_BY_SIZE; /* equal ones by name */
	assert_string_equal(list(&options), "delta twin :0000128 Alpha ");
	options.inverted = true;
	assert_string_equal(list(&options), "Alpha :0000128 twin delta ");
	options.inverted = false;
	s->cache[1].partial = 9;
	options.order = INFO_BY_PARTIAL;
	assert_string_equal(list(&options), "Alpha :0000128 delta twin ");
	s->cache[4].objects = 2;
	s->cache[4].object_size = 4096;
	s->cache[4].object_bytes = 2 * 4096;
	options.order = INFO_BY_LOSS;
	assert_string_equal(list(&options), "delta :0000128 twin Alpha ");
	s->cache[2].stat[FREE_SLOWPATH] = 1;
	s->cache[4].stat[ALLOC_FASTPATH] = 2;
	s->cache[0].stat[ALLOC_SLAB] = 1000; /* no part of the activity */
	options.order = INFO_BY_ACTIVITY;
	assert_string_equal(list(&options), "twin :0000128 Alpha delta ");
}

static void test_lines(void **state)
{
	struct info_options options = defaults();

	(void)state;
	options.lines = 2;
	assert_string_equal(list(&options), ":0000128 Alpha ");
	options.lines = 1;
	options.order = INFO_BY_SIZE;
	assert_string_equal(list(&options), "delta ");
}

static const char *list_aliases(const struct info_options *options)
{
	static char text[256];
	unsigned int count = info_aliases(s, options, aliases);

	text[0] = '\0';
	for (unsigned int i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s>%s ",
			 aliases[i].name, aliases[i].target);
	return text;
}

static void test_aliases(void **state)
{
	struct info_options options = defaults();
	regex_t compiled;

	(void)state;
	add("Cat", ":0000032", 1);
	add_alias("animal");
	assert_string_equal(list_aliases(&options),
			    "animal>:0000032 Cat>:0000032 beta>:0000128 "
			    "gamma-the-longest>:0000128 kmall-x>:0000128 zeta>:0000128 ");
	options.inverted = true;
	assert_string_equal(list_aliases(&options),
			    "animal>:0000032 beta>:0000128 Cat>:0000032 "
			    "gamma-the-longest>:0000128 kmall-x>:0000128 zeta>:0000128 ");
	options.inverted = false;
	regcomp(&compiled, "^[az]", REG_ICASE | REG_NOSUB);
	options.pattern = &compiled;
	assert_string_equal(list_aliases(&options), "");
	assert_int_equal(info_count_aliases(s, &s->cache[s->nr_caches - 1], &options), 1);
	options.single_refs = true;
	assert_string_equal(list_aliases(&options),
			    "animal>:0000032 Alpha>:0000064 zeta>:0000128 ");
	regfree(&compiled);
}

/* Links to a folder that is named by no id, and an id that nobody links to: trees can have both. */
static void test_odd_trees(void **state)
{
	struct info_options options = defaults();

	(void)state;
	add("real", "", 1);
	add_alias("link");
	add("", ":0000256", 1);
	assert_int_equal(info_count_aliases(s, &s->cache[s->nr_caches - 2], &options), 1);
	assert_int_equal(info_count_aliases(s, &s->cache[s->nr_caches - 1], &options), 0);
	assert_string_equal(list(&options), ":0000128 Alpha delta real twin ");
	options.single_refs = true;
	assert_string_equal(list_aliases(&options),
			    "Alpha>:0000064 beta>:0000128 gamma-the-longest>:0000128 "
			    "kmall-x>:0000128 zeta>:0000128 link>real ");
}

static void test_only_row(void **state)
{
	struct info_options options = defaults();
	struct info_row row;
	regex_t compiled;

	(void)state;
	assert_false(info_only_row(s, &options, &row));
	options.pattern = &compiled;
	regcomp(&compiled, "emp", REG_ICASE | REG_NOSUB); /* though it would not be listed */
	assert_true(info_only_row(s, &options, &row));
	assert_string_equal(row.name, "empty");
	options.unreclaimable = true; /* but this keeps it out */
	assert_true(info_only_row(s, &options, &row));
	s->cache[row.cache - s->cache].flags |= SLAB_RECLAIM_ACCOUNT;
	assert_false(info_only_row(s, &options, &row));
	options.unreclaimable = false;
	regfree(&compiled);
	regcomp(&compiled, "ZETA", REG_ICASE | REG_NOSUB);
	assert_true(info_only_row(s, &options, &row));
	assert_string_equal(row.name, "zeta");
	regfree(&compiled);
	regcomp(&compiled, "a", REG_ICASE | REG_NOSUB);
	assert_false(info_only_row(s, &options, &row));
	regfree(&compiled);
	regcomp(&compiled, "twin", REG_ICASE | REG_NOSUB);
	s->cache[4].id = 0; /* as rows for whole pages have it */
	assert_false(info_only_row(s, &options, &row));
	options.only_caches = true;
	assert_int_equal(info_rows(s, &options, rows), 0);
	regfree(&compiled);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names), TEST(test_pattern), TEST(test_filters),   TEST(test_order),
		TEST(test_lines), TEST(test_aliases), TEST(test_odd_trees), TEST(test_only_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
