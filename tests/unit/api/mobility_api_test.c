/* SPDX-License-Identifier: MIT */
/*
 * unit/api/mobility_api_test.c - objects that move, as a program has them: a list of records
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/slab.h>
#include <cmocka.h>

#define RECORDS 5000

struct record {
	unsigned int number; /* RECORDS: free */
	unsigned int users;  /* pinned by the function that isolates */
	char text[56];
};

static struct record *slot[RECORDS];

static void construct(void *obj)
{
	*(struct record *)obj = (struct record){ .number = RECORDS };
}

static int move(void *from, void *to, void *arg)
{
	struct record *record = from;
	unsigned int i = record->number;

	assert_ptr_equal(arg, slot);
	if (i >= RECORDS || slot[i] != record)
		return 1;
	*(struct record *)to = *record;
	slot[i] = to;
	construct(record);
	return 0;
}

static void *isolate(struct kmem_cache *s, void **objs, int nr)
{
	(void)s;
	for (int i = 0; i < nr; i++) {
		struct record *record = objs[i];

		if (record->number >= RECORDS)
			objs[i] = NULL;
		else
			record->users++;
	}
	return slot;
}

static void migrate(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	for (int i = 0; i < nr; i++) {
		struct record *record = objs[i];
		void *to = record ? kmem_cache_alloc_node(s, GFP_KERNEL, node) : NULL;

		if (!to)
			continue;
		record->users--;
		assert_int_equal(move(record, to, private), 0);
		kmem_cache_free(s, record);
	}
}

static void put(struct kmem_cache *s, unsigned int i)
{
	slot[i] = kmem_cache_alloc(s, GFP_KERNEL);
	assert_non_null(slot[i]);
	slot[i]->number = i;
	memset(slot[i]->text, (int)i, sizeof(slot[i]->text));
}

static void drop(struct kmem_cache *s, unsigned int i)
{
	for (unsigned int n = 0; n < sizeof(slot[i]->text); n++)
		assert_int_equal((unsigned char)slot[i]->text[n], i % 256);
	assert_int_equal(slot[i]->users, 0);
	construct(slot[i]);
	kmem_cache_free(s, slot[i]);
	slot[i] = NULL;
}

static struct kmem_cache_statistics stats_of(struct kmem_cache *s)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };

	assert_int_equal(kmem_cache_stats(s, &stats), 0);
	return stats;
}

/* One in 16 stays. */
static struct kmem_cache *make_thin(void)
{
	struct kmem_cache *s = kmem_cache_create("records", sizeof(struct record), 0, 0, construct);

	assert_non_null(s);
	for (unsigned int i = 0; i < RECORDS; i++)
		put(s, i);
	for (unsigned int i = 0; i < RECORDS; i++)
		if (i % 16)
			drop(s, i);
	kmem_cache_shrink(s);
	return s;
}

static void end(struct kmem_cache *s, size_t before)
{
	struct kmem_cache_statistics stats = stats_of(s);

	assert_int_equal(stats.objects, RECORDS / 16 + 1);
	/* with debug flags (USLAB_DEBUG) nothing moves */
	if (stats.defrag_moved) {
		assert_true(stats.slabs * 4 < before);
		assert_int_equal(stats.defrag_slabs, before - stats.slabs);
		assert_int_equal(stats.defrag_bytes / stats.defrag_slabs,
				 stats.slab_bytes / stats.slabs);
	}
	for (unsigned int i = 0; i < RECORDS; i += 16)
		drop(s, i);
	kmem_cache_destroy(s);
}

static void test_move(void **state)
{
	struct kmem_cache *s = make_thin();
	size_t before = stats_of(s).slabs;
	int ret;

	(void)state;
	assert_int_equal(kmem_cache_defrag(s, NUMA_NO_NODE, 0), -EOPNOTSUPP);
	assert_int_equal(uslab_cache_set_defrag_ratio(s, 30), -EOPNOTSUPP);
	assert_int_equal(uslab_cache_set_move(s, move, slot), 0);
	assert_int_equal(uslab_cache_set_defrag_ratio(s, 101), -EINVAL);
	assert_int_equal(uslab_cache_set_defrag_ratio(s, 30), 0);
	while ((ret = kmem_cache_defrag(s, NUMA_NO_NODE, 50)) == 1) {}
	assert_int_equal(ret, 0);
	end(s, before);
}

static void test_migrate(void **state)
{
	struct kmem_cache *s = make_thin();
	size_t before = stats_of(s).slabs;

	(void)state;
	assert_int_equal(kmem_cache_setup_mobility(s, isolate, NULL), -EINVAL);
	assert_int_equal(kmem_cache_setup_mobility(s, isolate, migrate), 0);
	assert_int_equal(kmem_cache_defrag(s, NUMA_NO_NODE, 0), 0);
	assert_int_equal(kmem_cache_setup_mobility(s, NULL, NULL), 0);
	assert_int_equal(kmem_cache_defrag(s, NUMA_NO_NODE, 0), -EOPNOTSUPP);
	end(s, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_migrate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
