/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/debug/usercopy_test.c - bytes inside of an object, across its end, outside its window
 */
#include "unit/cache/cache_fixture.h"

#include "debug/kfence/kfence.h"
#include "debug/pages/blocks.h"

/* 64 bytes with a window of [16, 48), and what is said of each range (spec 5.11). */
static const struct {
	int offset;
	size_t n;
	int said;
} ranges[] = {
	{ 16, 32, 0 },
	{ 16, 1, 0 },
	{ 47, 1, 0 },
	{ 20, 8, 0 },
	{ 48, 0, 0 },
	{ 0, 0, 0 },
	{ 15, 1, -EACCES },
	{ 15, 2, -EACCES },
	{ 48, 1, -EACCES },
	{ 47, 2, -EACCES },
	{ 0, 64, -EACCES },
	{ 63, 1, -EACCES },
	{ 16, 49, -EFAULT },
	{ 64, 1, -EFAULT },
	{ 0, 65, -EFAULT },
	{ 63, 2, -EFAULT },
	{ 16, SIZE_MAX, -EFAULT },
	{ 16, SIZE_MAX / 2, -EFAULT },
};

static void check_ranges(const char *obj)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		int said = cache_check_object(obj + ranges[i].offset, ranges[i].n);

		if (said != ranges[i].said)
			dprintf(2, "offset %d, %zu bytes: %d\n", ranges[i].offset, ranges[i].n,
				said);
		CHILD_CHECK(said == ranges[i].said);
	}
}

static struct cache *window(slab_flags_t flags, const struct engine_ops *engine)
{
	/* a stride of more than 64, so that there is something behind each object */
	return made(&(struct cache_spec){ .name = "window",
					  .size = 64,
					  .align = 128,
					  .flags = flags,
					  .engine = engine,
					  .useroffset = 16,
					  .usersize = 32 });
}

static void objects(void *arg)
{
	static const slab_flags_t flags[] = { 0, SLAB_RED_ZONE, SLAB_POISON | SLAB_STORE_USER };

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		struct cache *c = window(flags[i], arg);
		char *p[3];

		for (unsigned int j = 0; j < 3; j++) {
			p[j] = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
			check_ranges(p[j]);
		}
		if (flags[i] & SLAB_RED_ZONE)
			CHILD_CHECK(cache_check_object(p[0] - 1, 1) == -EFAULT);
		for (unsigned int j = 0; j < 3; j++)
			cache_free(c, p[j]);
		cache_destroy(c->handle, NULL);
	}
}

static void test_objects(void **state)
{
	(void)state;
	for (size_t i = 0; i < CACHE_NR_ENGINES; i++) {
		struct child c;

		if (cache_engines[i]->heap)
			continue;
		c = child_run(objects, (void *)cache_engines[i]);
		if (!child_passed(&c))
			fail_msg("%s", cache_engines[i]->name);
	}
}

/* Nothing of a cache without a window; all of a kmalloc'ed block, no more than was asked for. */
IN_CHILD(test_windows)
{
	struct cache *c;
	char *p;
	char *q;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = made(&(struct cache_spec){ .name = "none", .size = 64, .no_merge = true });
	p = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(cache_check_object(p, 1) == -EACCES && cache_check_object(p, 0) == 0);
	q = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(cache_check_object(q, 128) == 0 && cache_check_object(q, 129) == -EFAULT);
	CHILD_CHECK(cache_check_object(q + 127, 1) == 0 &&
		    cache_check_object(q + 127, 2) == -EFAULT);
	CHILD_CHECK(cache_set_debug_pattern("kmalloc-128", "FZPU") > 0);
	q = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(cache_check_object(q, 100) == 0 && cache_check_object(q, 101) == -EFAULT);
}

IN_CHILD(test_pages)
{
	char local[8];
	char *p;
	char *mapped;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	p = kmalloc_alloc_pages(20000, 1, GFP_KERNEL, NUMA_NO_NODE, NULL);
	CHILD_CHECK(cache_check_object(p, 5 * PAGE_SIZE) == 0);
	CHILD_CHECK(cache_check_object(p + PAGE_SIZE, 4 * PAGE_SIZE) == 0);
	CHILD_CHECK(cache_check_object(p + PAGE_SIZE, 4 * PAGE_SIZE + 1) == -EFAULT);
	mapped = kmalloc_alloc_pages(64ul << 20, 1, GFP_KERNEL, NUMA_NO_NODE, NULL);
	CHILD_CHECK(cache_check_object(mapped + 5, (64ul << 20) - 5) == 0);
	CHILD_CHECK(cache_check_object(local, 8) == -ENOENT);
	CHILD_CHECK(cache_check_object(NULL, 8) == -ENOENT);
	kmalloc_free(p, NULL);
	CHILD_CHECK(cache_check_object(p, 1) == -EFAULT);
}

/* With red zones a block has the bytes that were asked for. */
IN_CHILD(test_checked_pages)
{
	char *p;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	blocks_name = "kmalloc-large";
	CHILD_CHECK(cache_set_debug_pattern("kmalloc-large", "FZ") > 0);
	p = kmalloc_alloc_pages(20000, 1, GFP_KERNEL, NUMA_NO_NODE, NULL);
	CHILD_CHECK(cache_check_object(p, 20000) == 0);
	CHILD_CHECK(cache_check_object(p, 20001) == -EFAULT);
	CHILD_CHECK(cache_check_object(p - 1, 1) == -EFAULT);
}

IN_CHILD(test_guarded)
{
	struct cache *c;
	char *p = NULL;

	CHILD_CHECK(cache_set_option("kfence.sample", "1", NULL));
	ready();
	c = window(0, NULL);
	for (unsigned int i = 0; i < 100 && !(p && kfence_is_object(page_head_of(p))); i++)
		p = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(kfence_is_object(page_head_of(p)));
	check_ranges(p);
	cache_free(c, p);
	CHILD_CHECK(cache_check_object(p + 16, 8) == -EFAULT);
}

/* In a heap nothing is known of objects. */
IN_CHILD(test_heap)
{
	struct cache *c;

	ready();
	c = window(0, &slob_ops);
	CHILD_CHECK(cache_check_object(cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE), 64) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects), cmocka_unit_test(test_windows),
		cmocka_unit_test(test_pages),	cmocka_unit_test(test_checked_pages),
		cmocka_unit_test(test_guarded), cmocka_unit_test(test_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
