/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/fs/fs_tree_test.c - paths, listings and contents for made-up caches
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "unit/tools/fs_fixture.h"

static int setup(void **state)
{
	(void)state;
	if (fixture_init())
		return -1;
	fixture_add("plain", "");
	fixture_add("first", ":0000064");
	fixture_alias("second");
	fixture_add("tracked", "")->flags = SLAB_STORE_USER;
	fixture_alias("traced");
	fs_names_make(fixture_fs.names, fixture_s);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_exit();
	return 0;
}

static void expect(const char *path, enum fs_kind kind, mode_t mode)
{
	struct fs_node node = fs_tree_find(&fixture_fs, path);
	struct stat st;

	assert_int_equal(node.kind, kind);
	if (kind == FS_NOTHING)
		return;
	fs_tree_stat(&fixture_fs, &node, &st);
	assert_int_equal(st.st_mode, mode);
}

static void test_paths(void **state)
{
	(void)state;
	expect("/", FS_FOLDER, S_IFDIR | 0755);
	expect("/kernel", FS_FOLDER, S_IFDIR | 0755);
	expect("/kernel/", FS_FOLDER, S_IFDIR | 0755);
	expect("/kernel/slab", FS_FOLDER, S_IFDIR | 0755);
	expect("/kernel/slab/plain", FS_CACHE, S_IFDIR | 0755);
	expect("/kernel/slab/:0000064", FS_CACHE, S_IFDIR | 0755);
	expect("/kernel/slab/first", FS_LINK, S_IFLNK | 0777);
	expect("/kernel/slab/second", FS_LINK, S_IFLNK | 0777);
	expect("/kernel/slab/plain/slabs", FS_ATTRIBUTE, S_IFREG | 0400);
	expect("/kernel/slab/plain/shrink", FS_ATTRIBUTE, S_IFREG | 0600);
	expect("/kernel/debug/slab", FS_FOLDER, S_IFDIR | 0755);
	expect("/kernel/debug/slab/tracked", FS_CACHE, S_IFDIR | 0755);
	expect("/kernel/debug/slab/tracked/alloc_traces", FS_TRACES, S_IFREG | 0400);
	expect("/kernel/debug/slab/tracked/free_traces", FS_TRACES, S_IFREG | 0400);
	expect("/proc/slabinfo", FS_SLABINFO, S_IFREG | 0400);
}

