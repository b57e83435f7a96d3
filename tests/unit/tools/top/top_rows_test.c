/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/top/top_rows_test.c - rows of `uslab top`: growth over samples, orders, filter, texts
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "top/top.h"

struct fixture {
	struct snapshot *s;
	struct top top;
};

static struct fixture *fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->s = calloc(1, sizeof(*f->s));
	f->top.table = calloc(1, sizeof(*f->top.table));
	return f;
}

static void fixture_free(struct fixture *f)
{
	free(f->top.table);
	free(f->s);
	free(f);
}

static void add_cache(struct fixture *f, const char *name, unsigned int size, unsigned long objects,
		      unsigned long slab_bytes)
{
	struct snapshot_cache *c = &f->s->cache[f->s->nr_caches++];

	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->id = f->s->nr_caches;
	c->object_size = size;
	c->objects = objects;
	c->object_bytes = objects * size;
	c->slab_bytes = slab_bytes;
	c->slabs = slab_bytes / 4096;
	c->refcount = 1;
}

static void sample(struct fixture *f, double time)
{
	top_add_sample(f->top.table, f->s, time);
	top_make_rows(f->top.table, f->s, &f->top);
}

static const struct top_row *row(const struct fixture *f, const char *name)
{
	const struct top_row *found = &f->top.table->row[top_find_row(f->top.table, name)];

	assert_string_equal(found->cache->name, name);
	return found;
}

static void three_caches(struct fixture *f)
{
	add_cache(f, "many", 16, 1000, 20480);
	add_cache(f, "large", 4096, 10, 81920);
	add_cache(f, "Little", 64, 3, 4096);
	add_cache(f, "empty", 64, 0, 0);
}

static void test_orders(void **state)
{
	static const struct {
		enum top_order order;
		const char *names[3];
	} orders[] = {
		{ TOP_BY_BYTES, { "large", "many", "Little" } },
		{ TOP_BY_OBJECTS, { "many", "large", "Little" } },
		{ TOP_BY_WASTE, { "large", "many", "Little" } },
		{ TOP_BY_NAME, { "large", "Little", "many" } },
	};
	struct fixture *f = fixture_new();

	(void)state;
	three_caches(f);
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		for (int inverted = 0; inverted < 2; inverted++) {
			f->top.order = orders[i].order;
			f->top.inverted = inverted;
			sample(f, (double)i);
			assert_int_equal(f->top.table->count, 3);
			for (int k = 0; k < 3; k++)
				assert_string_equal(f->top.table->row[k].cache->name,
						    orders[i].names[inverted ? 2 - k : k]);
		}
	fixture_free(f);
}

static void test_filter_and_empty(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	three_caches(f);
	strcpy(f->top.filter, "L");
	sample(f, 0);
	assert_int_equal(f->top.table->count, 2); /* large and Little */
	strcpy(f->top.filter, "");
	f->top.empty_too = true;
	sample(f, 1);
	assert_int_equal(f->top.table->count, 4);
	fixture_free(f);
}

/* What keys act on is what is shown, whatever the cursor was moved to before. */
static void test_current(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	three_caches(f);
	sample(f, 0);
	assert_string_equal(top_current(&f->top)->cache->name, "large"); /* not moved yet */
	top_select(&f->top, row(f, "many"));
	assert_string_equal(top_current(&f->top)->cache->name, "many");
	strcpy(f->top.filter, "little");
	sample(f, 1);
	assert_string_equal(top_current(&f->top)->cache->name, "Little");
	f->top.filter[0] = '\0';
	sample(f, 2);
	assert_string_equal(top_current(&f->top)->cache->name, "many");
	strcpy(f->top.filter, "nothing");
	sample(f, 3);
	assert_null(top_current(&f->top));
	fixture_free(f);
}

static void test_growth(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	add_cache(f, "grows", 100, 0, 4096);
	add_cache(f, "shrinks", 100, 100000, 4096);
	for (int i = 0; i <= 2 * TOP_SAMPLES; i++) { /* the ring goes round */
		f->s->cache[0].object_bytes = (unsigned long)i * 500;
		f->s->cache[1].object_bytes = 10000000 - (unsigned long)i * 1000;
		sample(f, i * 0.5);
	}
	assert_true(row(f, "grows")->growth > 999.9 && row(f, "grows")->growth < 1000.1);
	assert_true(row(f, "shrinks")->growth < -1999.9);
	f->top.order = TOP_BY_GROWTH;
	sample(f, 1000);
	assert_string_equal(f->top.table->row[0].cache->name, "grows");
	fixture_free(f);
}

