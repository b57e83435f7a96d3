/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/cpu_stats_test.c - what the CPUs of a made-up process have, and lies about it
 */

#include "fake_snapshot.h"
#include "inspect/cpu_stats.h"

static struct cpu_stats cpus[FAKE_CPUS];

static int read_cache(unsigned int id)
{
	fake_take();
	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == id)
			return cpu_stats_read(s, i, cpus);
	return -ENOENT;
}

static uint64_t descriptor(unsigned long page)
{
	return FAKE_PAGES + page * sizeof(struct page);
}

static void test_counters(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_cache(&f, 2047, "last", 64, 0);
	fake_state(&f, 192, 0)->stat[ALLOC_SLAB] = 5;
	fake_state(&f, 192, 2)->stat[ALLOC_SLAB] = 7;
	fake_state(&f, 2047, 1)->stat[CPU_PARTIAL_DRAIN] = 9;
	assert_int_equal(read_cache(192), 0);
	assert_int_equal(cpus[0].stat[ALLOC_SLAB], 5);
	assert_int_equal(cpus[1].stat[ALLOC_SLAB], 0);
	assert_int_equal(cpus[2].stat[ALLOC_SLAB], 7);
	assert_int_equal(read_cache(2047), 0);
	assert_int_equal(cpus[1].stat[CPU_PARTIAL_DRAIN], 9);
	assert_int_equal(cpus[0].stat[ALLOC_SLAB], 0);
}

static void test_slabs(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 0);
	fake_slab(&f, 3, 192, 64, 64, true);
	fake_slab(&f, 5, 192, 64, 10, true)->slabs = 2;
	fake_slab(&f, 6, 192, 64, 10, true);
	fake_page(&f, 5)->node = 1;
	fake_state(&f, 192, 0)->slab = descriptor(3);
	fake_state(&f, 192, 2)->partial = (struct page *)descriptor(5);
	assert_int_equal(read_cache(192), 0);
	assert_int_equal(cpus[0].slab_node, 0);
	assert_int_equal(cpus[0].partial_slabs, 0);
	assert_int_equal(cpus[0].partial_node, -1);
	assert_int_equal(cpus[1].slab_node, -1);
	assert_int_equal(cpus[2].slab_node, -1);
	assert_int_equal(cpus[2].partial_slabs, 2);
	assert_int_equal(cpus[2].partial_node, 1);
}

/* What the words of other fronts hold is no slab. */
static void test_other_fronts(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_slab(&f, 3, 192, 64, 64, true);
	fake_state(&f, 192, 0)->slab = descriptor(3);
	assert_int_equal(read_cache(192), 0);
	assert_int_equal(cpus[0].slab_node, -1);
}

static void test_lies(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 0);
	fake_cache(&f, 193, "b", 64, 0);
	fake_slab(&f, 3, 193, 64, 64, true); /* of another cache */
	fake_slab(&f, 4, 192, 64, 10, true)->slabs = 1ul << 40;
	fake_slab(&f, 5, 192, 64, 10, true)->slabs = 1;
	fake_page(&f, 5)->node = 2; /* there are two */
	fake_state(&f, 192, 0)->slab = descriptor(3);
	fake_state(&f, 192, 0)->partial = (struct page *)descriptor(4);
	fake_state(&f, 192, 1)->slab = 0x1234567890;
	fake_state(&f, 192, 1)->partial = (struct page *)(descriptor(FAKE_NR_PAGES));
	fake_state(&f, 192, 2)->slab = descriptor(4) + 8;
	fake_state(&f, 192, 2)->partial = (struct page *)descriptor(5);
	assert_int_equal(read_cache(192), 0);
	for (unsigned int cpu = 0; cpu < FAKE_CPUS; cpu++)
		assert_int_equal(cpus[cpu].slab_node, -1);
	assert_int_equal(cpus[0].partial_slabs, 2); /* as many as it has */
	assert_int_equal(cpus[1].partial_slabs, 0);
	assert_int_equal(cpus[2].partial_slabs, 0);
	assert_int_equal(cpus[2].partial_node, -1);
}

/* A row for whole pages has number 0, which is no cache's. */
static void test_rows(void **state)
{
	(void)state;
	fake_state(&f, 0, 0)->stat[ALLOC_SLAB] = 5;
	assert_int_equal(read_cache(0), 0);
	assert_int_equal(cpus[0].stat[ALLOC_SLAB], 0);
	assert_int_equal(cpus[0].slab_node, -1);
}

static void test_death(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_take();
	f.dies_after = f.reads;
	assert_int_equal(cpu_stats_read(s, 0, cpus), -ESRCH);
}

/* A CPU whose window nobody has touched. */
static void test_missing_window(void **state)
{
	(void)state;
	fake_cache(&f, 192, "a", 64, 8);
	fake_take();
	s->totals.arena_base += 1ul << 32;
	assert_int_equal(cpu_stats_read(s, 0, cpus), 0);
	assert_int_equal(cpus[2].stat[ALLOC_SLAB], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(test_counters),	FAKE_TEST(test_slabs), FAKE_TEST(test_other_fronts),
		FAKE_TEST(test_lies),		FAKE_TEST(test_rows),  FAKE_TEST(test_death),
		FAKE_TEST(test_missing_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
