/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/info/traces_test.c - who holds the objects of a cache of this very process
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "inspect/root.h"
#include "info/traces.h"

static struct snapshot *s;
static struct resolve *resolve;
static struct kmem_cache *cache;
static void *objects[32];

static noinline void alloc_few(void)
{
	for (int i = 0; i < 3; i++)
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
}

static noinline void alloc_many(void)
{
	for (int i = 3; i < 13; i++)
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
}

static int setup(void **state)
{
	(void)state;
	s = calloc(1, sizeof(*s));
	resolve = resolve_process(getpid());
	cache = kmem_cache_create("traced", 64, 0, SLAB_STORE_USER, NULL);
	return s && resolve && cache ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (objects[i])
			kmem_cache_free(cache, objects[i]);
	memset(objects, 0, sizeof(objects));
	kmem_cache_destroy(cache);
	resolve_close(resolve);
	free(s);
	return 0;
}

/* The text for the cache as it is now; the caller frees it. */
static char *text_of(enum track_item item, unsigned int max_size, bool calls)
{
	struct traces_options options = { .item = item, .max_size = max_size, .calls = calls };
	unsigned int index = UINT_MAX;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(snapshot_take(s, &reader_local, (uintptr_t)&uslab_root), 0);
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (!strcmp(s->cache[i].name, "traced"))
			index = i;
	assert_int_equal(traces_text(out, s, index, resolve, &options), 0);
	fclose(out);
	return text;
}

static void test_nothing(void **state)
{
	char *text = text_of(TRACK_ALLOC, 0, false);

	(void)state;
	assert_string_equal(text, "No data\n");
	free(text);
}

/* The caller with most objects first; each with its stack; pid and age. */
static void test_groups(void **state)
{
	unsigned long count;
	char name[32];
	char *text;
	int pid, end;

	(void)state;
	alloc_few();
	alloc_many();
	text = text_of(TRACK_ALLOC, 0, false);
	assert_int_equal(sscanf(text, "%7lu %31[^+]+%n", &count, name, &end), 2);
	assert_int_equal(count, 10);
	assert_string_equal(name, "alloc_many");
	assert_non_null(strstr(text, "\n      3 alloc_few+"));
	assert_non_null(strstr(text, "\n        test_groups+"));
	assert_non_null(strstr(text, "\n\n      3 "));
	assert_int_equal(sscanf(strstr(text, " pid="), " pid=%d", &pid), 1);
	assert_int_equal(pid, getpid());
	assert_null(strstr(text, "waste="));
	assert_null(strstr(text, "nodes="));
	free(text);
}

/* Of the life before: some that were freed are used again. */
static void test_freed(void **state)
{
	char *text;

	(void)state;
	alloc_few();
	kmem_cache_free(cache, objects[0]);
	objects[0] = kmem_cache_alloc(cache, GFP_KERNEL);
	text = text_of(TRACK_FREE, 0, false);
	assert_non_null(strstr(text, "      1 test_freed+"));
	assert_non_null(strstr(text, "      2 <not-available> age="));
	free(text);
}

/* As old kernels: by address, without stacks. */
static void test_calls(void **state)
{
	char *text;

	(void)state;
	alloc_few();
	alloc_many();
	text = text_of(TRACK_ALLOC, 0, true);
	assert_null(strstr(text, "        test_calls"));
	assert_null(strstr(text, "\n\n"));
	assert_int_equal((uintptr_t)alloc_few < (uintptr_t)alloc_many,
			 strstr(text, "alloc_few") < strstr(text, "alloc_many"));
	free(text);
}

/* Whole entries only. Ages change from one text to the next: a few bytes more or less. */
static void test_limit(void **state)
{
	char *whole, *part;
	size_t first;

	(void)state;
	alloc_few();
	alloc_many();
	whole = text_of(TRACK_ALLOC, 0, false);
	first = (size_t)(strstr(whole, "\n\n") + 2 - whole);
	part = text_of(TRACK_ALLOC, (unsigned int)strlen(whole) - 50, false);
	assert_in_range(strlen(part), first - 50, first + 50);
	assert_string_equal(part + strlen(part) - 2, "\n\n");
	assert_null(strstr(part, " alloc_few"));
	free(part);
	part = text_of(TRACK_ALLOC, (unsigned int)first - 50, false);
	assert_string_equal(part, "");
	free(part);
	free(whole);
}

static void check_list(uint64_t low, uint64_t high, unsigned int nr, const char *expected)
{
	uint64_t bits[2] = { low, high };
	char text[64];

	traces_list(text, sizeof(text), bits, nr);
	assert_string_equal(text, expected);
}

static void test_list(void **state)
{
	char text[8];

	(void)state;
	check_list(0, 0, 128, "");
	check_list(1, 0, 128, "0");
	check_list(0x8f, 0, 128, "0-3,7");
	check_list(1ull << 63, 1, 128, "63-64");
	check_list(~0ull, ~0ull, 128, "0-127");
	check_list(~0ull, ~0ull, 100, "0-99");
	check_list(0x5, 0x2, 128, "0,2,65");
	traces_list(text, sizeof(text), (uint64_t[]){ 0x5555555555555555ull }, 64);
	assert_string_equal(text, "0,2,4,6"); /* cut where the buffer ends */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing), TEST(test_groups), TEST(test_freed),
		TEST(test_calls),   TEST(test_limit),  TEST(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
