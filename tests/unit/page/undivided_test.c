/* SPDX-License-Identifier: MIT */
/*
 * unit/page/undivided_test.c - page runs that were freed stay one range until blocks are wanted
 */
#include "fixture.h"
#include "page/zone.h"

static void take_chunks(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		CHILD_CHECK(take(BUDDY_MAX_ORDER) == (long)(i * CHUNK));
}

static void give_run(unsigned long index, unsigned long nr_pages, bool dirty)
{
	buddy_free_run(page_at(index), nr_pages, dirty);
	buddy_check();
}

/* Pages of the undivided range that begins there; 0: none does. */
static unsigned long undivided(unsigned long index)
{
	return page_at(index)->type == PAGE_UNDIVIDED ? page_at(index)->range_pages : 0;
}

static bool is_block(unsigned long index, unsigned int order)
{
	return page_at(index)->type == PAGE_BUDDY && page_at(index)->order == order;
}

static struct buddy_zone *zone(void)
{
	return &buddy_zones[0];
}

IN_CHILD(page_runs_join)
{
	fresh_arena();
	take_chunks(1);
	give_run(3, 8, true); /* too short */
	CHILD_CHECK(zone()->nr_undivided == 0 && is_block(3, 0) && is_block(4, 2));
	give_run(20, 9, true);
	give_run(40, 10, false);
	CHILD_CHECK(zone()->nr_undivided == 2 && undivided(20) == 9 && undivided(40) == 10);
	give_run(29, 11, true); /* between them */
	CHILD_CHECK(zone()->nr_undivided == 1 && undivided(20) == 30);
	CHILD_CHECK(page_at(20)->nr_pages == 20 && page_at(40)->type == PAGE_NONE);
	give_run(11, 9, true); /* and what is in blocks, as it is less */
	CHILD_CHECK(zone()->nr_undivided == 1 && undivided(3) == 47);
	CHILD_CHECK(stats()->nr_free == 47 && stats()->nr_dirty == 37);
}

IN_CHILD(blocks_beside_a_page_run_stay_blocks_if_they_are_more)
{
	fresh_arena();
	take_chunks(1);
	buddy_free_range(page_at(0), 64, true);
	give_run(64, 20, true);
	CHILD_CHECK(zone()->nr_undivided == 0 && is_block(0, 6) && is_block(64, 4));
	give_run(100, 100, true);
	buddy_free_range(page_at(84), 16,
			 true); /* no page run, but more of its neighbours are not */
	CHILD_CHECK(undivided(0) == 200 && zone()->nr_undivided == 1);
}

IN_CHILD(a_chunk_is_divided)
{
	fresh_arena();
	take_chunks(2);
	give_run(0, 600, true);
	CHILD_CHECK(undivided(0) == 600);
	give_run(600, CHUNK - 600 - 1, true);
	CHILD_CHECK(undivided(0) == CHUNK - 1);
	give_run(CHUNK - 1, 1, true);
	CHILD_CHECK(zone()->nr_undivided == 0 && is_block(0, BUDDY_MAX_ORDER));
	give_run(CHUNK + 100, 600, true);
	give_run(CHUNK, 100, true); /* with the chunk before it too long */
	CHILD_CHECK(zone()->nr_undivided == 0 && is_block(CHUNK, 9));
}

/* As any range it ends at a multiple of 16 chunks. */
IN_CHILD(ends_where_ranges_end)
{
	unsigned long edge = 16 * CHUNK;

	fresh_arena();
	take_chunks(17);
	give_run(edge - 50, 50, true);
	give_run(edge, 50, true);
	CHILD_CHECK(undivided(edge - 50) == 50 && undivided(edge) == 50);
	CHILD_CHECK(buddy_claim_range(page_at(edge - 20), 40, NULL));
	buddy_check();
	CHILD_CHECK(undivided(edge - 50) == 30 && undivided(edge + 20) == 30);
	give_run(edge - 20, 40, true); /* of both: in blocks */
	CHILD_CHECK(zone()->nr_undivided == 0);
	CHILD_CHECK(page_at(edge - 50)->range_pages == 50 && page_at(edge)->range_pages == 50);
}