static void test_no_paths(void **state)
{
	static const char *const paths[] = {
		"/slab",
		"/kernel/proc",
		"/kernel/slab/none",
		"/kernel/slab/plain/none",
		"/kernel/slab/plain/alloc_traces",
		"/kernel/slab/plain/slabs/x",
		"/kernel/slab/first/slabs", /* the kernel follows links, not we */
		"/kernel/debug/slab/plain",
		"/kernel/debug/slab/first",
		"/kernel/debug/slab/traced",
		"/kernel/debug/slab/tracked/slabs",
		"/proc/slabinfo/x",
		"/proc/meminfo",
		"/kernel/slab/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		expect(paths[i], FS_NOTHING, 0);
}

static void test_slabinfo_mode(void **state)
{
	(void)state;
	fixture_s->work[0].queues = 1;
	expect("/proc/slabinfo", FS_SLABINFO, S_IFREG | 0600);
	fixture_fs.read_only = true;
	expect("/proc/slabinfo", FS_SLABINFO, S_IFREG | 0400);
}

static char listed[1024];
static unsigned int nr_listed;
static unsigned int most_listed;

static bool visit(const char *name, const struct fs_node *node, void *arg)
{
	struct stat st;

	(void)arg;
	fs_tree_stat(&fixture_fs, node, &st);
	assert_int_not_equal(st.st_mode & S_IFMT, 0);
	if (strlen(listed) + strlen(name) + 2 < sizeof(listed)) {
		strcat(listed, name);
		strcat(listed, " ");
	}
	return ++nr_listed == most_listed;
}

static const char *list(const char *path)
{
	struct fs_node node = fs_tree_find(&fixture_fs, path);

	listed[0] = '\0';
	nr_listed = 0;
	fs_tree_list(&fixture_fs, &node, visit, NULL);
	return listed;
}

static void test_lists(void **state)
{
	(void)state;
	assert_string_equal(list("/"), "kernel proc groups ");
	assert_string_equal(list("/kernel"), "slab debug ");
	assert_string_equal(list("/kernel/slab"), ":0000064 first plain second traced tracked ");
	assert_string_equal(list("/kernel/debug"), "slab ");
	assert_string_equal(list("/kernel/debug/slab"), "tracked ");
	assert_string_equal(list("/kernel/debug/slab/tracked"), "alloc_traces free_traces ");
	assert_string_equal(list("/proc"), "sys slabinfo allocinfo memory numastat ");
	assert_string_equal(list("/proc/sys"), "vm ");
	assert_string_equal(list("/proc/sys/vm"), "mem_profiling ");
	list("/kernel/slab/plain");
	assert_int_equal(nr_listed, 35 + NR_ENGINE_STATS);
	most_listed = 2;
	assert_string_equal(list("/kernel/slab"), ":0000064 first ");
	most_listed = 0;
}

/* The kernel's slabinfo ends when there are more. */
static void test_list_is_cut(void **state)
{
	char name[32];

	(void)state;
	fixture_fs.warned_cut = true; /* quiet */
	for (unsigned int i = 0; i < FS_MAX_LINKS; i++) {
		snprintf(name, sizeof(name), "z%u", i);
		fixture_alias(name);
	}
	while (fixture_s->nr_caches < SNAPSHOT_MAX_CACHES) {
		snprintf(name, sizeof(name), "y%u", fixture_s->nr_caches);
		fixture_add(name, "");
	}
	fs_names_make(fixture_fs.names, fixture_s);
	list("/kernel/slab");
	assert_int_equal(nr_listed, FS_MAX_LISTED + FS_MAX_LINKS);
	expect("/kernel/slab/z499", FS_LINK, S_IFLNK | 0777);
}

static const char *target(const char *path)
{
	struct fs_node node = fs_tree_find(&fixture_fs, path);

	return fs_tree_target(&fixture_fs, &node);
}

static void test_targets(void **state)
{
	(void)state;
	assert_string_equal(target("/kernel/slab/first"), ":0000064");
	assert_string_equal(target("/kernel/slab/second"), ":0000064");
}

static void test_contents(void **state)
{
	struct fs_node node = fs_tree_find(&fixture_fs, "/kernel/slab/first/aliases");
	char *text;
	size_t size;

	(void)state;
	node = fs_tree_find(&fixture_fs, "/kernel/slab/:0000064/aliases");
	assert_int_equal(fs_tree_content(&fixture_fs, &node, &text, &size), 0);
	assert_int_equal(size, 2);
	assert_string_equal(text, "1\n");
	free(text);
	node = fs_tree_find(&fixture_fs, "/kernel");
	assert_int_equal(fs_tree_content(&fixture_fs, &node, &text, &size), -EISDIR);
	assert_null(text);
}

/* A text longer than the kernel's slabinfo takes ends with a whole word. */
static int show_long(FILE *out, struct fs *fs, unsigned int cache, const struct fs_attribute *a)
{
	(void)fs, (void)cache;
	fprintf(out, "%*s", (int)a->node, "");
	for (unsigned int i = 0; i < a->value; i++)
		fprintf(out, "C%u=%u ", i, i);
	fputs("end\n", out);
	return 0;
}

static void test_long_content(void **state)
{
	struct fs_attribute attribute = { .show = show_long, .value = 1000 };
	struct fs_node node = { .kind = FS_ATTRIBUTE, .attribute = &attribute };
	char *text;
	size_t size;

	(void)state;
	for (attribute.node = 0; attribute.node < 10; attribute.node++) {
		assert_int_equal(fs_tree_content(&fixture_fs, &node, &text, &size), 0);
		assert_in_range(size, FS_FILE_MAX - 9, FS_FILE_MAX);
		assert_int_equal(text[size - 1], '\n');
		text[size] = '\0';
		assert_string_equal(strrchr(text, 'C'),
				    attribute.node < 5 ? "C478=478\n" : "C477=477\n");
		free(text);
	}
	/* as long as may be */
	attribute.value = 0;
	attribute.node = FS_FILE_MAX - 4;
	assert_int_equal(fs_tree_content(&fixture_fs, &node, &text, &size), 0);
	assert_int_equal(size, FS_FILE_MAX);
	assert_string_equal(text + size - 4, "end\n");
	free(text);
}

static void test_writes_refused(void **state)
{
	struct fs_node node = fs_tree_find(&fixture_fs, "/kernel/slab/plain/min_partial");

	(void)state;
	assert_int_equal(fs_tree_write(&fixture_fs, &node, "x", 1), -EINVAL);
	fixture_s->cache[0].id = 0;
	assert_int_equal(fs_tree_write(&fixture_fs, &node, "1", 1), -EACCES);
	node = fs_tree_find(&fixture_fs, "/proc/slabinfo");
	assert_int_equal(fs_tree_write(&fixture_fs, &node, "first 1 1 1", 11), -EIO);
	fixture_fs.read_only = true;
	assert_int_equal(fs_tree_write(&fixture_fs, &node, "first 1 1 1", 11), -EROFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slabinfo_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_list_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_targets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writes_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
