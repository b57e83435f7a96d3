/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/tracks_test.c - tracked objects of a made-up process, and lies about them
 */
#include <limits.h>

#include "fake_slabs.h"
#include "fake_snapshot.h"
#include "os/time/clock.h"
#include "inspect/slab_map.h"
#include "inspect/tracks.h"

#define MAX_RECORDS 64

static struct track_record record[MAX_RECORDS];
static unsigned int nr;

static int setup(void **state)
{
	fake_setup(state);
	fake_cache(&f, 192, "a", 64, 8);
	fake_cache(&f, 193, "b", 100, 8);
	return 0;
}

static void keep(const struct track_record *r, void *arg)
{
	(void)arg;
	if (nr < MAX_RECORDS)
		record[nr] = *r;
	nr++;
}

static unsigned int index_of(unsigned int id)
{
	return (unsigned int)(fake_result(s, id) - s->cache);
}

/* The records of cache number id, or of all (0). */
static long visit(unsigned int id)
{
	nr = 0;
	fake_take();
	return tracks_visit(s, id ? index_of(id) : UINT_MAX, keep, NULL);
}

static void test_live_objects(void **state)
{
	struct debug *d = fake_debug(&f, 192, SLAB_STORE_USER, false);
	struct page *page = fake_debug_slab(&f, 5, 192);

	(void)state;
	d->hardened = true;
	d->random = 0x123456789abcdef0ull;
	page->node = 1;
	for (unsigned int i = 0; i < 4; i++)
		*fake_track(&f, 5, 192, i) =
			(struct track){ .addr = 0x1000 + i, .cpu = i, .pid = 7, .when = 100 };
	fake_track(&f, 5, 192, 2)[TRACK_FREE].addr = 0x2000;
	for (unsigned int i = 4; i < (*(uint64_t *)&page->counters >> 16 & 0x7fff); i++)
		fake_free(&f, 5, 192, i);
	fake_free(&f, 5, 192, 1);
	assert_int_equal(visit(192), 3);
	assert_int_equal(nr, 3);
	assert_int_equal(record[0].alloc.addr, 0x1000);
	assert_int_equal(record[1].alloc.addr, 0x1002);
	assert_int_equal(record[1].free.addr, 0x2000);
	assert_int_equal(record[1].address, fake_object(&f, 5, 192, 2));
	assert_int_equal(record[1].size, 64);
	assert_int_equal(record[1].waste, 0);
	assert_int_equal(record[1].node, 1);
	assert_int_equal(record[1].cache, index_of(192));
	assert_true(record[1].live);
	assert_int_equal(s->totals.inconsistent, 0);
}

static void test_bytes_asked_for(void **state)
{
	struct debug *d = fake_debug(&f, 192, SLAB_STORE_USER | SLAB_RED_ZONE | SLAB_POISON, true);

	(void)state;
	fake_debug_slab(&f, 5, 192);
	*debug_orig_size(fake_debug_layout(d), fake_at(&f, fake_object(&f, 5, 192, 0))) = 50;
	/* more than the object has room for is a lie */
	*debug_orig_size(fake_debug_layout(d), fake_at(&f, fake_object(&f, 5, 192, 1))) = 5000;
	assert_true(visit(192) > 2);
	assert_int_equal(record[0].size, 50);
	assert_int_equal(record[0].waste, 14);
	assert_int_equal(record[1].size, 64);
	assert_int_equal(record[1].waste, 0);
}

static void test_which_slabs(void **state)
{
	struct page *isolated;
	long each;

	(void)state;
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	fake_debug(&f, 193, SLAB_POISON, false);
	fake_debug_slab(&f, 1, 192);
	fake_debug_slab(&f, 2, 193); /* no users there */
	fake_slab(&f, 3, 192, 64, 64, false);
	each = visit(0);
	assert_true(each > 0);
	assert_int_equal(visit(193), 0);
	fake_debug_slab(&f, 4, 192);
	assert_int_equal(visit(0), 2 * each);
	assert_int_equal(visit(192), 2 * each);
	isolated = fake_debug_slab(&f, 5, 192);
	isolated->counters |= 1ull << 31; /* frozen */
	assert_int_equal(visit(192), 2 * each);
}

