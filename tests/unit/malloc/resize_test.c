/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/resize_test.c - calloc and realloc against a model that holds the bytes
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "bare.h"
#include "base/bits.h"
#include "cache/instrument/instrument.h"
#include "child.h"
#include "debug/pages/blocks.h"
#include "debug/report/report.h"
#include "in_memory.h"
#include "malloc/hot.h"
#include "malloc/libc.h"
#include "os/instrument/probe.h"
#include "os/memory/vm.h"
#include "os/process/filter.h"
#include "page/page.h"
#include "replaced.h"
#include <uslab/manage.h>

static void *(*volatile alloc)(size_t) = malloc;
static void *(*volatile zalloc)(size_t, size_t) = calloc;
static void *(*volatile resize)(void *, size_t) = realloc;
static void *(*volatile resize_array)(void *, size_t, size_t) = reallocarray;
static void (*volatile give)(void *) = free;

static uint64_t seed = 1;

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

/* Byte i of block number n. */
static unsigned char pattern(unsigned int n, size_t i)
{
	return (unsigned char)(n * 31 + i * 7 + (i >> 8));
}

static void test_calloc_is_zero(void **state)
{
	(void)state;
	for (size_t size = 1; size < 12 << 20; size = size * 3 / 2 + 1) {
		for (int round = 0; round < 3; round++) {
			unsigned char *p = zalloc(1, size);

			assert_non_null(p);
			for (size_t i = 0; i < size; i++)
				if (p[i])
					fail_msg("calloc(%zu): byte %zu is %u", size, i, p[i]);
			memset(p, 0xee, size);
			give(p);
		}
	}
	give(zalloc(0, 100));
	give(zalloc(100, 0));
}

/* Every byte that malloc_usable_size() lets a program use is zero, whatever lay there before. */
static void test_calloc_clears_all_usable(void **state)
{
	(void)state;
	for (size_t size = 0; size < 12 << 20; size = size * 3 / 2 + 1) {
		unsigned char *p = alloc(size);
		size_t usable = malloc_usable_size(p);

		memset(p, 0xee, usable);
		give(p);
		p = zalloc(1, size);
		assert_non_null(p);
		usable = malloc_usable_size(p);
		for (size_t i = 0; i < usable; i++)
			if (p[i])
				fail_msg("calloc(1, %zu): byte %zu of %zu is %u", size, i, usable,
					 p[i]);
		memset(p, 0xee, usable);
		give(p);
	}
}

/* A large table that few pages are used of, again and again. */
static void use_sparse_tables(void *filtered)
{
	enum { SIZE = 64 << 20 };

	malloc_trim(0);			       /* else it gets pages of other blocks */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a byte in each MiB would bring all of it */
	if (filtered)
		child_end_at(SYS_mincore);
	for (int round = 0; round < 6; round++) {
		unsigned char *p = zalloc(SIZE / 64, 64);

		CHILD_CHECK(p);
		for (size_t i = 0; i < SIZE; i += 1 << 20) {
			CHILD_CHECK(!p[i] && !p[i + 5]);
			p[i + 5] = 1;
		}
		if (os_filter_lets_through() && bare_process() && os_page_size() == PAGE_SIZE)
			CHILD_CHECK(pages_in_memory(p, SIZE) <= SIZE / PAGE_SIZE / 16);
		give(p);
	}
}

static void test_calloc_sparse(void **state)
{
	struct child c;

	(void)state;
	if (is_emulated())
		skip_because("mincore is the emulator's");
	c = child_run(use_sparse_tables, NULL);
	assert_true(child_passed(&c));
	c = child_run(use_sparse_tables, &c);
	assert_true(child_passed(&c));
}

static void test_overflow(void **state)
{
	void *p = alloc(10);

	(void)state;
	errno = 0;
	assert_null(zalloc(SIZE_MAX / 2, 3));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	assert_null(resize_array(p, (size_t)1 << 32, (size_t)1 << 32));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	assert_null(resize(p, SIZE_MAX - 100));
	assert_int_equal(errno, ENOMEM);
	give(p); /* failures left it alone */
}

