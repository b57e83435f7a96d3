/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slob/page_test.c - one page: first fit, gaps of alignment, merging, damage
 */
#include "fixture.h"

/* A page with one free block. */
static struct page *fresh_page(void)
{
	struct page *page = buddy_alloc(-1, 0, false, NULL);

	if (!page)
		abort();
	slob_page_init(page);
	return page;
}

static void end_page(struct page *page)
{
	assert_true(slob_page_is_whole(page));
	buddy_free(page, 0, true);
}

static void *take(struct page *page, unsigned int size, unsigned int align, unsigned int header)
{
	struct slob_shape shape = { .size = size, .align = align, .header = header };

	return slob_page_take(page, &shape);
}

/* A block at a byte offset of the page. */
static void put(struct page *page, unsigned int offset, unsigned int size)
{
	assert_int_equal(slob_page_put(page, (char *)page_address(page) + offset, size), SLOB_PUT);
}

static void expect(const struct page *page, const char *blocks, unsigned int free_bytes)
{
	assert_string_equal(free_blocks(page), blocks);
	assert_int_equal(slob_page_free_bytes(page), free_bytes);
	assert_true(slob_page_is_whole(page));
}

static void a_fresh_page_is_one_block(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();
	const int16_t *unit = page_address(page);

	expect(page, "(0,2048)", 4096);
	assert_ptr_equal(page->freelist, unit);
	assert_int_equal(unit[0], 2048);
	assert_int_equal(unit[1], 2048);
	end_page(page);
}

static void the_low_end_is_taken(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	assert_int_equal(offset_of(take(page, 10, 2, 0)), 0);
	expect(page, "(5,2043)", 4086);
	assert_int_equal(offset_of(take(page, 7, 2, 0)), 10); /* rounded up to units */
	expect(page, "(9,2039)", 4078);
	end_page(page);
}

/* The whole page in one piece; then nothing, until something comes back. */
static void a_page_can_be_full(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	assert_int_equal(offset_of(take(page, 4095, 8, 0)), 0);
	expect(page, "", 0);
	assert_null(page->freelist);
	assert_null(take(page, 1, 2, 0));
	put(page, 0, 4095);
	expect(page, "(0,2048)", 4096);
	end_page(page);
}

/* Blocks of 20 bytes, ten units each, from the start; the rest of the page in one block. */
static void fill(struct page *page, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		assert_int_equal(offset_of(take(page, 20, 2, 0)), i * 20);
	assert_int_equal(offset_of(take(page, 4096 - n * 20, 2, 0)), n * 20);
	expect(page, "", 0);
}

static void exact_fit_unlinks(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	fill(page, 9);
	put(page, 20, 20);
	put(page, 60, 20);
	put(page, 100, 20);
	expect(page, "(10,10)(30,10)(50,10)", 60);
	put(page, 60 + 80, 6);
	expect(page, "(10,10)(30,10)(50,10)(70,3)", 66);
	/* the last, one in the middle, the first */
	assert_int_equal(offset_of(take(page, 20, 2, 0)), 20);
	expect(page, "(30,10)(50,10)(70,3)", 46);
	assert_int_equal(offset_of(take(page, 18, 4, 0)), 60);
	expect(page, "(39,1)(50,10)(70,3)", 28);
	assert_int_equal(offset_of(take(page, 20, 2, 0)), 100);
	expect(page, "(39,1)(70,3)", 8);
	assert_int_equal(offset_of(take(page, 6, 2, 0)), 140);
	expect(page, "(39,1)", 2);
	assert_int_equal(offset_of(take(page, 1, 2, 0)), 78);
	expect(page, "", 0);
	end_page(page);
}