/* Of several caches in one pass. */
static void test_some(void **state)
{
	bool wanted[SNAPSHOT_MAX_CACHES] = { false };
	long each;

	(void)state;
	fake_cache(&f, 194, "c", 64, 8);
	fake_cache(&f, 195, "d", 64, 8);
	for (unsigned int id = 192; id < 195; id++) {
		fake_debug(&f, id, SLAB_STORE_USER, false);
		fake_debug_slab(&f, id, id);
	}
	each = visit(194);
	wanted[index_of(192)] = wanted[index_of(194)] = true;
	nr = 0;
	assert_int_equal(tracks_visit_some(s, wanted, keep, NULL), 2 * each);
	assert_int_equal(nr, 2 * each);
	assert_int_equal(record[0].cache, index_of(192));
	assert_int_equal(record[each].cache, index_of(194));
	/* of the slabs of others nothing is read but what is read of all pages */
	memset(wanted, 0, sizeof(wanted));
	f.reads = 0;
	wanted[index_of(195)] = true;
	assert_int_equal(tracks_visit_some(s, wanted, keep, NULL), 0);
	assert_int_equal(f.reads, FAKE_NR_PAGES * sizeof(struct page) / SLAB_MAP_PIECE);
	/* where only whole pages are wanted, or nothing, no slab is read */
	memset(wanted, 0, sizeof(wanted));
	wanted[s->blocks_row] = true;
	f.reads = 0;
	assert_int_equal(tracks_visit_some(s, wanted, keep, NULL), 0);
	assert_true(f.reads < 5);
}

/* A free list that bites its tail, one that leaves the slab, one between two objects. */
static void test_wild_free_lists(void **state)
{
	const struct debug *d = fake_debug(&f, 192, SLAB_STORE_USER, false);
	struct page *page = fake_debug_slab(&f, 1, 192);
	unsigned int offset = fake_debug_layout(d)->offset;
	long all = visit(192);

	(void)state;
	fake_free(&f, 1, 192, 0);
	fake_free(&f, 1, 192, 1);
	*(uint64_t *)fake_at(&f, fake_object(&f, 1, 192, 0) + offset) = (uintptr_t)page->freelist;
	assert_int_equal(visit(192), all - 2);
	*(uint64_t *)fake_at(&f, fake_object(&f, 1, 192, 0) + offset) = 0x123456789ul;
	assert_int_equal(visit(192), all - 2);
	page->freelist = (char *)page->freelist + 1;
	assert_int_equal(visit(192), all);
}

/*
 * Every page says that it is the head of the largest slab that could begin
 * there: all is there ten times.
 */
static void test_overlapping_slabs(void **state)
{
	struct debug *d = fake_debug(&f, 192, SLAB_STORE_USER, false);
	unsigned int stride = fake_debug_layout(d)->stride;

	(void)state;
	for (unsigned long i = 0; i < FAKE_NR_PAGES; i++) {
		struct page *page = fake_debug_slab(&f, i, 192);
		struct slab_counters counters = { .objects = 0 };

		page->order = (uint8_t)(i % 512 ? __builtin_ctzl(i) : 9);
		counters.objects = (PAGE_SIZE << page->order) / stride & 0x7fff;
		memcpy(&page->counters, &counters, sizeof(counters));
	}
	assert_int_equal(visit(192), FAKE_NR_PAGES / 512 * ((PAGE_SIZE << 9) / stride));
	assert_true(f.bytes_read < 200ul << 20);
}

static void test_impossible_layouts(void **state)
{
	struct debug *d = fake_debug(&f, 192, SLAB_STORE_USER, false);
	struct slab_layout *l = &d->layouts[debug_layout_index(SLAB_STORE_USER)];
	const struct slab_layout right = *l;
	struct slab_layout wrong[] = { right, right, right, right, right, right };

	(void)state;
	fake_debug_slab(&f, 1, 192);
	wrong[0].stride = 0;
	wrong[1].stride = 8;
	wrong[2].inuse = 0xfffffff0;
	wrong[3].red_left_pad = 0xfffffff0;
	wrong[4].object_size = 0xfffffff0;
	wrong[5].stride = 0xfffffff0;
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*l = wrong[i];
		assert_int_equal(visit(192), 0);
		assert_true(s->totals.inconsistent > 0);
	}
	*l = right;
	l->offset = 0xfffffff0; /* nothing is free: nobody looks there */
	assert_true(visit(192) >= 0);
}

static void test_wild_descriptors(void **state)
{
	struct page *page;
	struct cache *c = fake_at(&f, fake_cache_addr(&f, 192));

	(void)state;
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	page = fake_debug_slab(&f, 1, 192);
	page->order = 200;
	assert_int_equal(visit(192), 0);
	page->order = 10; /* not aligned to its size */
	assert_int_equal(visit(192), 0);
	page->order = 0;
	page->layout = (void *)0x666000;
	assert_int_equal(visit(192), 0);
	page = fake_debug_slab(&f, 1, 192);
	c->engine.debug = (void *)0x666000;
	assert_int_equal(visit(192), 0);
}