/* Any size to any other: the common bytes stay. */
static void test_realloc_model(void **state)
{
	enum { NR = 40 };
	static struct {
		unsigned char *p;
		size_t size;
	} blocks[NR];

	(void)state;
	for (unsigned int step = 0; step < 6000; step++) {
		unsigned int n = (unsigned int)(next_random() % NR);
		size_t size = 1 + (next_random() & ((1ul << (next_random() % 18)) - 1));
		size_t kept = MIN(size, blocks[n].size);
		unsigned char *p;

		if (step % 500 == 0)
			size += 5 << 20; /* beyond the arena, now and then */
		p = resize(blocks[n].p, size);
		assert_non_null(p);
		assert_true(malloc_usable_size(p) >= size);
		for (size_t i = 0; i < kept; i++)
			if (p[i] != pattern(n, i))
				fail_msg("step %u: %zu -> %zu: byte %zu is wrong", step,
					 blocks[n].size, size, i);
		for (size_t i = kept; i < size; i++)
			p[i] = pattern(n, i);
		blocks[n].p = p;
		blocks[n].size = size;
	}
	for (unsigned int n = 0; n < NR; n++)
		assert_null(resize(blocks[n].p, 0)); /* frees, as in glibc */
}

static void test_realloc_in_place(void **state)
{
	void *p = alloc(1000);
	size_t usable = malloc_usable_size(p);

	(void)state;
	assert_int_equal(usable, 1024);
	assert_ptr_equal(resize(p, usable), p);
	assert_ptr_equal(resize(p, 1000), p);
	p = resize(p, usable + 1);
	assert_true(malloc_usable_size(p) > usable);
	p = resize(p, 10); /* a far smaller object does not stay */
	assert_int_equal(malloc_usable_size(p), 16);
	give(p);
}

static void test_realloc_null(void **state)
{
	char *p = resize(NULL, 100);

	(void)state;
	assert_non_null(p);
	p = resize_array(p, 50, 4);
	assert_true(malloc_usable_size(p) >= 200);
	give(p);
	p = resize(NULL, 0); /* as malloc(0) */
	assert_non_null(p);
	give(p);
}

/* Of each class to each that the table knows: the bytes that both have are kept. */
static void test_realloc_every_class(void **state)
{
	(void)state;
	for (unsigned int old = 1; old <= malloc_class_of(MALLOC_MAX_TABLE); old += 1) {
		for (unsigned int new = 1; new <= malloc_class_of(MALLOC_MAX_TABLE); new += 1) {
			size_t had = malloc_class_size(old);
			size_t size = malloc_class_size(new) - next_random() % MALLOC_ALIGN;
			bool stays = new == old || new + 1 == old;
			unsigned char *p = alloc(had);
			unsigned char *q;

			for (size_t i = 0; i < had; i++)
				p[i] = pattern(old, i);
			q = resize(p, size);
			assert_non_null(q);
			assert_int_equal(q == p, stays);
			assert_int_equal(malloc_usable_size(q),
					 malloc_class_size(stays ? old : new));
			for (size_t i = 0; i < MIN(had, size); i++)
				if (q[i] != pattern(old, i))
					fail_msg("%zu -> %zu: byte %zu is wrong", had, size, i);
			give(q);
		}
	}
}

/* So many blocks that arrays have nothing to take, or no room for what is freed. */
static void test_realloc_many(void **state)
{
	enum { NR = 2000 };
	static const size_t sizes[] = { 40, 90, 200, 700, 5000, 300, 30, 100, 16 };
	static unsigned char *p[NR];
	size_t least = sizes[0];

	(void)state;
	for (unsigned int n = 0; n < NR; n++)
		memset(p[n] = alloc(sizes[0]), (int)(n % 251), sizes[0]);
	for (unsigned int step = 1; step < ARRAY_SIZE(sizes); step++) {
		least = MIN(least, sizes[step]);
		for (unsigned int n = 0; n < NR; n++)
			assert_non_null(p[n] = resize(p[n], sizes[step]));
		for (unsigned int n = 0; n < NR; n++) {
			for (size_t i = 0; i < least; i++)
				assert_int_equal(p[n][i], n % 251);
			memset(p[n] + least, 0xee, sizes[step] - least);
		}
	}
	for (unsigned int n = 0; n < NR; n++)
		give(p[n]);
}

/* A tracer is to be notified of the new size: then nothing stays. */
static void resize_listened_to(__attribute__((unused)) void *arg)
{
	void *p = alloc(40);

	CHILD_CHECK(resize(p, 44) == p);
	uslab_kmalloc_semaphore = 1;
	CHILD_CHECK(resize(p, 42) != p);
}

