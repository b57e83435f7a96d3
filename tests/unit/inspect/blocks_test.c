/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/blocks_test.c - tracked blocks of a made-up process, and lies about them
 */
#include <limits.h>

#include "debug/pages/blocks.h"
#include "fake_snapshot.h"
#include "inspect/tracks.h"

#define TABLE 0x20000000ul /* the pointer to it one page before */

static struct blocks *table;
static struct track_record last;

static int setup(void **state)
{
	fake_setup(state);
	fake_map(&f, TABLE - 4096, 4096 + sizeof(struct blocks));
	fake_root(&f)->blocks = TABLE - 4096;
	*(uint64_t *)fake_at(&f, TABLE - 4096) = TABLE;
	table = fake_at(&f, TABLE);
	return 0;
}

static void add(uint32_t number, uint64_t address, uint64_t size)
{
	uint32_t *bucket = &table->bucket[blocks_bucket(address)];

	table->record[number] = (struct block_record){
		.address = address,
		.size = size,
		.track = { .addr = 0x1234, .handle = 5, .pid = 6, .when = 7 },
		.next = *bucket,
		.base = address,
		.debug_flags = SLAB_STORE_USER,
	};
	*bucket = number;
	table->high = table->high > number ? table->high : number;
	table->held++;
}

static void keep(const struct track_record *record, void *arg)
{
	(void)arg;
	last = *record;
}

static long visit(unsigned int cache)
{
	return tracks_visit(s, cache, keep, NULL);
}

static const struct snapshot_cache *row(void)
{
	return &s->cache[s->blocks_row];
}

static void test_visit(void **state)
{
	(void)state;
	add(3, 0x7f0000000000, 5ull << 32); /* larger than 4 GiB */
	table->debug_flags = SLAB_STORE_USER;
	fake_take();
	assert_true(row()->whole_pages && row()->flags & SLAB_STORE_USER);
	assert_int_equal(row()->tracked, 1);
	assert_int_equal(visit(s->blocks_row), 1);
	assert_int_equal(last.cache, s->blocks_row);
	assert_int_equal(last.address, 0x7f0000000000);
	assert_int_equal(last.size, 5ull << 32);
	assert_int_equal(last.alloc.handle, 5);
	assert_true(last.live);
	assert_int_equal(visit(UINT_MAX), 1);
	/* over several pieces */
	for (uint32_t i = 4; i < 3000; i++)
		add(i, 0x7e0000000000 + i * 0x8000ull, i);
	assert_int_equal(visit(s->blocks_row), 2997);
	assert_int_equal(last.size, 2999);
}

static void test_find(void **state)
{
	struct track_record record;

	(void)state;
	for (uint32_t i = 1; i < 1000; i++)
		add(i, 0x7e0000000000 + i * 0x8000ull, i);
	fake_take();
	assert_true(blocks_find(s, 0x7e0000000000 + 77 * 0x8000ull, 4096, &record));
	assert_int_equal(record.size, 77);
	assert_false(blocks_find(s, 0x7e0000000000 + 1000 * 0x8000ull, 4096, &record));
	assert_false(blocks_find(s, 0x7e0000000001, 4096, &record));
	/* behind a red zone of 16 KiB, for its alignment */
	table->record[77].base -= 0x4000;
	assert_false(blocks_find(s, 0x7e0000000000 + 77 * 0x8000ull, 4096, &record));
	assert_true(blocks_find(s, 0x7e0000000000 + 77 * 0x8000ull - 0x4000, 0x20000, &record));
	assert_int_equal(record.size, 77);
	/* freed, or without U */
	table->record[77].state = BLOCK_FREED;
	assert_false(blocks_find(s, 0x7e0000000000 + 77 * 0x8000ull - 0x4000, 0x20000, &record));
	table->record[78].debug_flags = SLAB_RED_ZONE;
	assert_false(blocks_find(s, 0x7e0000000000 + 78 * 0x8000ull, 4096, &record));
}

static void test_none(void **state)
{
	struct track_record record;

	(void)state;
	*(uint64_t *)fake_at(&f, TABLE - 4096) = 0;
	fake_take();
	assert_true(row()->whole_pages && !row()->flags && !row()->tracked);
	assert_int_equal(visit(s->blocks_row), 0);
	assert_false(blocks_find(s, 0x7e0000000000, 4096, &record));
	fake_root(&f)->blocks = 0;
	fake_take();
	assert_int_equal(visit(UINT_MAX), 0);
}

static void test_lies(void **state)
{
	struct track_record record;
	uint64_t address = 0x7e0000000000;

	(void)state;
	add(1, address + 0x8000, 1);
	table->high = UINT32_MAX;
	table->held = UINT32_MAX;
	fake_take();
	assert_int_equal(visit(s->blocks_row), 1);
	/* a bucket that goes round in circles, or to nowhere */
	table->bucket[blocks_bucket(address)] = 1;
	table->record[1].next = 1;
	assert_false(blocks_find(s, address, 4096, &record));
	table->record[1].next = UINT32_MAX;
	assert_false(blocks_find(s, address, 4096, &record));
	*(uint64_t *)fake_at(&f, TABLE - 4096) = 0xdead000;
	fake_take();
	assert_int_equal(visit(s->blocks_row), 0);
	assert_false(blocks_find(s, address, 4096, &record));
}

static void test_process_ends(void **state)
{
	(void)state;
	add(1, 0x7e0000000000, 1);
	fake_take();
	f.dies_after = f.reads + 1;
	assert_int_equal(visit(s->blocks_row), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_visit, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_find, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_process_ends, setup, fake_teardown),
	};

	return cmocka_run_group_tests_name("inspect/blocks", tests, NULL, NULL);
}