static void test_process_ends(void **state)
{
	(void)state;
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	fake_debug_slab(&f, 1, 192);
	assert_true(visit(192) > 0);
	f.dies_after = f.reads;
	assert_int_equal(tracks_visit(s, UINT_MAX, keep, NULL), -ESRCH);
}

static void test_stacks(void **state)
{
	static const uint64_t pcs[] = { 0x111, 0x222, 0x333 };
	uint64_t found[STACKS_DEPTH];
	uint32_t handle = fake_stack(&f, 512, pcs, 3);
	uint32_t last = fake_stack(&f, STACKS_CHUNK - STACKS_UNIT, pcs, 0);
	struct stack_record *record_of = fake_at(&f, FAKE_CHUNK + 512);

	(void)state;
	fake_take();
	assert_int_equal(tracks_stack(s, handle, found, STACKS_DEPTH), 3);
	assert_memory_equal(found, pcs, sizeof(pcs));
	assert_int_equal(tracks_stack(s, handle, found, 2), 2);
	assert_int_equal(tracks_stack(s, 0, found, STACKS_DEPTH), 0);
	assert_int_equal(tracks_stack(s, handle + 1, found, STACKS_DEPTH), 0);
	assert_int_equal(tracks_stack(s, 4096, found, STACKS_DEPTH), 0);
	assert_int_equal(tracks_stack(s, UINT32_MAX, found, STACKS_DEPTH), 0);
	assert_int_equal(tracks_stack(s, last, found, STACKS_DEPTH), 0);
	record_of->nr = STACKS_DEPTH + 1;
	assert_int_equal(tracks_stack(s, handle, found, STACKS_DEPTH), 0);
	*(uint64_t *)fake_at(&f, FAKE_STACKS) = 0;
	assert_int_equal(tracks_stack(s, handle, found, STACKS_DEPTH), 0);
}

static void test_time(void **state)
{
	uint64_t now = os_clock_ms();

	(void)state;
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	fake_debug_slab(&f, 1, 192);
	fake_track(&f, 1, 192, 3)->when = 12345;
	fake_track(&f, 1, 192, 4)[TRACK_FREE].when = 12346;
	visit(192);
	assert_in_range(tracks_now(s), now, now + 10000);
	f.reader.ahead_ms = -5000000; /* in another time namespace */
	assert_in_range(tracks_now(s) + 5000000, now, now + 10000);
	f.reader.ahead_ms = 1000000000;
	assert_in_range(tracks_now(s) - 1000000000, now, now + 10000);
	f.reader.still = true;
	assert_int_equal(tracks_now(s), 12346);
}

/* In a core file: a track that an overflow has written over says nothing, its neighbour does. */
static void test_time_of_damaged_tracks(void **state)
{
	struct track *track;

	(void)state;
	f.reader.still = true;
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	fake_debug_slab(&f, 1, 192);
	fake_track(&f, 1, 192, 3)->when = 12345;
	memset(fake_track(&f, 1, 192, 4), 'a', sizeof(*track));
	fake_track(&f, 1, 192, 4)[TRACK_FREE].when = 12346;
	memset(&fake_track(&f, 1, 192, 5)[TRACK_FREE], 'a', sizeof(*track));
	fake_track(&f, 1, 192, 5)->when = 12347;
	track = fake_track(&f, 1, 192, 6);
	track->when = 1ull << 40;
	track = fake_track(&f, 1, 192, 7);
	track->when = 20000;
	track->cpu = USLAB_MAX_CPUS;
	visit(192);
	assert_int_equal(tracks_now(s), 12347);
	track->cpu = USLAB_MAX_CPUS - 1;
	visit(192);
	assert_int_equal(tracks_now(s), 20000);
	fake_track(&f, 1, 192, 6)->when--;
	visit(192);
	assert_int_equal(tracks_now(s), (1ull << 40) - 1);
}

/* The whole of a core file is looked through for it: once, until the next snapshot. */
static void test_time_is_kept(void **state)
{
	(void)state;
	f.reader.still = true;
	fake_debug(&f, 192, SLAB_STORE_USER, false);
	fake_debug_slab(&f, 1, 192);
	visit(192);
	assert_int_equal(tracks_now(s), 0);
	f.reads = 0;
	assert_int_equal(tracks_now(s), 0);
	assert_int_equal(f.reads, 0);
	fake_track(&f, 1, 192, 3)->when = 12345;
	fake_take();
	assert_int_equal(tracks_now(s), 12345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_live_objects, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_bytes_asked_for, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_which_slabs, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_some, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_wild_free_lists, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_overlapping_slabs, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_impossible_layouts, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_wild_descriptors, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_process_ends, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_stacks, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_time, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_time_of_damaged_tracks, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_time_is_kept, setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