/* What grew once is still after three intervals. */
static void test_growth_decays(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	add_cache(f, "grew", 100, 0, 4096);
	for (int i = 0; i < 20; i++) {
		f->s->cache[0].object_bytes = i < 10 ? 0 : 300000;
		sample(f, i);
		if (!i)
			assert_true(isnan(row(f, "grew")->growth));
		else if (i < 10 || i > 12)
			assert_true(row(f, "grew")->growth == 0);
		else
			assert_true(row(f, "grew")->growth == 100000);
	}
	fixture_free(f);
}

/* A cache of the same name but another number is another cache. */
static void test_new_cache_has_no_past(void **state)
{
	struct fixture *f = fixture_new();

	(void)state;
	add_cache(f, "one", 100, 10, 4096);
	sample(f, 0);
	f->s->cache[0].object_bytes = 50000;
	f->s->cache[0].id = 77;
	sample(f, 1);
	assert_true(isnan(row(f, "one")->growth));
	fixture_free(f);
}

static void test_growth_text(void **state)
{
	static const struct {
		double value;
		const char *text;
	} texts[] = { { 0, "0" },      { NAN, "-" },	   { 0.4, "0" },	  { -0.4, "0" },
		      { 12, "+12/s" }, { -900, "-900/s" }, { 1234567, "+1.2M/s" } };
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		top_growth_text(buf, sizeof(buf), texts[i].value);
		assert_string_equal(buf, texts[i].text);
	}
}

static void test_spark(void **state)
{
	struct fixture *f = fixture_new();
	char buf[4 * TOP_SAMPLES + 8];

	(void)state;
	add_cache(f, "c", 1, 0, 4096);
	for (int i = 0; i < 8; i++) {
		f->s->cache[0].object_bytes = 7000 + (unsigned long)i * 10;
		sample(f, i);
	}
	top_spark(buf, sizeof(buf), row(f, "c")->history, TOP_SAMPLES, false);
	assert_string_equal(buf, "_.:-=+*#");
	top_spark(buf, sizeof(buf), row(f, "c")->history, 3, false);
	assert_string_equal(buf, "_=#"); /* of the last three */
	top_spark(buf, sizeof(buf), row(f, "c")->history, TOP_SAMPLES, true);
	assert_string_equal(buf, "▁▂▃▄▅▆▇█");
	top_spark(buf, 6, row(f, "c")->history, TOP_SAMPLES, false); /* no room */
	assert_true(strlen(buf) < 6);
	fixture_free(f);
}

static void test_texts(void **state)
{
	struct fixture *f = fixture_new();
	char title[256], text[512];

	(void)state;
	strcpy(f->top.source.title, "python3 (12)");
	three_caches(f);
	f->top.interval = 0.5;
	sample(f, 0);
	top_summary_text(&f->top, title, sizeof(title), text, sizeof(text));
	assert_string_equal(title, "python3 (12) - 3 caches by space, every 0.5 s");
	assert_string_equal(text, "1013 objects, 57.1K held of 106.4K (49.3K waste)");
	fixture_free(f);
}

/* Objects in a heap's pages are in the sums once: what is held and the waste make the space. */
static void test_sums_of_heaps(void **state)
{
	struct fixture *f = fixture_new();
	char title[256], text[512];

	(void)state;
	add_cache(f, "small", 16, 1000, 0);
	add_cache(f, "large", 512, 100, 0);
	add_cache(f, "slob-heap", 61, 0, 81920);
	add_cache(f, "other", 64, 3, 4096);
	f->s->cache[2].id = 0;
	f->s->cache[2].object_bytes = 67100;
	for (int i = 0; i < 3; i++)
		strcpy(f->s->cache[i].engine, "slob");
	strcpy(f->s->cache[3].engine, "slub");
	sample(f, 0);
	top_summary_text(&f->top, title, sizeof(title), text, sizeof(text));
	assert_string_equal(text, "1103 objects, 67.2K held of 86.0K (18.7K waste)");
	for (int i = 0; i < 3; i++)
		f->s->cache[i].object_bytes += 1000;
	sample(f, 1);
	top_summary_text(&f->top, title, sizeof(title), text, sizeof(text));
	assert_string_equal(text, "1103 objects, 68.2K held of 86.0K (17.7K waste), +1000/s");
	strcpy(f->top.filter, "small");
	sample(f, 1);
	top_summary_text(&f->top, title, sizeof(title), text, sizeof(text));
	assert_string_equal(text, "1000 objects, 17.0K held in pages of a heap, +1000/s");
	fixture_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders),	      cmocka_unit_test(test_filter_and_empty),
		cmocka_unit_test(test_current),	      cmocka_unit_test(test_growth),
		cmocka_unit_test(test_growth_decays), cmocka_unit_test(test_new_cache_has_no_past),
		cmocka_unit_test(test_growth_text),   cmocka_unit_test(test_spark),
		cmocka_unit_test(test_texts),	      cmocka_unit_test(test_sums_of_heaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
