/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/track/track_table_test.c - call sites over several caches of a made-up
 * process, and what is estimated
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "os/time/clock.h"
#include "track/track.h"
#include "unit/inspect/fake_slabs.h"

static struct tracking *t;
static struct track_options options;
static struct fake_process f;
static uint64_t now;
static uint32_t stack;

/* A cache of 64 bytes with a debug slab on page `page`, nothing in it. */
static void make_cache(unsigned int number, unsigned int id, const char *name, unsigned long page)
{
	struct page *slab;

	fake_cache(&f, id, name, 64, 8);
	fake_debug(&f, id, SLAB_STORE_USER, false);
	slab = fake_debug_slab(&f, page, id);
	for (unsigned int i = 0; i < PAGE_SIZE / 128; i++)
		fake_free(&f, page, id, i);
	assert_int_equal(slab->counters & 0xffff, 0);
	t->cache[number].id = id;
	strcpy(t->cache[number].name, name);
	t->nr_caches = number + 1;
}

/* Fakes count allocations of a caller on a page that has all its objects free; age in ms. */
static void allocate(unsigned int id, unsigned long page, unsigned int count, uint64_t caller,
		     uint64_t age)
{
	for (unsigned int i = 0; i < count; i++) {
		struct page *slab = fake_page(&f, page);
		uint64_t object = (uintptr_t)slab->freelist;
		const struct slab_layout *l =
			fake_debug_layout(fake_at(&f, fake_debug_addr(&f, id)));
		struct track *track = fake_at(&f, object + debug_tracks_offset(l));

		slab->freelist = (void *)*(uint64_t *)fake_at(&f, object + l->offset);
		slab->counters++;
		*track = (struct track){ .addr = caller, .handle = stack, .when = now - age };
	}
}

