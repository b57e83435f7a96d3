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

/* Of blocks as text. */
static unsigned int bytes_of(const char *blocks)
{
	unsigned int units = 0;
	unsigned int n;

	for (; sscanf(blocks, "(%*u,%u)", &n) == 1; blocks = strchr(blocks, ')') + 1)
		units += n;
	return units * SLOB_UNIT;
}

/* Exactly these blocks are free, "(unit,units)" each. */
#define EXPECT(page, blocks)                                                    \
	do {                                                                    \
		assert_string_equal(free_blocks(page), blocks);                 \
		assert_int_equal(slob_page_free_bytes(page), bytes_of(blocks)); \
		assert_true(slob_page_is_whole(page));                          \
	} while (0)

/* What is done to a page, and which blocks are free in it then. */
#define PUT(page, at, size, blocks)   \
	do {                          \
		put(page, at, size);  \
		EXPECT(page, blocks); \
	} while (0)

/* The block must be at that offset. */
#define TAKE_ALIGNED(page, at, size, align, header, blocks)                       \
	do {                                                                      \
		assert_int_equal(offset_of(take(page, size, align, header)), at); \
		EXPECT(page, blocks);                                             \
	} while (0)
#define TAKE(page, at, size, blocks) TAKE_ALIGNED(page, at, size, 2, 0, blocks)

/* There must be none. */
#define CANNOT_TAKE(page, size, align, blocks)           \
	do {                                             \
		assert_null(take(page, size, align, 0)); \
		EXPECT(page, blocks);                    \
	} while (0)

static void a_fresh_page_is_one_block(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();
	const int16_t *unit = page_address(page);

	EXPECT(page, "(0,2048)");
	assert_ptr_equal(page->freelist, unit);
	assert_int_equal(unit[0], 2048);
	assert_int_equal(unit[1], 2048);
	end_page(page);
}

static void the_low_end_is_taken(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	TAKE(page, 0, 10, "(5,2043)");
	TAKE(page, 10, 7, "(9,2039)"); /* rounded up to units */
	end_page(page);
}

/* The whole page in one piece; then nothing, until something comes back. */
static void a_page_can_be_full(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	TAKE_ALIGNED(page, 0, 4095, 8, 0, "");
	assert_null(page->freelist);
	CANNOT_TAKE(page, 1, 2, "");
	PUT(page, 0, 4095, "(0,2048)");
	end_page(page);
}

/* Blocks of 20 bytes, ten units each, from the start; the rest of the page in one block. */
static struct page *filled_page(void)
{
	struct page *page = fresh_page();

	for (unsigned int i = 0; i < 9; i++)
		assert_int_equal(offset_of(take(page, 20, 2, 0)), i * 20);
	assert_int_equal(offset_of(take(page, 4096 - 9 * 20, 2, 0)), 9 * 20);
	EXPECT(page, "");
	return page;
}

static void exact_fit_unlinks(__attribute__((unused)) void **state)
{
	struct page *page = filled_page();

	PUT(page, 20, 20, "(10,10)");
	PUT(page, 60, 20, "(10,10)(30,10)");
	PUT(page, 100, 20, "(10,10)(30,10)(50,10)");
	PUT(page, 140, 6, "(10,10)(30,10)(50,10)(70,3)");
	/* the last, one in the middle, the first */
	TAKE(page, 20, 20, "(30,10)(50,10)(70,3)");
	TAKE_ALIGNED(page, 60, 18, 4, 0, "(39,1)(50,10)(70,3)");
	TAKE(page, 100, 20, "(39,1)(70,3)");
	TAKE(page, 140, 6, "(39,1)");
	TAKE(page, 78, 1, "");
	end_page(page);
}

/* The first that fits, by address; not the best. */
static void first_fit(__attribute__((unused)) void **state)
{
	struct page *page = filled_page();

	PUT(page, 20, 10, "(10,5)");
	PUT(page, 60, 20, "(10,5)(30,10)");
	PUT(page, 100, 16, "(10,5)(30,10)(50,8)");
	TAKE(page, 60, 16, "(10,5)(38,2)(50,8)");
	TAKE(page, 20, 4, "(12,3)(38,2)(50,8)");
	/* 26 bytes are free, but not in one piece */
	CANNOT_TAKE(page, 18, 2, "(12,3)(38,2)(50,8)");
	end_page(page);
}

