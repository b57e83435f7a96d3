/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/memory_own_test.c - resident memory outside of the arena of a made-up process
 */

#include "fake_snapshot.h"
#include "inspect/memory.h"
#include "page/keep.h"

#define TABLES 0x60000000ul
#define LARGE 0x600000000000ul

static struct memory *m;
static uint64_t asked; /* pages */

/* All is resident that lies outside of the arena. */
static int states(void *ctx, uint64_t addr, size_t nr, uint8_t *state)
{
	(void)ctx;
	memset(state,
	       addr >= FAKE_ARENA && addr < FAKE_ARENA + FAKE_NR_PAGES * PAGE_SIZE
		       ? 0
		       : MEMORY_RESIDENT,
	       nr);
	asked += nr;
	return 0;
}

static int setup(void **state)
{
	fake_setup(state);
	asked = 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		abort();
	fake_map(&f, TABLES, 0x20000);
	return 0;
}

static int teardown(void **state)
{
	free(m);
	return fake_teardown(state);
}

static const struct memory_range library[] = { { 0x1000, 3 * PAGE_SIZE, MEMORY_CODE },
					       { 0x8000, PAGE_SIZE, MEMORY_DATA } };

static void take(void)
{
	const struct memory_pages pages = { .states = states, .range = library, .nr_ranges = 2 };

	fake_take();
	assert_int_equal(memory_take(m, s, &pages), 0);
}

static void test_tables(void **state)
{
	struct page_map *map = fake_page_map(&f);

	(void)state;
	take();
	assert_int_equal(m->arena_bytes, 0);
	assert_int_equal(m->kind[MEMORY_DESCRIPTORS], FAKE_NR_PAGES * sizeof(struct page));
	assert_int_equal(m->kind[MEMORY_CLASSES], 0);
	assert_int_equal(m->kind[MEMORY_WINDOWS],
			 2 * (FAKE_CPUS + USLAB_WINDOW_CPU0) * USLAB_WINDOW_SIZE);
	assert_int_equal(m->kind[MEMORY_CODE], 3 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_DATA], PAGE_SIZE);
	map->class = (unsigned char *)FAKE_ARENA + USLAB_CLASSES_OFFSET;
	map->used = (unsigned long *)0x100000000;
	map->dirty = (unsigned long *)0x200000000;
	take();
	assert_int_equal(m->kind[MEMORY_CLASSES], PAGE_SIZE); /* a byte for each of 4096 */
	assert_int_equal(m->kind[MEMORY_USED], FAKE_NR_PAGES * 64);
	assert_int_equal(m->kind[MEMORY_DESCRIPTORS], FAKE_NR_PAGES * 64 + PAGE_SIZE);
}

static void test_large_blocks(void **state)
{
	struct uslab_root *root = fake_root(&f);
	struct large_block *table = fake_at(&f, TABLES + 0x1000);

	(void)state;
	root->large_blocks = TABLES;
	root->large_slots = TABLES + 8;
	*(uint64_t *)fake_at(&f, TABLES) = TABLES + 0x1000;
	*(uint64_t *)fake_at(&f, TABLES + 8) = 8;
	table[2] = (struct large_block){ .addr = LARGE, .size = 5 * PAGE_SIZE };
	table[5] =
		(struct large_block){ .addr = LARGE << 1, .size = (3 * PAGE_SIZE) | LARGE_MOVING };
	take();
	assert_int_equal(m->kind[MEMORY_LARGE], 8 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_TABLES], PAGE_SIZE);
	/* a size that wraps; more slots than can be read */
	table[6] = (struct large_block){ .addr = UINTPTR_MAX - 8, .size = UINT64_MAX };
	*(uint64_t *)fake_at(&f, TABLES + 8) = UINT64_MAX;
	take();
	assert_int_equal(m->kind[MEMORY_LARGE], 8 * PAGE_SIZE);
}

static void test_kept_and_metadata(void **state)
{
	struct uslab_root *root = fake_root(&f);
	struct keep_counters *counters = fake_at(&f, TABLES);
	struct keep_range *range = fake_at(&f, TABLES + 0x1000);
	struct meta_range *meta = fake_at(&f, TABLES + 0x8000);

	(void)state;
	root->keep_counters = TABLES;
	root->keep_ranges = TABLES + 0x1000;
	root->meta_ranges = TABLES + 0x8000;
	counters->count = 1;
	range[0] = (struct keep_range){ .start = (char *)LARGE, .size = 4 * PAGE_SIZE };
	range[1] = (struct keep_range){ .start = (char *)LARGE, .size = 4 * PAGE_SIZE };
	meta[0] = (struct meta_range){ (char *)LARGE - 0x10000, 0x10000 };
	meta[7] = (struct meta_range){ (char *)(LARGE * 2), 0x1000 };
	take();
	assert_int_equal(m->kind[MEMORY_KEPT], 4 * PAGE_SIZE);
	assert_int_equal(m->kind[MEMORY_META], 0x11000);
	counters->count = UINT64_MAX; /* the array bounds it */
	take();
	assert_int_equal(m->kind[MEMORY_KEPT], 8 * PAGE_SIZE);
}

/* A process that says that it has all addresses is not looked at for ever. */
static void test_too_much(void **state)
{
	struct meta_range *meta = fake_at(&f, TABLES);

	(void)state;
	fake_root(&f)->meta_ranges = TABLES;
	for (unsigned int i = 0; i < META_RANGES; i++)
		meta[i] = (struct meta_range){ (char *)0x1000, 1ul << 47 };
	take();
	assert_in_range(asked, 1ul << 30, (1ul << 30) + 2 * FAKE_NR_PAGES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kept_and_metadata, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_much, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
