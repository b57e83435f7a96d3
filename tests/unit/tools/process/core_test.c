/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/core_test.c - uslab found in a core file of this process
 */
#define _GNU_SOURCE
#include "process/core.h"
#include "unit/tools/core_fixture.h"
#include "inspect/snapshot.h"
#include "util.h"
#include <uslab/slab.h>

static struct core_file file;

static void write_core(void)
{
	core_fill(&file);
	core_write(&file);
}

static void test_numbers_are_those_of_the_process(void **state)
{
	/* not static: copies of the root would be found in the program's data */
	struct snapshot *live = calloc(1, sizeof(*live));
	struct snapshot *still = calloc(1, sizeof(*still));
	struct target *t = calloc(1, sizeof(*t));
	const struct target_root *root;
	struct core *core;

	(void)state;
	write_core();
	assert_int_equal(snapshot_take(live, &reader_local, (uintptr_t)&uslab_root), 0);
	assert_int_equal(core_open(&core, "test", file.path, NULL, NULL), EXIT_OK);
	assert_int_equal(core->nr_roots, 1);
	assert_int_equal(core->root[0].address, (uintptr_t)&uslab_root);
	assert_non_null(strstr(core->root[0].object, "core_test"));
	assert_int_equal(core->pid, getpid());
	assert_string_equal(core->program, "a?program");

	core_target(core, "test", t);
	assert_int_equal(target_snapshot(t, NULL, still, &root), EXIT_OK);
	assert_int_equal(root->address, (uintptr_t)&uslab_root);
	assert_memory_equal(&still->totals, &live->totals, sizeof(live->totals));
	assert_int_equal(still->nr_caches, live->nr_caches);
	assert_memory_equal(still->cache, live->cache, live->nr_caches * sizeof(live->cache[0]));
	target_close(t);
	free(t);
	free(live);
	free(still);
	core_close(core);
	unlink(file.path);
}

/* Without a name for any mapped file that is right: found by its magic number. */
/* As an instruction may have it; no root. */
static const uint64_t magic_elsewhere __attribute__((used)) = USLAB_ROOT_MAGIC;

static void test_files_are_gone(void **state)
{
	struct core *core;

	(void)state;
	core_fill(&file);
	for (char *p = file.notes;
	     (p = memmem(p, (size_t)(file.notes + CORE_NOTES - p), "core_test", 9)) != NULL;)
		*p = 'C';
	core_write(&file);
	assert_int_equal(core_open(&core, "test", file.path, NULL, NULL), EXIT_OK);
	assert_int_equal(core->nr_roots, 1);
	assert_int_equal(core->root[0].address, (uintptr_t)&uslab_root);
	assert_non_null(strstr(core->root[0].object, "Core_test"));
	core_close(core);
	unlink(file.path);
}

static void test_without_uslab(void **state)
{
	struct core *core;

	(void)state;
	uslab_root.magic ^= 1;
	write_core();
	uslab_root.magic ^= 1;
	assert_int_equal(core_open(&core, "test", file.path, NULL, NULL), EXIT_FAILED);
	assert_null(core);
	core_close(core);
	unlink(file.path);
}

static void test_no_core(void **state)
{
	struct core *core;

	(void)state;
	assert_int_equal(core_open(&core, "test", "/proc/self/exe", NULL, NULL), EXIT_FAILED);
	assert_null(core);
	assert_int_equal(core_open(&core, "test", "/no/such/file", NULL, NULL), EXIT_FAILED);
	assert_null(core);
	write_core();
	assert_int_equal(core_open(&core, "test", file.path, NULL, "/no/such"), EXIT_FAILED);
	assert_null(core);
	unlink(file.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_are_gone),
		cmocka_unit_test(test_without_uslab),
		cmocka_unit_test(test_numbers_are_those_of_the_process),
		cmocka_unit_test(test_no_core),
	};
	static void *objects[300];
	struct kmem_cache *cache = kmem_cache_create("core-widget", 200, 0, 0, NULL);

	for (unsigned int i = 0; i < 300; i++)
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
	for (unsigned int i = 0; i < 300; i += 3)
		kmem_cache_free(cache, objects[i]);
	kmalloc(1 << 20, GFP_KERNEL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
