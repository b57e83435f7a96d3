/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/track/track_choose_test.c - which caches of a made-up core file are chosen, and how
 * they were tracked
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "track/track.h"
#include "unit/inspect/fake_slabs.h"
#include "util.h"

static struct tracking *t;
static struct track_options options;
static struct fake_process f;

static int setup(void **state)
{
	(void)state;
	fake_init(&f);
	f.reader.still = true;
	t = calloc(1, sizeof(*t));
	t->snapshot = calloc(1, sizeof(*t->snapshot));
	options = (struct track_options){ .command = "track", .source.kind = SOURCE_CORE };
	t->options = &options;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(t->snapshot);
	free(t);
	fake_exit(&f);
	return 0;
}

/* A cache with a slab of tracked objects; flags of the cache: U, or none where that is off. */
static void make_cache(unsigned int id, slab_flags_t flags, unsigned int watch)
{
	struct cache *c = fake_cache(&f, id, "a", 64, 8);
	struct debug *d = fake_debug(&f, id, SLAB_STORE_USER, false);

	fake_debug_slab(&f, id, id);
	c->flags = d->flags = flags;
	c->watch = watch;
}

/* Of object i of that cache's slab, whose layout is that with U. */
static struct track *track_of(unsigned int id, unsigned int i)
{
	struct debug *d = fake_at(&f, fake_debug_addr(&f, id));
	slab_flags_t flags = d->flags;
	struct track *track;

	d->flags = SLAB_STORE_USER;
	track = fake_track(&f, id, id, i);
	d->flags = flags;
	return track;
}

static const struct track_cache *chosen(unsigned int id)
{
	for (unsigned int i = 0; i < t->nr_caches; i++)
		if (t->cache[i].id == id)
			return &t->cache[i];
	return NULL;
}

static void choose(void)
{
	assert_int_equal(snapshot_take(t->snapshot, &f.reader, FAKE_ROOT), 0);
	track_choose_tracked(t);
}

static void test_in_full(void **state)
{
	(void)state;
	make_cache(192, SLAB_STORE_USER, 0);
	/* sampled as well: each object stands for itself, whatever it was sampled by before */
	make_cache(193, SLAB_STORE_USER, WATCH_SAMPLE);
	track_of(192, 1)->sample = track_of(193, 1)->sample = DEBUG_SAMPLE(80, 10);
	choose();
	assert_false(chosen(192)->sampled);
	assert_false(chosen(193)->sampled);
}

static void test_sampled(void **state)
{
	(void)state;
	make_cache(192, 0, WATCH_SAMPLE); /* whether or not any object was */
	choose();
	assert_true(chosen(192)->sampled);
}

/* Tracking had ended: the objects tell how it was. */
static void test_ended(void **state)
{
	(void)state;
	make_cache(192, 0, 0);
	make_cache(193, 0, 0);
	track_of(192, 1)->sample = DEBUG_SAMPLE(80, 10);
	/* a track that an overflow has written over, and one that says nonsense */
	*track_of(193, 1) = (struct track){ .cpu = 0x61616161, .sample = DEBUG_SAMPLE(80, 10) };
	track_of(193, 2)->sample = UINT32_MAX;
	choose();
	assert_true(chosen(192)->sampled);
	assert_false(chosen(193)->sampled);
}

/* Also of caches that were named. */
static void test_matching(void **state)
{
	(void)state;
	make_cache(192, 0, WATCH_SAMPLE);
	options.pattern[options.nr_patterns++] = "a";
	assert_int_equal(snapshot_take(t->snapshot, &f.reader, FAKE_ROOT), 0);
	assert_int_equal(track_choose_matching(t), EXIT_OK);
	assert_true(chosen(192)->sampled);
}

/* Rows of `uslab info` that are no caches say what they are. */
static void test_no_caches(void **state)
{
	static const char *const rows[] = { "free-pages", "malloc-mapped", "nothing" };

	(void)state;
	options.nr_patterns = 1;
	assert_int_equal(snapshot_take(t->snapshot, &f.reader, FAKE_ROOT), 0);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const texts[] = {
			"free-pages is no cache\n",
			"malloc-mapped are blocks of whole pages, which go by the name "
			"malloc-large\n",
			" has no cache 'nothing'\n",
		};
		char *text = NULL;
		size_t size = 0;
		FILE *said = open_memstream(&text, &size);

		options.pattern[0] = rows[i];
		util_collect(said);
		assert_int_equal(track_choose_matching(t), EXIT_FAILED);
		util_collect(NULL);
		fclose(said);
		assert_string_equal(text, texts[i]);
		free(text);
	}
}

/* In none of the chosen caches is anything that was tracked. */
static void test_any_tracked(void **state)
{
	(void)state;
	fake_cache(&f, 192, "plain", 64, 8);
	make_cache(193, 0, 0);
	options.nr_patterns = 1;
	options.pattern[0] = "plain";
	assert_int_equal(snapshot_take(t->snapshot, &f.reader, FAKE_ROOT), 0);
	assert_int_equal(track_choose_matching(t), EXIT_OK);
	assert_false(track_any_tracked(t));
	choose();
	assert_true(track_any_tracked(t));
}

/* As many as a process may have. */
static void test_many(void **state)
{
	(void)state;
	options.source.kind = SOURCE_PROCESS;
	t->snapshot->nr_caches = SNAPSHOT_MAX_CACHES;
	for (unsigned int i = 0; i < SNAPSHOT_MAX_CACHES; i++)
		t->snapshot->cache[i] =
			(struct snapshot_cache){ .id = 1 + i, .flags = SLAB_STORE_USER };
	track_choose_tracked(t);
	assert_int_equal(t->nr_caches, SNAPSHOT_MAX_CACHES);
	assert_int_equal(t->cache[SNAPSHOT_MAX_CACHES - 1].id, SNAPSHOT_MAX_CACHES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_in_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sampled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_matching, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_caches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_tracked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