static int setup(void **state)
{
	static const uint64_t pcs[] = { 0x1110, 0x2220 };

	(void)state;
	fake_init(&f);
	t = calloc(1, sizeof(*t));
	t->snapshot = calloc(1, sizeof(*t->snapshot));
	options = (struct track_options){ .order = TRACK_BY_BYTES };
	t->options = &options;
	stack = fake_stack(&f, 1024, pcs, 2);
	now = os_clock_ms();
	t->start = now - 10000;
	make_cache(0, 192, "a", 1);
	make_cache(1, 193, "b", 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	track_table_free(&t->table);
	free(t->snapshot);
	free(t);
	fake_exit(&f);
	return 0;
}

static const struct track_row *make(void)
{
	assert_int_equal(snapshot_take(t->snapshot, &f.reader, FAKE_ROOT), 0);
	assert_int_equal(track_table_make(t), 0);
	assert_true(t->table.nr > 0);
	return t->table.row;
}

static void test_rows(void **state)
{
	const struct track_row *row;

	(void)state;
	allocate(192, 1, 3, 0x1110, 9000);
	allocate(192, 1, 1, 0x1110, 20000); /* from before */
	allocate(192, 1, 2, 0x3330, 100);
	allocate(193, 2, 1, 0x1110, 1000);
	row = make();
	assert_int_equal(t->table.nr, 2);
	assert_int_equal(row->caller, 0x1110);
	assert_int_equal(row->tracked, 4);
	assert_true(row->objects.value == 4 && row->bytes.value == 256);
	assert_true(row->objects.low == 4 && row->objects.high == 4);
	assert_true(row->share.low == row->share.value && row->share.high == row->share.value);
	assert_int_equal(row->nr_caches, 2);
	assert_in_range(row->age_min, 1000, 3000);
	assert_in_range(row->age_max, 9000, 11000);
	assert_in_range((uint64_t)row->age_mean, 7000, 9000);
	/* three of them are of the first half, of about five seconds */
	assert_true(row->kept.value > 0.4 && row->kept.value < 0.7);
	assert_int_equal(row->nr, 2);
	assert_int_equal(row->pc[1], 0x2220);
	assert_int_equal(row[1].tracked, 2);
	assert_true(row[1].kept.value == 0 && row[1].kept.high == 0);
	assert_false(t->table.estimated);
	assert_int_equal(t->cache[0].tracked, 5);
}

/*
 * Somebody else switched it on: the time is that since then, and not since the oldest object, which
 * an earlier tracking left.
 */
static void test_gap(void **state)
{
	struct debug *a = fake_at(&f, fake_debug_addr(&f, 192));
	struct debug *b = fake_at(&f, fake_debug_addr(&f, 193));
	const struct track_row *row;

	(void)state;
	t->start = 0;
	allocate(192, 1, 3, 0x1110, 900000);
	allocate(192, 1, 4, 0x1110, 15000);
	allocate(193, 2, 1, 0x1110, 1000);
	a->tracking_since = now - 20000;
	b->tracking_since = now - 40000;
	row = make();
	assert_false(t->table.at_least);
	assert_in_range((uint64_t)t->table.seconds, 20, 22);
	assert_int_equal(row->tracked, 5);
	/* four in the first half, of about ten seconds */
	assert_true(row->kept.value > 0.3 && row->kept.value < 0.5);
	/* since there are objects at all: of those that we see */
	a->tracking_since = b->tracking_since = DEBUG_SINCE_EVER;
	row = make();
	assert_true(t->table.at_least);
	assert_in_range((uint64_t)t->table.seconds, 900, 902);
	assert_int_equal(row->tracked, 8);
	/* what we switched on ourselves is the last */
	t->start = now - 10000;
	a->tracking_since = now - 20000;
	assert_int_equal(make()->tracked, 1);
}

/* Of no time at all there is no rate. */
static void test_no_time(void **state)
{
	(void)state;
	allocate(192, 1, 3, 0x1110, 0);
	t->start = now;
	f.reader.still = true; /* now is when something was tracked last */
	assert_true(isnan(make()->kept.value));
	assert_true(t->table.seconds == 0);
}

static void test_order(void **state)
{
	(void)state;
	allocate(192, 1, 3, 0x1110, 100);
	allocate(192, 1, 2, 0x3330, 9000);
	options.order = TRACK_BY_OBJECTS;
	assert_int_equal(make()->caller, 0x1110);
	options.order = TRACK_BY_GROWTH;
	assert_int_equal(make()->caller, 0x3330);
	options.order = TRACK_BY_AGE;
	assert_int_equal(make()->caller, 0x3330);
}

/* Says of all objects of a caller on a page how they were sampled. */
static void sampled(unsigned int id, unsigned long page, uint64_t caller, uint32_t sample)
{
	for (unsigned int i = 0; i < PAGE_SIZE / 128; i++)
		if (fake_track(&f, page, id, i)->addr == caller)
			fake_track(&f, page, id, i)->sample = sample;
}

/*
 * Each stands for as many as its probability says, those that were not sampled for
 * none, whatever else lives.
 */
static void test_estimate(void **state)
{
	const struct track_row *row;
	double weight = -1 / expm1(-80.0 / 1024);

	(void)state;
	fake_slab(&f, 3, 192, 400, 400, false); /* plain ones */
	t->cache[0].sampled = true;
	allocate(192, 1, 8, 0x1110, 9000);
	allocate(192, 1, 2, 0x3330, 100);
	allocate(192, 1, 3, 0x5550, 100);
	sampled(192, 1, 0x1110, DEBUG_SAMPLE(80, 10));
	sampled(192, 1, 0x3330, DEBUG_SAMPLE(80, 10));
	row = make();
	assert_true(t->table.estimated);
	assert_int_equal(t->table.nr, 2);
	assert_int_equal(t->cache[0].tracked, 10);
	assert_int_equal(row->caller, 0x1110);
	assert_true(fabs(row->objects.value - 8 * weight) < 1e-6);
	assert_true(fabs(row->bytes.value - 512 * weight) < 1e-6);
	assert_true(row->objects.low > 3 * weight && row->objects.high < 18 * weight);
	assert_false(row->vague);
	assert_true(row->kept.value > 0);
	assert_true(row->share.low < 0.8 && row->share.high > 0.8);
	/* two are too few */
	assert_true(row[1].vague);
	assert_true(row[1].kept.value == 0 && row[1].kept.high > 0);
	/* sampled before: how often, with which gaps, is not known */
	t->start = 0;
	((struct debug *)fake_at(&f, fake_debug_addr(&f, 192)))->tracking_since = DEBUG_SINCE_EVER;
	row = make();
	assert_true(t->table.at_least && row->objects.value > 0);
	assert_true(isnan(row->kept.value) && isnan(row->kept_bytes.high));
}

/* What a process says that lies. */
static void test_nonsense_is_no_sample(void **state)
{
	static const uint32_t nonsense[] = { 80, DEBUG_SAMPLE(0, 10), UINT32_MAX,
					     DEBUG_SAMPLE(80, 31) };

	(void)state;
	t->cache[0].sampled = true;
	allocate(192, 1, 3, 0x1110, 9000);
	allocate(192, 1, 1, 0x3330, 9000);
	sampled(192, 1, 0x3330, DEBUG_SAMPLE(80, 1));
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		sampled(192, 1, 0x1110, nonsense[i]);
		assert_int_equal(make()->caller, 0x3330);
		assert_int_equal(t->table.nr, 1);
	}
}

