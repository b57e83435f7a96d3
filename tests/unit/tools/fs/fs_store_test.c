/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/fs/fs_store_test.c - texts that are written, and the commands that they become
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "unit/tools/fs_fixture.h"

static struct snapshot_cache *c;
static struct fs_request request;

static int setup(void **state)
{
	(void)state;
	if (fixture_init())
		return -1;
	c = fixture_add("widget", ":0000064");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_exit();
	return 0;
}

static int store(const char *name, const char *text)
{
	return fs_store_parse(fs_attribute_find(name), c, text, strlen(text), &request);
}

/* argument: what becomes of the text. */
static void expect(const char *name, const char *text, enum control_command command,
		   const char *argument)
{
	assert_int_equal(store(name, text), 0);
	assert_int_equal(request.command, command);
	assert_string_equal(request.argument, argument);
	assert_string_equal(request.pattern, "widget");
}

static void test_numbers(void **state)
{
	(void)state;
	expect("min_partial", "17\n", CONTROL_SET, "min_partial=17");
	expect("min_partial", "+0", CONTROL_SET, "min_partial=0");
	expect("min_partial", "18446744073709551615", CONTROL_SET,
	       "min_partial=18446744073709551615");
	expect("order", "3", CONTROL_SET, "order=3");
	expect("cpu_partial", "4294967295\n", CONTROL_SET, "cpu_partial=4294967295");
	expect("remote_node_defrag_ratio", "100\n", CONTROL_SET, "remote_node_defrag_ratio=100");
}

