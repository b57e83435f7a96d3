/* SPDX-License-Identifier: MIT */
/*
 * unit/page/buddy_range_test.c - pages in a row, out of free blocks and back into them
 */
#include "fixture.h"
#include "page/zone.h"

IN_CHILD(any_number_of_pages_can_be_freed)
{
	struct buddy_stats stats;

	fresh_arena();
	CHILD_CHECK(take(10) == 0 && take(10) == 1024);
	buddy_free_range(page_at(3), 1, true);
	buddy_free_range(page_at(5), 1400, true);
	buddy_check();
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_free == 1401 && stats.nr_dirty == 1401);
	CHILD_CHECK(page_at(512)->order == 9 && page_at(512)->type == PAGE_BUDDY);
	buddy_free_range(page_at(0), 0, true);
	buddy_free_range(page_at(0), 3, false);
	buddy_free_range(page_at(4), 1, false);
	buddy_free_range(page_at(1405), 2048 - 1405, false);
	buddy_check();
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_free == 2048 && stats.nr_dirty == 1401);
	CHILD_CHECK(page_at(0)->order == 10 && page_at(1024)->order == 10);
}

IN_CHILD(free_pages_can_be_claimed_where_they_are)
{
	struct buddy_stats stats;
	bool zeroed = false;

	fresh_arena();
	CHILD_CHECK(take(0) == 0);
	/* From inside a block to inside another; what is around them stays free. */
	CHILD_CHECK(buddy_claim_range(page_at(3), 100, &zeroed) && zeroed);
	buddy_check();
	CHILD_CHECK(!buddy_claim_range(page_at(102), 1, NULL));
	CHILD_CHECK(!buddy_claim_range(page_at(2), 2, NULL));
	CHILD_CHECK(!buddy_claim_range(page_at(0), 1, NULL));
	CHILD_CHECK(!buddy_claim_range(page_at(1023), 2, NULL)); /* beyond the arena */
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_free == CHUNK - 101);
	give(50, 0);
	CHILD_CHECK(buddy_claim_range(page_at(50), 1, &zeroed) && !zeroed);
	CHILD_CHECK(buddy_claim_range(page_at(1), 2, &zeroed) && zeroed);
	CHILD_CHECK(buddy_claim_range(page_at(103), 1024 - 103, &zeroed) && zeroed);
	buddy_stats(0, &stats);
	CHILD_CHECK(stats.nr_free == 0 && stats.nr_dirty == 0);
	buddy_check();
}

IN_CHILD(a_claim_does_not_cross_into_another_node)
{
	struct page *first;

	two_small_nodes();
	first = buddy_alloc(0, 10, true, NULL);
	CHILD_CHECK(buddy_alloc(1, 10, true, NULL) == first + CHUNK);
	buddy_free(first, 10, true);
	buddy_free(first + CHUNK, 10, true);
	CHILD_CHECK(!buddy_claim_range(first + CHUNK - 1, 2, NULL));
	CHILD_CHECK(buddy_claim_range(first + CHUNK - 1, 1, NULL));
	CHILD_CHECK(buddy_claim_range(first + CHUNK, 1, NULL));
	buddy_check();
}

/* What a claim leaves of a block counts as freed by then: that is what purges go by. */
IN_CHILD(what_a_claim_leaves_is_new)
{
	static const unsigned long heads[] = { 0, 2, 4, 8, 16, 32, 64, 128, 256, 512 };

	fresh_arena();
	CHILD_CHECK(take(BUDDY_MAX_ORDER) == 0);
	give(0, BUDDY_MAX_ORDER);
	page_at(0)->stamp = 5;
	buddy_zones[0].clock = 77;
	CHILD_CHECK(buddy_claim_range(page_at(3), 1, NULL));
	for (unsigned int i = 0; i < ARRAY_SIZE(heads); i++)
		CHILD_CHECK(page_at(heads[i])->type == PAGE_BUDDY &&
			    page_at(heads[i])->stamp == 77);
	buddy_check();
}

/* ---- against a model ------------------------------------------------------------------------- */

#define MODEL_CHUNKS 3ul
#define MODEL_PAGES (MODEL_CHUNKS * CHUNK)