/* The first that fits, by address; not the best. */
static void first_fit(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	fill(page, 9);
	put(page, 20, 10);
	put(page, 60, 20);
	put(page, 100, 16);
	expect(page, "(10,5)(30,10)(50,8)", 46);
	assert_int_equal(offset_of(take(page, 16, 2, 0)), 60);
	expect(page, "(10,5)(38,2)(50,8)", 30);
	assert_int_equal(offset_of(take(page, 4, 2, 0)), 20);
	expect(page, "(12,3)(38,2)(50,8)", 26);
	assert_null(take(page, 18, 2, 0)); /* 26 bytes are free, but not in one piece */
	expect(page, "(12,3)(38,2)(50,8)", 26);
	end_page(page);
}

/* What lies before an aligned address stays free, as a block of its own. */
static void alignment_leaves_a_gap(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	take(page, 2, 2, 0);
	assert_int_equal(offset_of(take(page, 64, 64, 0)), 64);
	expect(page, "(1,31)(64,1984)", 4030);
	/* behind a header: the address after it is aligned */
	assert_int_equal(offset_of(take(page, 264, 256, 8)), 248);
	expect(page, "(1,31)(64,60)(256,1792)", 3766);
	/* in the gaps, from below: gap before it, none behind; then neither */
	assert_int_equal(offset_of(take(page, 32, 32, 0)), 32);
	expect(page, "(1,15)(64,60)(256,1792)", 3734);
	assert_int_equal(offset_of(take(page, 30, 2, 0)), 2);
	expect(page, "(64,60)(256,1792)", 3704);
	assert_int_equal(offset_of(take(page, 24, 16, 8)), 136);
	expect(page, "(64,4)(80,44)(256,1792)", 3680);
	end_page(page);
}

/* Enough units in the block, but not behind the gap that alignment needs. */
static void alignment_may_not_fit(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	fill(page, 9);
	put(page, 20, 20);
	assert_null(take(page, 20, 8, 0));
	expect(page, "(10,10)", 20);
	assert_int_equal(offset_of(take(page, 16, 8, 0)), 24);
	expect(page, "(10,2)", 4);
	end_page(page);
}

/* Natural alignment of the largest power of two ends just at the page's end. */
static void half_a_page_behind_its_header(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	assert_int_equal(offset_of(take(page, 2056, 2048, 8)), 2040);
	expect(page, "(0,1020)", 2040);
	put(page, 2040, 2056);
	expect(page, "(0,2048)", 4096);
	end_page(page);
}

/* A free block of one unit has no room for two numbers: minus next. */
static void one_unit(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();
	const int16_t *unit = page_address(page);

	fill(page, 9);
	put(page, 20, 2);
	expect(page, "(10,1)", 2);
	assert_int_equal(unit[10], -2048);
	put(page, 60, 1);
	expect(page, "(10,1)(30,1)", 4);
	assert_int_equal(unit[10], -30);
	put(page, 4094, 2); /* the very last unit */
	expect(page, "(10,1)(30,1)(2047,1)", 6);
	assert_int_equal(unit[2047], -2048);
	assert_int_equal(offset_of(take(page, 2, 4, 0)), 20);
	expect(page, "(30,1)(2047,1)", 4);
	assert_int_equal(offset_of(take(page, 2, 2, 0)), 60);
	assert_int_equal(offset_of(take(page, 2, 2, 0)), 4094);
	expect(page, "", 0);
	end_page(page);
}

static void merging(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	fill(page, 9);
	put(page, 80, 20);
	put(page, 40, 20); /* before it, apart */
	expect(page, "(20,10)(40,10)", 40);
	put(page, 120, 20); /* behind, apart */
	expect(page, "(20,10)(40,10)(60,10)", 60);
	put(page, 100, 10); /* with what comes before it */
	expect(page, "(20,10)(40,15)(60,10)", 70);
	put(page, 30, 10); /* with what comes behind it */
	expect(page, "(15,15)(40,15)(60,10)", 80);
	put(page, 60, 20); /* with both */
	expect(page, "(15,40)(60,10)", 100);
	put(page, 110, 10); /* with both, the last one */
	expect(page, "(15,55)", 110);
	put(page, 0, 30);
	expect(page, "(0,70)", 140);
	put(page, 140, 4096 - 140); /* with what comes before, to the page's end */
	expect(page, "(0,2048)", 4096);
	end_page(page);
}