/* What lies before an aligned address stays free, as a block of its own. */
static void alignment_leaves_a_gap(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	TAKE(page, 0, 2, "(1,2047)");
	TAKE_ALIGNED(page, 64, 64, 64, 0, "(1,31)(64,1984)");
	/* behind a header: the address after it is aligned */
	TAKE_ALIGNED(page, 248, 264, 256, 8, "(1,31)(64,60)(256,1792)");
	/* in the gaps, from below: gap before it, none behind; then neither */
	TAKE_ALIGNED(page, 32, 32, 32, 0, "(1,15)(64,60)(256,1792)");
	TAKE(page, 2, 30, "(64,60)(256,1792)");
	TAKE_ALIGNED(page, 136, 24, 16, 8, "(64,4)(80,44)(256,1792)");
	end_page(page);
}

/* Enough units in the block, but not behind the gap that alignment needs. */
static void alignment_may_not_fit(__attribute__((unused)) void **state)
{
	struct page *page = filled_page();

	PUT(page, 20, 20, "(10,10)");
	CANNOT_TAKE(page, 20, 8, "(10,10)");
	TAKE_ALIGNED(page, 24, 16, 8, 0, "(10,2)");
	end_page(page);
}

/* Natural alignment of the largest power of two ends just at the page's end. */
static void half_a_page_behind_its_header(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	TAKE_ALIGNED(page, 2040, 2056, 2048, 8, "(0,1020)");
	PUT(page, 2040, 2056, "(0,2048)");
	end_page(page);
}

/* A free block of one unit has no room for two numbers: minus next. */
static void one_unit(__attribute__((unused)) void **state)
{
	struct page *page = filled_page();
	const int16_t *unit = page_address(page);

	PUT(page, 20, 2, "(10,1)");
	assert_int_equal(unit[10], -2048);
	PUT(page, 60, 1, "(10,1)(30,1)");
	assert_int_equal(unit[10], -30);
	PUT(page, 4094, 2, "(10,1)(30,1)(2047,1)"); /* the very last unit */
	assert_int_equal(unit[2047], -2048);
	TAKE_ALIGNED(page, 20, 2, 4, 0, "(30,1)(2047,1)");
	TAKE(page, 60, 2, "(2047,1)");
	TAKE(page, 4094, 2, "");
	end_page(page);
}

static void merging(__attribute__((unused)) void **state)
{
	struct page *page = filled_page();

	PUT(page, 80, 20, "(40,10)");
	PUT(page, 40, 20, "(20,10)(40,10)");	     /* before it, apart */
	PUT(page, 120, 20, "(20,10)(40,10)(60,10)"); /* behind, apart */
	PUT(page, 100, 10, "(20,10)(40,15)(60,10)"); /* with what comes before it */
	PUT(page, 30, 10, "(15,15)(40,15)(60,10)");  /* with what comes behind it */
	PUT(page, 60, 20, "(15,40)(60,10)");	     /* with both */
	PUT(page, 110, 10, "(15,55)");		     /* with both, the last one */
	PUT(page, 0, 30, "(0,70)");
	/* with what comes before, to the page's end */
	PUT(page, 140, 4096 - 140, "(0,2048)");
	end_page(page);
}

/* The rest of the page is free: what comes before it merges with the last block. */
static void merging_with_the_last(__attribute__((unused)) void **state)
{
	struct page *page = fresh_page();

	TAKE(page, 0, 20, "(10,2038)");
	TAKE(page, 20, 2, "(11,2037)");
	PUT(page, 0, 20, "(0,10)(11,2037)");
	PUT(page, 20, 2, "(0,2048)");
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
	EXPECT(page, "(0,2048)");
	end_page(page);
}

/* ---- damage ---- */

/* Free: (10,10) (30,1) (50,10). */
static struct page *patient(void)
{
	struct page *page = filled_page();

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
