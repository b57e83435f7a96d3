/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/fs/fs_slabinfo_test.c - the lines of slabinfo for made-up caches
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "unit/tools/fs_fixture.h"

static void test_lines(void **state)
{
	struct snapshot_cache *c;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	assert_int_equal(fixture_init(), 0);
	c = fixture_add("kmalloc-64", "");
	c->objects = 78806;
	c->total_objects = 78848;
	c->object_size = 60;
	c->slab_size = 64;
	c->objs_per_slab = 64;
	c->slabs = 1232;
	c = fixture_add("a-name-that-is-longer", ":0000440");
	fixture_alias("another");
	c->slab_size = 440;
	c->objs_per_slab = 18;
	c->order = 3;
	c->objects_shared = 7;
	fixture_heap("slob");
	fixture_add("free-pages", "")->id = 0; /* is left out */
	assert_int_equal(fs_slabinfo(out, fixture_s), 0);
	fclose(out);
	assert_string_equal(
		text,
		"slabinfo - version: 2.1\n"
		"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
		" : tunables <limit> <batchcount> <sharedfactor>"
		" : slabdata <active_slabs> <num_slabs> <sharedavail>\n"
		"a-name-that-is-longer      0      0    440   18    8 : tunables    0    0    0"
		" : slabdata      0      0      7\n"
		"kmalloc-64         78806  78848     64   64    1 : tunables    0    0    0"
		" : slabdata   1232   1232      0\n"
		"slob                   0      0      0    0    1 : tunables    0    0    0"
		" : slabdata      0      0      0\n");
	assert_false(fs_slabinfo_tunable(fixture_s));
	fixture_s->work[1].queues = 1;
	assert_true(fs_slabinfo_tunable(fixture_s));
	free(text);
	fixture_exit();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