/* What nothing is known of comes last, whatever the order. */
static void test_vague_is_last(void **state)
{
	const struct track_row *row;

	(void)state;
	t->cache[0].sampled = true;
	options.order = TRACK_BY_AGE;
	allocate(192, 1, 12, 0x1110, 100);
	allocate(192, 1, 1, 0x3330, 9000);
	sampled(192, 1, 0x1110, DEBUG_SAMPLE(80, 10));
	sampled(192, 1, 0x3330, DEBUG_SAMPLE(80, 10));
	row = make();
	assert_int_equal(row->caller, 0x1110);
	assert_true(row[1].vague && row[1].age_mean > row->age_mean);
}

/* The unseen object that a share leaves room for is as heavy as any, whichever row that is of. */
static void test_share_of_objects(void **state)
{
	double heaviest = -1 / expm1(-80.0 / 4096);
	struct estimate_sum all = { 0, 0, 0 };
	const struct track_row *row;

	(void)state;
	options.order = TRACK_BY_OBJECTS;
	t->cache[0].sampled = t->cache[1].sampled = true;
	allocate(192, 1, 20, 0x1110, 100);
	allocate(193, 2, 20, 0x3330, 100);
	sampled(192, 1, 0x1110, DEBUG_SAMPLE(80, 12));
	sampled(193, 2, 0x3330, DEBUG_SAMPLE(80, 10));
	row = make();
	assert_int_equal(t->table.nr, 2);
	for (int i = 0; i < 2; i++)
		estimate_merge(&all, &row[i].objects_sum);
	for (int i = 0; i < 2; i++) {
		struct estimate share = estimate_share(&row[i].objects_sum, &all, heaviest);

		assert_true(fabs(row[i].share.low - share.low) < 1e-9);
		assert_true(fabs(row[i].share.high - share.high) < 1e-9);
	}
}

/* A track that an overflow has written over says nothing of how long there was tracking. */
static void test_damaged_track(void **state)
{
	(void)state;
	t->start = 0;
	f.reader.still = true;
	allocate(192, 1, 3, 0x1110, 5000);
	allocate(192, 1, 1, 0x3330, 0);
	allocate(192, 1, 1, 0x5550, 0);
	for (unsigned int i = 0; i < PAGE_SIZE / 128; i++) {
		struct track *track = fake_track(&f, 1, 192, i);

		if (track->addr == 0x5550) {
			track->when = 7;
			track->cpu = 0x61616161;
		}
	}
	make();
	assert_true(fabs(t->table.seconds - 5) < 1e-9);
}

/* However many caches are chosen, memory is read once. */
static void test_one_pass(void **state)
{
	unsigned long reads;

	(void)state;
	for (unsigned int id = 194; id < 234; id++)
		fake_cache(&f, id, "empty", 64, 8);
	allocate(192, 1, 3, 0x1110, 100);
	allocate(193, 2, 2, 0x1110, 100);
	assert_int_equal(snapshot_take(t->snapshot, &f.reader, FAKE_ROOT), 0);
	f.reads = 0;
	assert_int_equal(track_table_make(t), 0);
	reads = f.reads;
	for (; t->nr_caches < 42; t->nr_caches++) {
		t->cache[t->nr_caches].id = 192 + t->nr_caches;
		strcpy(t->cache[t->nr_caches].name, "empty");
	}
	f.reads = 0;
	assert_int_equal(track_table_make(t), 0);
	assert_int_equal(f.reads, reads);
	assert_int_equal(t->cache[0].tracked, 3);
	assert_int_equal(t->cache[1].tracked, 2);
	assert_int_equal(t->cache[41].tracked, 0);
}

static void test_cache_gone(void **state)
{
	(void)state;
	allocate(192, 1, 3, 0x1110, 9000);
	allocate(193, 2, 3, 0x1110, 9000);
	strcpy(((struct cache *)fake_at(&f, fake_cache_addr(&f, 192)))->name, "another");
	assert_int_equal(make()->tracked, 3);
	assert_int_equal(t->cache[0].live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_estimate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense_is_no_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vague_is_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_share_of_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_track, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cache_gone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