IN_CHILD(what_is_cut_off_stays_so_unless_it_is_short)
{
	bool zeroed = true;

	fresh_arena();
	take_chunks(1);
	zone()->clock = 77;
	give_run(100, 100, true);
	CHILD_CHECK(buddy_claim_range(page_at(130), 20, &zeroed) && !zeroed);
	buddy_check();
	CHILD_CHECK(undivided(100) == 30 && undivided(150) == 50);
	CHILD_CHECK(buddy_claim_range(page_at(108), 22, NULL));
	CHILD_CHECK(!undivided(100) && is_block(100, 2) && is_block(104, 2));
	CHILD_CHECK(page_at(100)->stamp == 77 && page_at(150)->stamp == 77);
	CHILD_CHECK(buddy_claim_range(page_at(150), 50, NULL)); /* all of it */
	CHILD_CHECK(zone()->nr_undivided == 0 && stats()->nr_free == 8);
	buddy_check();
	CHILD_CHECK(!buddy_claim_range(page_at(107), 2, NULL));
	give_run(300, 12, false);
	CHILD_CHECK(buddy_alloc_fit(12, &zeroed) == page_at(300) && zeroed);
	CHILD_CHECK(stats()->nr_free == 8);
}

/* The shortest one that has the block, unless a list has one as small. */
IN_CHILD(a_block_is_taken_out_of_the_shortest)
{
	fresh_arena();
	take_chunks(1);
	give_run(0, 100, true);
	give_run(201, 20, true);
	give_run(400, 300, true);
	CHILD_CHECK(take(3) == 208 && undivided(0) == 100 && undivided(400) == 300);
	buddy_check();
	CHILD_CHECK(is_block(204, 2) && is_block(216, 2) && take(2) == 204);
	CHILD_CHECK(take(7) == 512 && undivided(0) == 100 && !undivided(400));
	CHILD_CHECK(take(5) == 640 && undivided(0) == 100);
	CHILD_CHECK(take(4) == 400 && take(4) == 672 && undivided(0) == 100);
	buddy_check();
}

/* One that is just as long as the block has it by chance; then all are divided, then it grows. */
IN_CHILD(a_block_is_found_before_the_arena_grows)
{
	fresh_arena();
	take_chunks(1);
	for (unsigned long i = 0; i < 20; i++)
		give_run(40 * i + 1, 30, true); /* none has 32 */
	give_run(832, 32, false);
	CHILD_CHECK(zone()->nr_undivided == 21 && take(5) == 832);
	CHILD_CHECK(zone()->nr_undivided == 20 && take(5) == (long)CHUNK);
	CHILD_CHECK(zone()->nr_undivided == 0 && take(4) < (long)CHUNK);
	buddy_check();
}

/* Blocks that are not resident come after what is. */
IN_CHILD(resident_pages_come_first)
{
	fresh_arena();
	take_chunks(1);
	buddy_free_range(page_at(512), 8, false);
	give_run(600, 40, true);
	CHILD_CHECK(take(3) == 600 && is_block(608, 5));
	buddy_check();
}

IN_CHILD(a_trim_takes_all_of_it)
{
	fresh_arena();
	take_chunks(1);
	give_run(100, 300, true);
	CHILD_CHECK(buddy_trim(0) == 300 * PAGE_SIZE);
	CHILD_CHECK(stats()->nr_dirty == 0 && zone()->nr_undivided == 0);
	buddy_check();
}

/* ---- against a model ------------------------------------------------------------------------- */

#define MODEL_CHUNKS 3ul
#define MODEL_PAGES (MODEL_CHUNKS * CHUNK)

static struct {
	uint8_t used[MODEL_PAGES]; /* 1; of the first page of a block: its order + 2 */
	bool dirty[MODEL_PAGES];
	uint64_t random;
} model;