/* The rest of the page is free: what comes before it merges with the last block. */
static void merging_with_the_last(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	take(page, 20, 2, 0);
	take(page, 2, 2, 0);
	put(page, 0, 20);
	expect(page, "(0,10)(11,2037)", 4094);
	put(page, 20, 2);
	expect(page, "(0,2048)", 4096);
	end_page(page);
}

/* Each unit of the page against a map, with sizes, alignments and headers as they come. */
static void random_blocks(__attribute__((unused)) void **state)
{
	static struct {
		unsigned int offset;
		unsigned int size;
	} out[512];
	static unsigned char used[SLOB_PAGE_UNITS];
	struct page *page = fresh_page();
	unsigned int seed = 5;
	unsigned int n = 0;
	unsigned int step;
	unsigned int free = SLOB_PAGE_UNITS;

	memset(used, 0, sizeof(used));
	for (step = 0; step < 20000; step++) {
		unsigned int size = 1 + (unsigned int)rand_r(&seed) % (step % 7 ? 40 : 300);
		unsigned int units = (size + 1) / 2;
		unsigned int align = 2u << rand_r(&seed) % 6;
		void *block;

		if (rand_r(&seed) % 512 >= (int)n && n < 512 &&
		    (block = take(page, size, align, 0))) {
			out[n].offset = offset_of(block);
			out[n].size = size;
			assert_int_equal(out[n].offset % align, 0);
			assert_null(memchr(used + out[n].offset / 2, 1, units));
			memset(used + out[n].offset / 2, 1, units);
			memset(block, 0x55, units * 2);
			n++;
			free -= units;
		} else if (n) {
			unsigned int i = (unsigned int)rand_r(&seed) % n;

			units = (out[i].size + 1) / 2;
			memset(used + out[i].offset / 2, 0, units);
			put(page, out[i].offset, out[i].size);
			out[i] = out[--n];
			free += units;
		}
		assert_int_equal(slob_page_free_bytes(page), free * 2);
		assert_true(slob_page_is_whole(page));
	}
	while (n--)
		put(page, out[n].offset, out[n].size);
	expect(page, "(0,2048)", 4096);
	end_page(page);
}

/* ---- damage ---- */

/* Free: (10,10) (30,1) (50,10). */
static struct page *patient(void)
{
	struct page *page = fresh_page();
	unsigned int i;

	for (i = 0; i < 9; i++)
		take(page, 20, 2, 0);
	take(page, 4096 - 180, 2, 0);
	put(page, 20, 20);
	put(page, 60, 2);
	put(page, 100, 20);
	return page;
}

/* The page as it is, to its last byte. */
struct copy {
	char bytes[PAGE_SIZE];
	struct page page;
};

static void keep(struct copy *copy, const struct page *page)
{
	memcpy(copy->bytes, page_address(page), PAGE_SIZE);
	copy->page = *page;
}

static void untouched(const struct copy *copy, const struct page *page)
{
	assert_memory_equal(copy->bytes, page_address(page), PAGE_SIZE);
	assert_memory_equal(&copy->page, page, sizeof(*page));
}

static enum slob_put try_put(struct page *page, unsigned int offset, unsigned int size)
{
	return slob_page_put(page, (char *)page_address(page) + offset, size);
}

