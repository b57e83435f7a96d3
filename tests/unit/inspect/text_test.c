/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/text_test.c - the table, byte for byte as in spec 8.3
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "inspect/text.h"

static const struct text_options plain;

static void check_line(const struct snapshot_cache *c, const struct text_options *options,
		       const char *name, const char *expected)
{
	char line[TEXT_LINE_MAX];

	assert_int_equal(text_line(line, sizeof(line), name, c, options), strlen(expected));
	assert_string_equal(line, expected);
}

static void test_header(void **state)
{
	static const char space[] = "Name                   Objects Objsize           Space "
				    "Slabs/Part/Cpu  O/S O %Fr %Ef Flg\n";
	static const char loss[] = "Name                   Objects Objsize            Loss "
				   "Slabs/Part/Cpu  O/S O %Fr %Ef Flg\n";
	struct text_options options = { .loss = true };
	char line[TEXT_LINE_MAX];

	(void)state;
	assert_int_equal(text_header(line, sizeof(line), &plain), strlen(space));
	assert_string_equal(line, space);
	text_header(line, sizeof(line), &options);
	assert_string_equal(line, loss);
}

/* The three lines of spec 8.3. */
static void test_examples(void **state)
{
	struct snapshot_cache merged = {
		.objects = 41635,
		.object_size = 40,
		.object_bytes = 41635 * 40,
		.slabs = 412,
		.cpu_slabs = 9,
		.partial = 10,
		.slab_bytes = 412 * 4096,
		.objs_per_slab = 102,
		.refcount = 2,
		.flags = SLAB_RECLAIM_ACCOUNT,
	};
	struct snapshot_cache plain_one = {
		.objects = 8423,
		.object_size = 56,
		.object_bytes = 8423 * 56,
		.slabs = 158,
		.cpu_slabs = 60,
		.partial = 40,
		.slab_bytes = 158 * 4096,
		.objs_per_slab = 72,
		.refcount = 1,
	};
	struct snapshot_cache aligned = {
		.objects = 23,
		.object_size = 1760,
		.object_bytes = 23 * 1760,
		.slabs = 4,
		.cpu_slabs = 1,
		.partial = 3,
		.slab_bytes = 4 * 32768,
		.objs_per_slab = 18,
		.order = 3,
		.refcount = 1,
		.flags = SLAB_HWCACHE_ALIGN,
	};

	(void)state;
	check_line(
		&merged, &plain, ":at-0000040",
		":at-0000040              41635      40            1.6M       403/10/9  102 0   2"
		"  98 *a\n");
	check_line(
		&plain_one, &plain, "anon_vma",
		"anon_vma                  8423      56          647.1K       98/40/60   72 0  25"
		"  72 \n");
	check_line(
		&aligned, &plain, "TCP",
		"TCP                         23    1760          131.0K          3/3/1   18 3  75"
		"  30 A\n");
}

static void test_options(void **state)
{
	struct snapshot_cache c = { .objects = 10,
				    .object_size = 100,
				    .object_bytes = 1000,
				    .slabs = 2,
				    .slab_bytes = 8192,
				    .refcount = 1 };
	struct text_options loss = { .loss = true };
	struct text_options bytes = { .bytes = true };
	struct text_options both = { .loss = true, .bytes = true };
	char line[TEXT_LINE_MAX];

	(void)state;
	text_line(line, sizeof(line), "c", &c, &loss);
	assert_non_null(strstr(line, "           7.1K "));
	text_line(line, sizeof(line), "c", &c, &bytes);
	assert_non_null(strstr(line, "           8192 "));
	text_line(line, sizeof(line), "c", &c, &both);
	assert_non_null(strstr(line, "           7192 "));
	assert_int_equal(text_loss(&c), 7192);
	c.slab_bytes = 0; /* objects in a heap lose nothing here */
	assert_int_equal(text_loss(&c), 0);
}