static unsigned long random_below(unsigned long n)
{
	model.random = model.random * 6364136223846793005ul + 1442695040888963407ul;
	return (model.random >> 33) % n;
}

static void note(unsigned long index, unsigned long nr_pages, uint8_t used)
{
	memset(&model.used[index], used, nr_pages);
}

static void free_some(unsigned long index)
{
	unsigned long most = 1 + random_below(random_below(8) ? 60 : 1200);
	bool dirty = random_below(2);
	unsigned long n = 0;

	if (model.used[index] > 1) { /* a block of the buddy allocator */
		unsigned int order = model.used[index] - 2u;

		buddy_free(page_at(index), order, true);
		n = 1ul << order;
		dirty = true;
	} else {
		while (n < most && index + n < MODEL_PAGES && model.used[index + n] == 1)
			n++;
		if (random_below(4))
			buddy_free_run(page_at(index), n, dirty);
		else
			buddy_free_range(page_at(index), n, dirty);
	}
	note(index, n, 0);
	for (unsigned long i = index; i < index + n; i++)
		model.dirty[i] |= dirty;
}

static void take_block(void)
{
	unsigned int order = (unsigned int)random_below(8);
	struct page *page = buddy_try_alloc(0, order);
	unsigned long index;

	if (!page)
		return;
	index = index_of(page);
	for (unsigned long i = index; i < index + (1ul << order); i++)
		CHILD_CHECK(model.used[i] == 0);
	note(index, 1ul << order, UINT8_MAX); /* to be freed by its first page alone */
	model.used[index] = (uint8_t)(order + 2);
}

static void take_some(unsigned long index)
{
	unsigned long most = 1 + random_below(random_below(8) ? 60 : 1200);
	unsigned long n = 0;

	while (n < most && index + n < MODEL_PAGES && model.used[index + n] == 0)
		n++;
	CHILD_CHECK(buddy_claim_range(page_at(index), n, NULL));
	note(index, n, 1);
}

static void check_model(void)
{
	unsigned long nr_dirty = 0;

	for (unsigned long i = 0; i < MODEL_PAGES; i++) {
		CHILD_CHECK(zone_has_free(i) == !model.used[i]);
		CHILD_CHECK(zone_count_dirty(i, 1) == model.dirty[i]);
		nr_dirty += !model.used[i] && model.dirty[i];
	}
	CHILD_CHECK(stats()->nr_dirty == nr_dirty);
	buddy_check();
}

IN_CHILD(pages_are_as_a_model_says)
{
	unsigned long most = 0;

	fresh_arena();
	take_chunks(MODEL_CHUNKS);
	note(0, MODEL_PAGES, 1);
	model.random = 20261130;
	for (unsigned int step = 0; step < rounds(20000); step++) {
		unsigned long index = random_below(MODEL_PAGES);

		if (random_below(4) == 0)
			take_block();
		else if (model.used[index] == 0)
			take_some(index);
		else if (model.used[index] != UINT8_MAX)
			free_some(index);
		most = MAX(most, zone()->nr_undivided);
		if (step % 50 == 0)
			check_model();
		if (step % 1000 == 0)
			zone_divide_all_locked(zone());
	}
	check_model();
	CHILD_CHECK(most > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_runs_join),
		cmocka_unit_test(blocks_beside_a_page_run_stay_blocks_if_they_are_more),
		cmocka_unit_test(a_chunk_is_divided),
		cmocka_unit_test(ends_where_ranges_end),
		cmocka_unit_test(what_is_cut_off_stays_so_unless_it_is_short),
		cmocka_unit_test(a_block_is_taken_out_of_the_shortest),
		cmocka_unit_test(a_block_is_found_before_the_arena_grows),
		cmocka_unit_test(resident_pages_come_first),
		cmocka_unit_test(a_trim_takes_all_of_it),
		cmocka_unit_test(pages_are_as_a_model_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
