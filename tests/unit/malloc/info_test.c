/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/info_test.c - the numbers about the heap, against what the test holds
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
#include <cmocka.h>

#include "child.h"
#include "malloc/internal.h"
#include "malloc/libc.h"
#include "replaced.h"

static void *(*volatile alloc)(size_t) = malloc;
static void (*volatile give)(void *) = free;

enum { NR = 500 };
static void *objects[NR];

static void take(size_t size)
{
	for (unsigned int i = 0; i < NR; i++)
		assert_non_null(objects[i] = alloc(size));
}

static void give_all(void)
{
	for (unsigned int i = 0; i < NR; i++)
		give(objects[i]);
}

static void test_used_follows(void **state)
{
	static const size_t sizes[] = { 48, 1024, 20480, 40960 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct mallinfo2 before = mallinfo2();
		struct mallinfo2 with, after;

		take(sizes[i]);
		with = mallinfo2();
		give_all();
		after = mallinfo2();
		assert_int_equal(with.uordblks - before.uordblks, NR * sizes[i]);
		assert_int_equal(after.uordblks, before.uordblks);
		assert_true(with.arena >= with.uordblks);
		assert_int_equal(with.arena, with.uordblks + with.fordblks);
	}
}

/* What CPUs hold are free blocks like others: nothing here is a fastbin. */
static void test_no_fastbins(void **state)
{
	struct mallinfo2 with, after;

	(void)state;
	assert_int_equal(mallopt(1 /* M_MXFAST */, 0), 1);
	take(64);
	with = mallinfo2();
	give_all();
	after = mallinfo2();
	assert_int_equal(with.smblks + with.fsmblks, 0);
	assert_int_equal(after.smblks + after.fsmblks, 0);
	assert_true(after.ordblks > 0);
	assert_int_equal(after.arena, after.uordblks + after.fordblks);
}

static void test_large(void **state)
{
	struct mallinfo2 before = mallinfo2();
	void *p = alloc(32 << 20);
	struct mallinfo2 with = mallinfo2();

	(void)state;
	assert_int_equal(with.hblks, before.hblks + 1);
	assert_int_equal(with.hblkhd, before.hblkhd + (32 << 20));
	assert_int_equal(with.uordblks, before.uordblks);
	give(p);
	assert_int_equal(mallinfo2().hblks, before.hblks);
}

static void test_old_mallinfo(void **state)
{
	struct mallinfo2 info2 = mallinfo2();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	struct mallinfo info = mallinfo();
#pragma GCC diagnostic pop

	(void)state;
	assert_int_equal(info.arena, (int)info2.arena);
	assert_int_equal(info.uordblks, (int)info2.uordblks);
}

static void test_trim(void **state)
{
	struct mallinfo2 after;

	(void)state;
	take(30000);
	for (unsigned int i = 0; i < NR; i++)
		memset(objects[i], 1, 30000);
	give_all();
	malloc_trim(0);
	after = mallinfo2();
	assert_int_equal(after.keepcost, 0);
	assert_int_equal(malloc_trim(0), 0);
}

static void test_malloc_info(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	take(96);
	give_all();
	assert_int_equal(malloc_info(1, stream), EINVAL);
	assert_int_equal(malloc_info(0, stream), 0);
	fclose(stream);
	assert_memory_equal(text, "<malloc version=\"1\">\n", 21);
	assert_non_null(strstr(text, "<size from=\"81\" to=\"96\""));
	assert_non_null(strstr(text, "<total type=\"fast\""));
	assert_non_null(strstr(text, "<system type=\"current\""));
	assert_string_equal(text + size - 10, "</malloc>\n");
	free(text);
}

static void print_stats(void *arg)
{
	(void)arg;
	take(96);
	malloc_stats();
}

static void test_malloc_stats(void **state)
{
	struct child c = child_run(print_stats, NULL);
	unsigned long size, used, held, free_objects, slabs, bytes;
	const char *line;

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "slabs"));
	line = strstr(c.text, "\n          96 ");
	assert_non_null(line);
	assert_int_equal(sscanf(line, "%lu %lu %lu %lu %lu %lu", &size, &used, &held, &free_objects,
				&slabs, &bytes),
			 6);
	assert_true(used >= NR);
	assert_true((used + held + free_objects) * 96 <= bytes);
	assert_non_null(strstr(c.text, "uslab: malloc: "));
}

static void test_mallopt(void **state)
{
	(void)state;
	assert_int_equal(mallopt(-3 /* M_MMAP_THRESHOLD */, 1 << 20), 1);
	assert_int_equal(mallopt(12345, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used_follows), cmocka_unit_test(test_no_fastbins),
		cmocka_unit_test(test_large),	     cmocka_unit_test(test_old_mallinfo),
		cmocka_unit_test(test_trim),	     cmocka_unit_test(test_malloc_info),
		cmocka_unit_test(test_malloc_stats), cmocka_unit_test(test_mallopt),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
