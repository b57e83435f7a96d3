/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/fs/fs_attr_test.c - texts of the attributes of made-up caches
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "unit/tools/fs_fixture.h"

static struct snapshot_cache *c;
static char *text;
static size_t text_size;

static int setup(void **state)
{
	(void)state;
	if (fixture_init())
		return -1;
	c = fixture_add("widget", "");
	c->object_size = 60;
	c->slab_size = 64;
	c->usersize = 48;
	c->align = 8;
	c->order = 1;
	c->objs_per_slab = 128;
	c->min_partial = 5;
	c->cpu_partial = 120;
	c->capacity = 31;
	c->remote_node_defrag_ratio = 1000;
	c->objects = 900;
	c->total_objects = 1280;
	c->slabs = 10;
	c->partial = 4;
	c->objects_partial = 200;
	c->cpu_slabs = 2;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	fixture_exit();
	return 0;
}

static const char *show(const char *name)
{
	const struct fs_attribute *a = fs_attribute_find(name);
	FILE *out;

	assert_non_null(a);
	free(text);
	text = NULL;
	out = open_memstream(&text, &text_size);
	assert_non_null(out);
	assert_int_equal(a->show(out, &fixture_fs, 0, a), 0);
	fclose(out);
	return text;
}

static void test_numbers(void **state)
{
	(void)state;
	assert_string_equal(show("slab_size"), "64\n");
	assert_string_equal(show("object_size"), "60\n");
	assert_string_equal(show("usersize"), "48\n");
	assert_string_equal(show("align"), "8\n");
	assert_string_equal(show("objs_per_slab"), "128\n");
	assert_string_equal(show("order"), "1\n");
	assert_string_equal(show("min_partial"), "5\n");
	assert_string_equal(show("cpu_partial"), "120\n");
	assert_string_equal(show("sheaf_capacity"), "31\n");
	assert_string_equal(show("remote_node_defrag_ratio"), "100\n");
	c->min_partial = ~0ul;
	assert_string_equal(show("min_partial"), "18446744073709551615\n");
}

static void test_aliases(void **state)
{
	(void)state;
	assert_string_equal(show("aliases"), "0\n");
	c->refcount = 3;
	assert_string_equal(show("aliases"), "2\n");
	c->refcount = 0; /* destroyed, with live objects */
	assert_string_equal(show("aliases"), "0\n");
}

static void test_flags(void **state)
{
	static const struct {
		const char *name;
		slab_flags_t flag;
	} flags[] = {
		{ "cache_dma", SLAB_CACHE_DMA },
		{ "destroy_by_rcu", SLAB_TYPESAFE_BY_RCU },
		{ "hwcache_align", SLAB_HWCACHE_ALIGN },
		{ "reclaim_account", SLAB_RECLAIM_ACCOUNT },
		{ "sanity_checks", SLAB_CONSISTENCY_CHECKS },
		{ "red_zone", SLAB_RED_ZONE },
		{ "poison", SLAB_POISON },
		{ "store_user", SLAB_STORE_USER },
		{ "trace", SLAB_TRACE },
		{ "failslab", SLAB_FAILSLAB },
		{ "skip_kfence", SLAB_SKIP_KFENCE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		c->flags = ~flags[i].flag;
		assert_string_equal(show(flags[i].name), "0\n");
		c->flags = flags[i].flag;
		assert_string_equal(show(flags[i].name), "1\n");
	}
}

static void test_one_node(void **state)
{
	(void)state;
	assert_string_equal(show("objects"), "900 N0=900\n");
	assert_string_equal(show("total_objects"), "1280 N0=1280\n");
	assert_string_equal(show("slabs"), "10 N0=10\n");
	assert_string_equal(show("partial"), "4 N0=4\n");
	assert_string_equal(show("objects_partial"), "200 N0=200\n");
	assert_string_equal(show("cpu_slabs"), "2 N0=2\n");
	c->partial = 0;
	assert_string_equal(show("partial"), "0\n");
}

/* 256 objects on node 0; on node 2 1024, of which 312 are free in 4 partial slabs; 68 cached. */
static void test_nodes(void **state)
{
	(void)state;
	fixture_s->totals.nodes = 4;
	c->node[0] = (struct snapshot_node){ .slabs = 2, .total_objects = 256 };
	c->node[2] = (struct snapshot_node){
		.slabs = 8, .partial = 4, .total_objects = 1024, .objects_partial = 200
	};
	assert_string_equal(show("slabs"), "10 N0=2 N2=8\n");
	assert_string_equal(show("partial"), "4 N2=4\n");
	assert_string_equal(show("total_objects"), "1280 N0=256 N2=1024\n");
	assert_string_equal(show("objects_partial"), "200 N2=200\n");
	assert_string_equal(show("objects"), "900 N0=238 N2=662\n");
	assert_string_equal(show("cpu_slabs"), "2\n"); /* no CPU can be read */
	c->objects = 0;
	assert_string_equal(show("objects"), "0\n");
}

/* Numbers that cannot be true: no division by zero, no sum below zero. */
static void test_nodes_that_lie(void **state)
{
	(void)state;
	fixture_s->totals.nodes = 64;
	assert_string_equal(show("objects"), "900\n");
	for (unsigned int i = 0; i < SNAPSHOT_MAX_NODES; i++)
		c->node[i] = (struct snapshot_node){ .partial = UINT32_MAX,
						     .total_objects = UINT32_MAX,
						     .objects_partial = 1 };
	c->objs_per_slab = UINT32_MAX;
	assert_string_equal(show("objects"), "900\n");
	c->objs_per_slab = 0;
	c->objects = ~0ul;
	assert_int_equal(strncmp(show("objects"), "18446744073709551615 N0=", 24), 0);
}

/* Nobody can be read: everything is zero. */
static void test_cpus(void **state)
{
	(void)state;
	assert_string_equal(show("slabs_cpu_partial"), "0(0)\n");
	assert_string_equal(show("alloc_fastpath"), "0\n");
	assert_string_equal(show("cpu_partial_drain"), "0\n");
}

static void test_nothing(void **state)
{
	(void)state;
	assert_string_equal(show("shrink"), "");
	assert_string_equal(show("validate"), "");
	assert_string_equal(show("ctor"), "");
}

/* Names of the kernel: 30 of Linux 6.18, the counters, failslab and skip_kfence; two of ours. */
static void test_table(void **state)
{
	unsigned int count = 0;

	(void)state;
	for (; fs_attribute(count); count++) {
		const struct fs_attribute *a = fs_attribute(count);

		assert_ptr_equal(fs_attribute_find(a->name), a);
		assert_non_null(a->show);
	}
	assert_int_equal(count, 35 + NR_ENGINE_STATS);
	assert_null(fs_attribute_find("ops"));
	assert_int_equal(fs_attribute_find("alloc_slab")->value, ALLOC_SLAB);
}

static void test_modes(void **state)
{
	const struct fs_attribute *min_partial = fs_attribute_find("min_partial");
	const struct fs_attribute *slabs = fs_attribute_find("slabs");

	(void)state;
	assert_int_equal(fs_attribute_mode(&fixture_fs, 0, min_partial), 0600);
	assert_int_equal(fs_attribute_mode(&fixture_fs, 0, slabs), 0400);
	fixture_fs.read_only = true;
	assert_int_equal(fs_attribute_mode(&fixture_fs, 0, min_partial), 0400);
	fixture_fs.read_only = false;
	c->id = 0;
	assert_int_equal(fs_attribute_mode(&fixture_fs, 0, min_partial), 0400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_aliases, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nodes_that_lie, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cpus, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
