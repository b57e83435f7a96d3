/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/command/need_test.c - whole pages of a made-up process with a limit: what fits, what
 * is said, and who goes on
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "command/need.h"
#include "util.h"

#define KB 1024ull
#define BLOCKS 100u /* U: 128 bytes for each */

static struct snapshot *s;
static struct target *t;
static struct need need;
static char text[1024];

static int setup(void **state)
{
	(void)state;
	s = calloc(1, sizeof(*s));
	t = calloc(1, sizeof(*t));
	if (!s || !t)
		return -1;
	s->nr_caches = 2;
	s->blocks_row = 1;
	s->cache[1].whole_pages = true;
	s->totals.mapped = BLOCKS;
	t->pid = getpid();
	t->command = "debug";
	strcpy(t->program, "made up");
	need = (struct need){ .bytes = 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(s);
	free(t);
	return 0;
}

/* Exit status; text: what was said. */
static int check(uint64_t limit)
{
	FILE *to = fmemopen(text, sizeof(text), "w");
	int status;

	assert_non_null(to);
	text[0] = '\0';
	s->totals.limit = limit;
	util_collect(to);
	status = need_check(&need, t, s, "with U", "Choose fewer");
	util_collect(NULL);
	fclose(to);
	return status;
}

static void test_sum(void **state)
{
	(void)state;
	need_add(&need, s, 0, SLAB_STORE_USER); /* a row that is no cache */
	need_add(&need, s, 1, SLAB_CONSISTENCY_CHECKS);
	assert_int_equal(need.caches, 0);
	need_add(&need, s, 1, SLAB_STORE_USER);
	assert_int_equal(need.caches, 1);
	assert_int_equal(need.objects, BLOCKS);
	assert_int_equal(need_bytes(&need), BLOCKS * 128);
	need.heap.bytes = 1000;
	assert_int_equal(need_bytes(&need), BLOCKS * 128 + 1000);
}

static void test_fits(void **state)
{
	(void)state;
	assert_int_equal(check(1), EXIT_OK);	/* nothing is needed */
	need_add(&need, s, 1, SLAB_STORE_USER); /* 12800 bytes */
	assert_int_equal(check(4 * 12800), EXIT_OK);
	assert_string_equal(text, "");
}

static void test_much(void **state)
{
	char expected[256];

	(void)state;
	need_add(&need, s, 1, SLAB_STORE_USER);
	assert_int_equal(check(40 * KB), EXIT_OK);
	snprintf(
		expected, sizeof(expected),
		"process %d (made up) may take up to 12.5 KiB more with U (100 objects in 1 cache); "
		"its limit of uslab (40.0 KiB) leaves 40.0 KiB\n",
		(int)getpid());
	assert_string_equal(text, expected);
}

static void test_too_much(void **state)
{
	char expected[256];

	(void)state;
	need_add(&need, s, 1, SLAB_STORE_USER);
	s->totals.held_bytes = 38 * KB;
	assert_int_equal(check(40 * KB), EXIT_FAILED);
	snprintf(
		expected, sizeof(expected),
		"process %d (made up) may take up to 12.5 KiB more with U (100 objects in 1 cache), "
		"and its limit of uslab (40.0 KiB) leaves 2.0 KiB: its allocations may fail for "
		"that. Choose fewer, or --force\n",
		(int)getpid());
	assert_string_equal(text, expected);
	t->force = true; /* the same as a warning */
	assert_int_equal(check(40 * KB), EXIT_OK);
	assert_non_null(
		strstr(text, " may take up to 12.5 KiB more with U (100 objects in 1 cache); "));
}

static void test_freed_blocks(void **state)
{
	(void)state;
	need_add(&need, s, 1, SLAB_POISON);
	assert_int_equal(check(4096), EXIT_FAILED);
	assert_non_null(strstr(text,
			       " may take up to 32.0 MiB more with U (100 objects in 1 cache, "
			       "and 32.0 MiB of freed blocks), and "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sum),	     TEST(test_fits),	      TEST(test_much),
		TEST(test_too_much), TEST(test_freed_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