static void test_realloc_listened_to(void **state)
{
	struct child c = child_run(resize_listened_to, state);

	assert_true(child_passed(&c));
}

/* A block beyond the arena grows by mremap: 1 GiB without a copy is quick and needs no memory. */
static void test_realloc_huge(void **state)
{
	unsigned char *p = alloc(8 << 20);

	(void)state;
	p[0] = 1;
	p[(8 << 20) - 1] = 2;
	for (size_t mib = 16; mib <= 1024; mib *= 2) {
		p = resize(p, mib << 20);
		assert_non_null(p);
		assert_int_equal(p[0], 1);
		assert_int_equal(p[(8 << 20) - 1], 2);
	}
	p = resize(p, 100);
	assert_int_equal(p[0], 1);
	give(p);
}

/* The only tracked block. */
/* At the limit of the process what gets smaller gives back what it does not need. */
static void smaller_at_limit(__attribute__((unused)) void *arg)
{
	char *p = alloc(8000000);

	CHILD_CHECK(p);
	p[0] = p[19999] = 7;
	CHILD_CHECK(uslab_set_limit(20 << 20) == 0);
	while (alloc(3000)) {}
	p = resize(p, 20000);
	CHILD_CHECK(p && p[0] == 7 && p[19999] == 7);
	CHILD_CHECK(malloc_usable_size(p) < 40000 && alloc(3000));
}

static void test_smaller_at_limit(void **state)
{
	struct child child;

	(void)state;
	if (instrument_is_on()) /* each block is a new one then */
		skip();
	child = child_run(smaller_at_limit, NULL);
	assert_true(child_passed(&child));
}

static const struct block_record *tracked(void)
{
	assert_int_equal(blocks_table->held, 1);
	for (uint32_t i = 1; i <= blocks_table->high; i++)
		if (blocks_table->record[i].address)
			return &blocks_table->record[i];
	return NULL;
}

/* Whoever resizes whole pages last holds them, wherever they come to lie. */
static void test_tracked_blocks(void **state)
{
	static const size_t sizes[] = { 100000, 200000, 90000, 8 << 20, 64 << 20, 9 << 20, 50000 };
	void *before = alloc(100000);
	void *p = NULL;

	(void)state;
	assert_int_equal(blocks_switch(SLAB_STORE_USER), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p = resize(p, sizes[i]);
		assert_int_equal(tracked()->address, (uintptr_t)p);
		assert_int_equal(tracked()->size, sizes[i]);
	}
	p = resize(p, 100);
	assert_int_equal(blocks_table->held, 0);
	give(p);
	p = zalloc(3, 100000);
	assert_int_equal(tracked()->size, 300000);
	give(before);
	assert_int_equal(tracked()->address, (uintptr_t)p);
	give(p);
	assert_int_equal(blocks_switch(0), 0);
	p = resize(alloc(100000), 300000);
	assert_int_equal(blocks_table->held, 0);
	give(p);
}

static void test_usable_size(void **state)
{
	(void)state;
	assert_int_equal(malloc_usable_size(NULL), 0);
	for (size_t size = 0; size < 100000; size = size * 2 + 1) {
		void *p = alloc(size);

		assert_true(malloc_usable_size(p) >= size);
		give(p);
	}
}

/* ---- what starts no block ---- */

enum place { INSIDE, INSIDE_RUN, OUTSIDE };

struct wrong {
	const char *what;
	enum place where;
	size_t size; /* of the resize */
	bool array;
};

static void resize_wrong(void *arg)
{
	const struct wrong *w = arg;
	char local[64];
	char *p = alloc(w->where == INSIDE_RUN ? 100000 : 112);
	char *wrong = w->where == OUTSIDE ? local + 16 : p + 16;
	unsigned long before = load_relaxed(&report_counters.reports);

	errno = 0;
	CHILD_CHECK(!(w->array ? resize_array(wrong, w->size, 1) : resize(wrong, w->size)));
	CHILD_CHECK(w->size == 0 || errno == ENOMEM);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == before + 1);
	CHILD_CHECK(malloc_usable_size(p) >= 112); /* it was left alone */
	give(p);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == before + 1);
}