static struct {
	bool used[MODEL_PAGES];
	bool dirty[MODEL_PAGES];
	uint64_t random;
} model;

static unsigned long random_below(unsigned long n)
{
	model.random = model.random * 6364136223846793005ul + 1442695040888963407ul;
	return (model.random >> 33) % n;
}

/* Pages from index on that are used, or free, up to so many. */
static unsigned long in_a_row(unsigned long index, bool used, unsigned long most)
{
	unsigned long n = 0;

	while (n < most && index + n < MODEL_PAGES && model.used[index + n] == used)
		n++;
	return n;
}

static void claim_some(unsigned long index, unsigned long nr_pages)
{
	bool is_free = in_a_row(index, false, nr_pages) == nr_pages;
	bool zeroed = false;
	bool clean = true;

	CHILD_CHECK(buddy_claim_range(page_at(index), nr_pages, &zeroed) == is_free);
	for (unsigned long i = index; is_free && i < index + nr_pages; i++) {
		model.used[i] = true;
		clean = clean && !model.dirty[i];
	}
	CHILD_CHECK(zeroed == (is_free && clean));
}

static void free_some(unsigned long index, unsigned long most, bool dirty)
{
	unsigned long nr_pages = in_a_row(index, true, most);

	buddy_free_range(page_at(index), nr_pages, dirty);
	for (unsigned long i = index; i < index + nr_pages; i++) {
		model.used[i] = false;
		model.dirty[i] = model.dirty[i] || dirty;
	}
}

/* The bits of each page, and by buddy_check() blocks, counts and ranges. */
static void check_model(void)
{
	unsigned long nr_dirty = 0;

	for (unsigned long i = 0; i < MODEL_PAGES; i++) {
		CHILD_CHECK((page_map.free[i / 64] >> i % 64 & 1) == !model.used[i]);
		CHILD_CHECK(zone_count_dirty(i, 1) == model.dirty[i]);
		nr_dirty += !model.used[i] && model.dirty[i];
	}
	CHILD_CHECK(stats()->nr_dirty == nr_dirty);
	buddy_check();
}

IN_CHILD(ranges_of_any_length_are_as_a_model_says)
{
	fresh_arena();
	for (unsigned long i = 0; i < MODEL_CHUNKS; i++)
		CHILD_CHECK(take(BUDDY_MAX_ORDER) == (long)(i * CHUNK));
	memset(model.used, true, sizeof(model.used));
	model.random = 20261129;
	for (unsigned int step = 0; step < rounds(20000); step++) {
		unsigned long index = random_below(MODEL_PAGES);
		unsigned long most = 1 + random_below(random_below(8) ? 40 : 1200);

		if (model.used[index])
			free_some(index, most, random_below(2));
		else
			claim_some(index, MIN(most, MODEL_PAGES - index));
		if (step % 50 == 0)
			check_model();
	}
	check_model();
}

/* Words of bits: the first and the last one in part, those between whole, or one alone. */
IN_CHILD(bits_are_counted_and_set_in_a_row)
{
	unsigned long *bits = NULL;

	fresh_arena();
	CHILD_CHECK(take(BUDDY_MAX_ORDER) == 0);
	bits = page_map.dirty;
	for (unsigned long from = 0; from < 130; from++) {
		for (unsigned long n = 0; n < 200; n++) {
			memset(bits, from % 2 ? 0xff : 0, 512 / 8);
			zone_set_bits(bits, from, n, !(from % 2));
			CHILD_CHECK(zone_count_dirty(0, 512) == (from % 2 ? 512 - n : n));
			CHILD_CHECK(zone_count_dirty(from, n) == (from % 2 ? 0 : n));
			CHILD_CHECK(!from ||
				    zone_count_dirty(from - 1, n + 1) == (from % 2 ? 1 : n));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_pages_can_be_freed),
		cmocka_unit_test(free_pages_can_be_claimed_where_they_are),
		cmocka_unit_test(a_claim_does_not_cross_into_another_node),
		cmocka_unit_test(what_a_claim_leaves_is_new),
		cmocka_unit_test(ranges_of_any_length_are_as_a_model_says),
		cmocka_unit_test(bits_are_counted_and_set_in_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