static void what_is_free_cannot_be_freed(__attribute__((unused)) void **state)
{
	static const unsigned int wrongs[][2] = {
		/* offset, size */
		{ 20, 20 },  { 30, 4 },	  { 38, 4 },	{ 18, 4 },  { 60, 2 },
		{ 58, 4 },   { 58, 60 },  { 100, 20 },	{ 118, 4 }, { 90, 11 },
		{ 0, 4096 }, { 4090, 8 }, { 4094, 40 }, { 119, 2 }, { 140, 4000 },
	};
	static struct copy before;
	struct page *page = patient();

	keep(&before, page);
	for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
		assert_int_equal(try_put(page, wrongs[i][0], wrongs[i][1]), SLOB_PUT_AGAIN);
		untouched(&before, page);
	}
	buddy_free(page, 0, true);
}

/*
 * A link that was overwritten, by unit number and what is there then: nobody follows it. No endless
 * loop, nothing outside of the page, and nothing is done.
 */
static void links_are_looked_at(__attribute__((unused)) void **state)
{
	static const struct {
		unsigned int unit;
		int16_t value;
	} harms[] = {
		{ 10, 0 },	{ 10, 1 },	{ 10, 32767 }, { 10, 2040 },  { 10, -10 },
		{ 10, -9 },	{ 10, -32768 }, { 10, -2049 }, { 11, 10 },    { 11, 0 },
		{ 11, -30 },	{ 11, 19 },	{ 11, 2049 },  { 11, 32767 }, { 30, -30 },
		{ 30, -10 },	{ 30, 0 },	{ 30, 1 },     { 30, 2019 },  { 50, 1999 },
		{ 51, -32768 }, { 51, 50 },
	};
	static struct copy before;

	for (size_t i = 0; i < ARRAY_SIZE(harms); i++) {
		struct page *page = patient();

		((int16_t *)page_address(page))[harms[i].unit] = harms[i].value;
		keep(&before, page);
		assert_ptr_equal(take(page, 400, 2, 0), SLOB_BROKEN);
		untouched(&before, page);
		assert_int_equal(try_put(page, 140, 20), SLOB_PUT_BROKEN);
		untouched(&before, page);
		assert_false(slob_page_is_whole(page));
		buddy_free(page, 0, true);
	}
}

/* A block that is left out, or longer than it was, can only be seen by adding up. */
static void sizes_are_added_up(__attribute__((unused)) void **state)
{
	static const int16_t harms[][2] = { { 11, 50 }, { 10, 12 }, { 50, 30 }, { 11, 2048 } };

	for (size_t i = 0; i < ARRAY_SIZE(harms); i++) {
		struct page *page = patient();

		((int16_t *)page_address(page))[harms[i][0]] = harms[i][1];
		assert_false(slob_page_is_whole(page));
		assert_ptr_equal(take(page, 400, 2, 0), SLOB_BROKEN);
		buddy_free(page, 0, true);
	}
}

/* Two free blocks that touch: harmless to follow, but wrong. */
static void free_blocks_never_touch(__attribute__((unused)) void **state)
{
	struct page *page = patient();
	int16_t *unit = page_address(page);

	unit[10] = 5;
	unit[11] = 15;
	unit[15] = 5;
	unit[16] = 30;
	assert_false(slob_page_is_whole(page));
	buddy_free(page, 0, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_page_is_one_block),
		cmocka_unit_test(the_low_end_is_taken),
		cmocka_unit_test(a_page_can_be_full),
		cmocka_unit_test(exact_fit_unlinks),
		cmocka_unit_test(first_fit),
		cmocka_unit_test(alignment_leaves_a_gap),
		cmocka_unit_test(alignment_may_not_fit),
		cmocka_unit_test(half_a_page_behind_its_header),
		cmocka_unit_test(one_unit),
		cmocka_unit_test(merging),
		cmocka_unit_test(merging_with_the_last),
		cmocka_unit_test(random_blocks),
		cmocka_unit_test(what_is_free_cannot_be_freed),
		cmocka_unit_test(links_are_looked_at),
		cmocka_unit_test(sizes_are_added_up),
		cmocka_unit_test(free_blocks_never_touch),
	};

	return cmocka_run_group_tests(tests, slob_group_setup, NULL);
}
