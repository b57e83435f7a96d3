/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/slab_map_test.c - which objects of a slab are free, by the lists of all engines
 */

#include "fake_slabs.h"
#include "fake_snapshot.h"
#include "inspect/slab_map.h"

static struct slab_map *map;

static int setup(void **state)
{
	fake_setup(state);
	map = calloc(1, sizeof(*map));
	return map ? 0 : -1;
}

static int teardown(void **state)
{
	free(map);
	return fake_teardown(state);
}

/* Maps the slab on page `index`; its free objects as bits. */
static uint64_t free_bits(unsigned long index)
{
	fake_take();
	slab_map_init(map);
	assert_true(slab_map_open(s, map, index));
	assert_true(slab_map_fill(s, map));
	return map->known ? map->free[0] : ~0ull;
}

static void link_objects(unsigned long index, unsigned int stride, unsigned int from,
			 unsigned int to)
{
	for (; from < to; from++)
		*(uint64_t *)fake_at(&f, FAKE_ARENA + index * PAGE_SIZE + from * stride) =
			FAKE_ARENA + index * PAGE_SIZE + (from + 1) * stride;
	*(uint64_t *)fake_at(&f, FAKE_ARENA + index * PAGE_SIZE + to * stride) = 0;
}

static void test_slub(void **state)
{
	struct page *page;

	(void)state;
	fake_cache(&f, 192, "a", 128, 8);
	page = fake_slab(&f, 1, 192, 32, 28, false);
	page->counters |= 30ull << 32; /* formatted */
	page->freelist = (void *)(FAKE_ARENA + PAGE_SIZE + 2 * 128);
	link_objects(1, 128, 2, 3);
	assert_int_equal(free_bits(1), 0xc000000c);
	assert_int_equal(map->first, FAKE_ARENA + PAGE_SIZE);
	assert_int_equal(map->objects, 32);
	assert_int_equal(slab_map_object(map, 3), FAKE_ARENA + PAGE_SIZE + 3 * 128);
}

/* Of a slab that belongs to a CPU the rest of the free objects is in that CPU's private list. */
static void test_slub_of_cpu(void **state)
{
	struct page *page;

	(void)state;
	fake_cache(&f, 192, "a", 128, 0);
	page = fake_slab(&f, 1, 192, 32, 32, true);
	page->counters |= 32ull << 32;
	fake_state(&f, 192, 2)->slab = FAKE_PAGES + sizeof(struct page);
	fake_state(&f, 192, 2)->freelist = FAKE_ARENA + PAGE_SIZE + 5 * 128;
	link_objects(1, 128, 5, 7);
	assert_int_equal(free_bits(1), 0xe0);
	fake_state(&f, 192, 2)->slab = 0;
	assert_int_equal(free_bits(1), 0);
}

static void test_slab_engine(void **state)
{
	static const uint8_t index[8] = { 0, 0, 0, 0, 0, 3, 6, 1 };
	struct page *page;

	(void)state;
	fake_text(&f, FAKE_GLOBALS + FAKE_NAMES, "slab"); /* in place of "slub" */
	fake_cache(&f, 192, "a", 128, 8);
	page = fake_slab(&f, 1, 192, 8, 5, false);
	memcpy(fake_at(&f, FAKE_ARENA + PAGE_SIZE + 4000), index, sizeof(index));
	page->freelist = (void *)(FAKE_ARENA + PAGE_SIZE + 4000);
	assert_int_equal(free_bits(1), 1 << 3 | 1 << 6 | 1 << 1);
	*(uint8_t *)fake_at(&f, FAKE_ARENA + PAGE_SIZE + 4006) = 8; /* no such object */
	assert_int_equal(free_bits(1), ~0ull);
	page->freelist = NULL; /* full */
	assert_int_equal(free_bits(1), 0);
}

static void test_debug(void **state)
{
	struct page *page;

	(void)state;
	fake_cache(&f, 192, "a", 128, 8);
	fake_debug(&f, 192, SLAB_POISON | SLAB_RED_ZONE, false);
	page = fake_debug_slab(&f, 1, 192);
	fake_free(&f, 1, 192, 3);
	fake_free(&f, 1, 192, 0);
	assert_int_equal(free_bits(1), 9);
	assert_int_equal(map->first, fake_object(&f, 1, 192, 0));
	page->freelist = (char *)map->first + ((uint64_t)map->layout.stride << 31);
	assert_int_equal(free_bits(1), ~0ull);
	page->counters |= 1ull << 31; /* isolated */
	assert_int_equal(free_bits(1), ~0ull);
}

static void test_no_slab(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 128, 8);
	fake_slab(&f, 1, 192, 32, 32, false)->engine = (void *)0x666000;
	fake_take();
	slab_map_init(map);
	assert_false(slab_map_open(s, map, 0));
	assert_false(slab_map_open(s, map, 1));
	assert_false(slab_map_open(s, map, FAKE_NR_PAGES));
	assert_false(slab_map_open(s, map, ~0ul));
}

/* Its page becomes something else between two looks. */
static void test_slab_goes(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 128, 8);
	fake_slab(&f, 1, 192, 32, 32, false);
	fake_take();
	slab_map_init(map);
	assert_true(slab_map_open(s, map, 1));
	fake_page(&f, 1)->type = PAGE_BUDDY;
	assert_false(slab_map_fill(s, map));
}

static void test_reads_stay_inside(void **state)
{
	char byte[16];

	(void)state;
	fake_cache(&f, 192, "a", 128, 8);
	fake_slab(&f, 1, 192, 32, 32, false)->counters |= 32ull << 32;
	free_bits(1);
	assert_true(slab_map_read(s, map, FAKE_ARENA + PAGE_SIZE, byte, 16));
	assert_true(slab_map_read(s, map, FAKE_ARENA + 2 * PAGE_SIZE - 16, byte, 16));
	assert_false(slab_map_read(s, map, FAKE_ARENA + 2 * PAGE_SIZE - 15, byte, 16));
	assert_false(slab_map_read(s, map, FAKE_ARENA + PAGE_SIZE - 1, byte, 16));
	assert_false(slab_map_read(s, map, ~0ull - 4, byte, 16));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_slub, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slub_of_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slab_engine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_slab, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slab_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reads_stay_inside, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