/* One report that names the function that was called; NULL. */
static void test_no_block(void **state)
{
	static struct wrong wrong[] = {
		{ "realloc", INSIDE, 300, false },	   { "realloc", INSIDE, 100, false },
		{ "realloc", INSIDE, 0, false },	   { "realloc", INSIDE_RUN, 300, false },
		{ "realloc", INSIDE_RUN, 0, false },	   { "realloc", OUTSIDE, 300, false },
		{ "realloc", OUTSIDE, 0, false },	   { "reallocarray", INSIDE, 300, true },
		{ "reallocarray", INSIDE, 100, true },	   { "reallocarray", INSIDE, 0, true },
		{ "reallocarray", INSIDE_RUN, 300, true }, { "reallocarray", OUTSIDE, 300, true },
		{ "reallocarray", OUTSIDE, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct child c = child_run(resize_wrong, &wrong[i]);
		char start[40];

		snprintf(start, sizeof(start), "\nuslab: %s(): 0x", wrong[i].what);
		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, "): Invalid object pointer 0x"));
		assert_non_null(strstr(c.text, start));
		assert_non_null(strstr(c.text, " not resized;"));
	}
}

/*
 * Behind the last object of a slab, where one more would start. A realloc that copied would read
 * what lies behind the slab, and then free what is no object.
 */
static void resize_behind(__attribute__((unused)) void *arg)
{
	char *p = alloc(48);
	struct page *slab = page_slab_of(p);
	char *start = page_address(slab);
	size_t bytes = PAGE_SIZE << slab->layout->order;
	char *behind = start + bytes / 48 * 48;

	CHILD_CHECK(behind > start && behind + 48 > start + bytes && behind < start + bytes);
	CHILD_CHECK(!resize(behind, 300));
	CHILD_CHECK(!resize(behind, 16)); /* so many bytes are in the slab */
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 2);
}

static void test_behind(void **state)
{
	struct child c = child_run(resize_behind, state);

	assert_true(child_passed(&c));
}

/* What the hit paths of realloc() and malloc_usable_size() take for a block is one. */
static void test_hits(void **state)
{
	unsigned int class = 0;
	char *p = alloc(100);
	void *volatile none = NULL; /* GCC 12 would warn of what lies at a NULL that it knows */

	(void)state;
	assert_int_equal(malloc_hot_class(malloc_hot.base, p, &class), malloc_hot.page_limit > 0);
	assert_true(!malloc_hot.page_limit || class == malloc_class_of(100));
	assert_false(malloc_hot_class(malloc_hot.base, p + 16, &class));
	assert_false(malloc_hot_class(malloc_hot.base, none, &class));
	assert_false(malloc_hot_class(malloc_hot.base, &p, &class));
	give(p);
	assert_false(malloc_hot_class(malloc_hot.base, p, &class));
	p = alloc(100000);
	assert_false(malloc_hot_class(malloc_hot.base, p, &class));
	give(p);
}

static void usable_of_none(void *arg)
{
	char *p = alloc(112);
	char *run = alloc(100000);

	(void)arg;
	CHILD_CHECK(malloc_usable_size(p) == 112);
	CHILD_CHECK(malloc_usable_size(p + 3) == 0 && malloc_usable_size(p + 16) == 0);
	CHILD_CHECK(malloc_usable_size(run) >= 100000 && malloc_usable_size(run + 4096) == 0);
	CHILD_CHECK(malloc_usable_size(&arg) == 0);
	memcpy(p + 4, &(uint32_t){ (uint32_t)(uintptr_t)p }, 4); /* as if it were free */
	CHILD_CHECK(malloc_usable_size(p) == 112);
	give(p);
	give(run);
	CHILD_CHECK(malloc_usable_size(p) == 0 && malloc_usable_size(run) == 0);
	CHILD_CHECK(load_relaxed(&report_counters.reports) == 0);
}

/* Nothing is said: a program may ask. */
static void test_usable_of_none(void **state)
{
	struct child c = child_run(usable_of_none, state);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calloc_is_zero),
		cmocka_unit_test(test_calloc_clears_all_usable),
		cmocka_unit_test(test_calloc_sparse),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_realloc_model),
		cmocka_unit_test(test_realloc_in_place),
		cmocka_unit_test(test_realloc_null),
		cmocka_unit_test(test_realloc_every_class),
		cmocka_unit_test(test_realloc_many),
		cmocka_unit_test(test_realloc_listened_to),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_realloc_huge),
		cmocka_unit_test(test_tracked_blocks),
		cmocka_unit_test(test_usable_size),
		cmocka_unit_test(test_no_block),
		cmocka_unit_test(test_usable_of_none),
		cmocka_unit_test(test_smaller_at_limit),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