static void test_flags(void **state)
{
	static const struct {
		slab_flags_t flags;
		const char *debug_flags;
	} cases[] = {
		{ 0, " \n" },
		{ SLAB_CACHE_DMA, " d\n" },
		{ SLAB_HWCACHE_ALIGN, " A\n" },
		{ SLAB_POISON, " P\n" },
		{ SLAB_RECLAIM_ACCOUNT, " a\n" },
		{ SLAB_RED_ZONE, " Z\n" },
		{ SLAB_CONSISTENCY_CHECKS, " F\n" },
		{ SLAB_STORE_USER, " U\n" },
		{ SLAB_TRACE, " T\n" },
		{ SLAB_KMALLOC | SLAB_PANIC | SLAB_ACCOUNT, " \n" },
		{ ~0u, " dAPaZFUT\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct snapshot_cache c = { .flags = cases[i].flags, .refcount = 1 };
		char line[TEXT_LINE_MAX];
		size_t n = text_line(line, sizeof(line), "c", &c, &plain);

		assert_string_equal(line + n - strlen(cases[i].debug_flags), cases[i].debug_flags);
	}
}

/* Values that a damaged process may yield: long, but whole lines all the same. */
static void test_extremes(void **state)
{
	struct snapshot_cache c;
	char line[TEXT_LINE_MAX];
	char name[SNAPSHOT_NAME_MAX];
	size_t n;

	(void)state;
	memset(&c, 0xff, sizeof(c));
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	n = text_line(line, sizeof(line), name, &c, &plain);
	assert_int_equal(n, strlen(line));
	assert_int_equal(line[n - 1], '\n');
	assert_true(n < sizeof(line) - 1);

	memset(&c, 0, sizeof(c));
	check_line(
		&c, &plain, "",
		"                             0       0               0          0/0/0    0 0 100"
		" 100 \n");
	c.slabs = 1; /* before the CPU took another */
	c.cpu_slabs = 2;
	text_line(line, sizeof(line), "", &c, &plain);
	assert_non_null(strstr(line, "          0/0/2 "));
}

/* A buffer that is too short cuts the line and keeps the newline. */
static void test_short_buffers(void **state)
{
	struct snapshot_cache c = { .objects = 7, .refcount = 1 };
	char whole[TEXT_LINE_MAX];
	size_t length = text_line(whole, sizeof(whole), "name", &c, &plain);

	(void)state;
	for (size_t size = 2; size <= length + 1; size++) {
		char line[TEXT_LINE_MAX];
		size_t n;

		memset(line, 'x', sizeof(line));
		n = text_line(line, size, "name", &c, &plain);
		assert_int_equal(n, strlen(line));
		assert_int_equal(n, size - 1);
		assert_memory_equal(line, whole, n - 1);
		assert_int_equal(line[n - 1], '\n');
		assert_int_equal(line[size], 'x');
	}
}

static void test_scale(void **state)
{
	static const struct {
		unsigned long value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1000" },
		{ 1001, "1.0K" },
		{ 4096, "4.0K" },
		{ 8192, "8.1K" },
		{ 65536, "65.5K" },
		{ 1000000, "1000.0K" },
		{ 1000001, "1.0M" },
		{ 1687552, "1.6M" },
		{ 1000000000, "1000.0M" },
		{ 1000000001, "1.0G" },
		{ 123456789012, "123.4G" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(text_scale(text, sizeof(text), cases[i].value),
				 strlen(cases[i].text));
		assert_string_equal(text, cases[i].text);
	}
}

static void test_percent(void **state)
{
	(void)state;
	assert_int_equal(text_percent(0, 0), 100);
	assert_int_equal(text_percent(5, 0), 100);
	assert_int_equal(text_percent(0, 5), 0);
	assert_int_equal(text_percent(1, 3), 33);
	assert_int_equal(text_percent(10, 412), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),	 cmocka_unit_test(test_examples),
		cmocka_unit_test(test_options),	 cmocka_unit_test(test_flags),
		cmocka_unit_test(test_extremes), cmocka_unit_test(test_short_buffers),
		cmocka_unit_test(test_scale),	 cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