static void test_numbers_that_are_none(void **state)
{
	static const char *const texts[] = { "",    "\n",  " 1", "1 ",	"1\n\n", "-1",
					     "0x1", "one", "1k", "+ 1", "++1" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(store("min_partial", texts[i]), -EINVAL);
	assert_int_equal(store("min_partial", "18446744073709551616"), -ERANGE);
	assert_int_equal(store("min_partial", "100000000000000000000000000000"), -ERANGE);
	assert_int_equal(store("cpu_partial", "4294967296"), -ERANGE);
	assert_int_equal(store("remote_node_defrag_ratio", "101"), -ERANGE);
}

static void test_bytes(void **state)
{
	static const char *const none[] = { "",	   "\n",  "M",	  "1 M", "1MB",
					    "1Mi", "-1M", "1.5M", "+1M", "1M\n\n" };

	(void)state;
	expect("limit", "65536\n", CONTROL_SET, "limit=65536");
	expect("limit", "0", CONTROL_SET, "limit=0");
	expect("limit", "+4096", CONTROL_SET, "limit=4096");
	expect("limit", "64k\n", CONTROL_SET, "limit=65536");
	expect("limit", "1M\n", CONTROL_SET, "limit=1048576");
	expect("limit", "2G", CONTROL_SET, "limit=2147483648");
	expect("limit", "1T\n", CONTROL_SET, "limit=1099511627776");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(store("limit", none[i]), -EINVAL);
	assert_int_equal(store("limit", "18446744073709551616"), -ERANGE);
}

static void test_cpu_partial_of_debug_cache(void **state)
{
	(void)state;
	c->flags = SLAB_POISON;
	assert_int_equal(store("cpu_partial", "8"), -EINVAL);
	expect("cpu_partial", "0\n", CONTROL_SET, "cpu_partial=0");
}

static void test_capacity(void **state)
{
	static const char *const none[] = { "",		"\n",	      "-1",  "defaul",
					    "defaults", "default \n", "none" };

	(void)state;
	expect("sheaf_capacity", "31\n", CONTROL_SET, "sheaf_capacity=31");
	expect("sheaf_capacity", "0", CONTROL_SET, "sheaf_capacity=0");
	expect("sheaf_capacity", "1024", CONTROL_SET, "sheaf_capacity=1024");
	expect("sheaf_capacity", "default", CONTROL_SET, "sheaf_capacity=4294967295");
	expect("sheaf_capacity", "default\n", CONTROL_SET, "sheaf_capacity=4294967295");
	assert_int_equal(store("sheaf_capacity", "1025"), -ERANGE);
	assert_int_equal(store("sheaf_capacity", "4294967295"), -ERANGE);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(store("sheaf_capacity", none[i]), -EINVAL);
}

static void test_debug_flags(void **state)
{
	(void)state;
	expect("sanity_checks", "1\n", CONTROL_DEBUG, "+F");
	expect("sanity_checks", "0\n", CONTROL_DEBUG, "-F");
	expect("sanity_checks", "", CONTROL_DEBUG, "-F");
	expect("red_zone", "1", CONTROL_DEBUG, "+Z");
	expect("poison", "1", CONTROL_DEBUG, "+P");
	expect("store_user", "1", CONTROL_DEBUG, "+U");
	expect("trace", "2", CONTROL_DEBUG, "-T");
	expect("failslab", "1", CONTROL_DEBUG, "+A");
}

static void test_words(void **state)
{
	(void)state;
	expect("skip_kfence", "1\n", CONTROL_SET, "skip_kfence=1");
	expect("skip_kfence", "0", CONTROL_SET, "skip_kfence=0");
	assert_int_equal(store("skip_kfence", "2"), -EINVAL);
	expect("alloc_slab", "0\n", CONTROL_SET, "alloc_slab=0");
	assert_int_equal(store("alloc_slab", "1"), -EINVAL);
	expect("shrink", "1\n", CONTROL_SHRINK, "");
	assert_int_equal(store("shrink", "0"), -EINVAL);
	assert_int_equal(store("shrink", ""), -EINVAL);
	assert_int_equal(store("validate", "1"), -EINVAL);
	c->flags = SLAB_CONSISTENCY_CHECKS;
	expect("validate", "1\n", CONTROL_VALIDATE, "");
	assert_int_equal(store("validate", "2"), -EINVAL);
	assert_int_equal(store("slabs", "1"), -EACCES);
}

/* A name names nothing but itself. */
static void test_patterns(void **state)
{
	(void)state;
	strcpy(c->name, "a*b?[c]\\");
	assert_int_equal(store("shrink", "1"), 0);
	assert_string_equal(request.pattern, "a\\*b\\?\\[c\\]\\\\");
	memset(c->name, '*', SNAPSHOT_NAME_MAX - 1);
	assert_int_equal(store("shrink", "1"), -ENAMETOOLONG);
	memset(c->name, 'x', SNAPSHOT_NAME_MAX - 1);
	assert_int_equal(store("shrink", "1"), -ENAMETOOLONG);
	c->name[SNAPSHOT_NAME_MAX - 2] = '\0';
	assert_int_equal(store("shrink", "1"), 0);
}

static int tune(const char *text)
{
	return fs_tune_parse(fixture_s, text, strlen(text), &request);
}

static void test_tune(void **state)
{
	char line[256];

	(void)state;
	strcpy(fixture_add("queued", "")->front, "queues");
	assert_int_equal(tune("queued 120 60 8\n"), 0);
	assert_int_equal(request.command, CONTROL_TUNE);
	assert_string_equal(request.argument, "120 60 8");
	assert_string_equal(request.pattern, "queued");
	assert_int_equal(tune("queued 1 1 0"), 0);
	assert_int_equal(tune("queued  2  1  0 and more"), 0);
	strcpy(fixture_add("with a blank", "")->front, "queues");
	assert_int_equal(tune("with?a?blank 10 5 1"), 0); /* as the file calls it */
	assert_string_equal(request.pattern, "with a blank");
	/* accepted, and nothing is done */
	assert_int_equal(tune("queued 0 1 8"), 1);
	assert_int_equal(tune("queued 10 0 8"), 1);
	assert_int_equal(tune("queued 10 11 8"), 1);
	assert_int_equal(tune("queued 10 1 -1"), 1);
	/* no line of that kind */
	assert_int_equal(tune(""), -EINVAL);
	assert_int_equal(tune("queued"), -EINVAL);
	assert_int_equal(tune("queued 10 1"), -EINVAL);
	assert_int_equal(tune("queued ten 1 1"), -EINVAL);
	assert_int_equal(tune("unknown 10 1 1"), -EINVAL);
	assert_int_equal(tune("widget 10 1 1"), -EIO);
	snprintf(line, sizeof(line), "queued 10 1 1 %*s", 114, "");
	assert_int_equal(strlen(line), 128);
	assert_int_equal(tune(line), 0);
	strcat(line, " ");
	assert_int_equal(tune(line), -EINVAL);
}

/* A thousand blocks of whole pages take 125 KiB with U. */
static void test_memory(void **state)
{
	(void)state;
	expect("store_user", "1", CONTROL_DEBUG, "+U");
	c->whole_pages = true;
	fixture_s->totals.mapped = 1000;
	fixture_fs.source.target.pid = getpid();
	fixture_s->totals.limit = 1 << 20;
	assert_true(fs_store_fits(&fixture_fs, 0, &request));
	fixture_s->totals.limit = 1 << 16;
	assert_false(fs_store_fits(&fixture_fs, 0, &request));
	fixture_fs.source.target.force = true;
	assert_true(fs_store_fits(&fixture_fs, 0, &request));
	fixture_fs.source.target.force = false;
	expect("store_user", "0", CONTROL_DEBUG, "-U");
	assert_true(fs_store_fits(&fixture_fs, 0, &request));
	expect("shrink", "1", CONTROL_SHRINK, "");
	assert_true(fs_store_fits(&fixture_fs, 0, &request));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers_that_are_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cpu_partial_of_debug_cache, setup, teardown),
		cmocka_unit_test_setup_teardown(test_capacity, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_flags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_words, setup, teardown),
		cmocka_unit_test_setup_teardown(test_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tune, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
