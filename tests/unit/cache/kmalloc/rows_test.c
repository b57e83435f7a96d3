/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/kmalloc/rows_test.c - rows of kmalloc's caches: which row, whose cache, made when
 */
#include "cache/kmalloc/rows.h"

#include <sys/mman.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "debug/debug.h"
#include "threads.h"
#include "unit/cache/cache_fixture.h"

#define PLACES 64

static const unsigned int class_sizes[] = { 8,	 16,  32,   64,	  96,	128, 192,
					    256, 512, 1024, 2048, 4096, 8192 };

static void rows_ready(const char *conf)
{
	setenv("USLAB_CONF", conf, 1);
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	rows_check();
}

static struct uslab_kmalloc_site site_of(unsigned long token)
{
	return (struct uslab_kmalloc_site){ uslab_kmalloc_no_row, token };
}

/* Some place in a program's code. */
static const void *place(unsigned int i)
{
	return (const void *)(0x401000ul + i * 5);
}

static void *alloc_at(struct uslab_kmalloc_site *site, size_t size)
{
	return kmalloc_alloc_at(site, size, GFP_KERNEL, NUMA_NO_NODE, place(0));
}

static void *alloc_from(unsigned int i, size_t size)
{
	return kmalloc_alloc_for(size, GFP_KERNEL, NUMA_NO_NODE, place(i));
}

static const char *name_of(const void *p)
{
	const struct cache *c = cache_of_object(p);

	return c ? c->name : "none";
}

static unsigned int nr_caches(void)
{
	const struct list_head *pos;
	unsigned int n = 0;

	list_for_each(pos, &cache_list)
		n++;
	return n;
}

/* The number in "kmalloc-part-NN-size"; 0 for "kmalloc-size". */
static unsigned int row_of(const void *p)
{
	unsigned int row = 0;

	CHILD_CHECK(!strncmp(name_of(p), "kmalloc-", 8));
	sscanf(name_of(p), "kmalloc-part-%u-", &row);
	CHILD_CHECK(row < KMALLOC_ROWS);
	return row;
}

/* ---- which row ---- */

IN_CHILD(test_off)
{
	rows_ready("");
	for (unsigned long token = 0; token < 40; token++) {
		struct uslab_kmalloc_site site = site_of(token);
		void *p = alloc_at(&site, 100);

		CHILD_CHECK(!strcmp(name_of(p), "kmalloc-128"));
		CHILD_CHECK(site.row[uslab_kmalloc_index(100)] == cache_of_object(p)->handle);
		kmalloc_free(p, NULL);
	}
	for (unsigned int i = 0; i < PLACES; i++)
		CHILD_CHECK(row_of(alloc_from(i, 100)) == 0);
	CHILD_CHECK(nr_caches() == 26 && rows_seed() == 0);
	CHILD_CHECK(uslab_kmalloc_handles == percpu_handle(USLAB_ID_KMALLOC));
}

/* The token is the row; one with all its bits counts by the upper ones. */
IN_CHILD(test_typed)
{
	static const struct {
		unsigned long token;
		unsigned int row;
	} v[] = { { 0, 0 },
		  { 1, 1 },
		  { 15, 15 },
		  { 0x7fffffffffffffff, 7 },
		  { 0x8000000000000000, 8 },
		  { 0xf000000000000001, 15 },
		  { 16, 0 } };

	rows_ready("kmalloc.partition=typed");
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct uslab_kmalloc_site site = site_of(v[i].token);

		CHILD_CHECK(row_of(alloc_at(&site, 8)) == v[i].row);
		CHILD_CHECK(row_of(alloc_at(&site, 8192)) == v[i].row);
	}
	/* code that says no type has the unknown one, and keeps its hits */
	for (unsigned int i = 0; i < PLACES; i++)
		CHILD_CHECK(row_of(alloc_from(i, 8)) == 0);
	CHILD_CHECK(row_of(alloc_at(NULL, 8)) == 0);
	CHILD_CHECK(uslab_kmalloc_handles == percpu_handle(USLAB_ID_KMALLOC));
	rows_check();
}

/* Of 64 places all are in 7 rows or fewer once in 10^19 times. */
IN_CHILD(test_random)
{
	static struct uslab_kmalloc_site sites[PLACES];
	unsigned int rows = 0, site_rows = 0;

	rows_ready("kmalloc.partition=random");
	for (unsigned int i = 0; i < PLACES; i++) {
		void *p = alloc_from(i, 64);

		sites[i] = site_of(i % 16);
		rows |= 1u << row_of(p);
		CHILD_CHECK(row_of(alloc_from(i, 64)) == row_of(p));
		CHILD_CHECK(row_of(alloc_from(i, 4000)) == row_of(p)); /* of every size */
		CHILD_CHECK(row_of(alloc_at(NULL, 64)) == row_of(alloc_from(0, 64)));
		p = alloc_at(&sites[i], 64);
		site_rows |= 1u << row_of(p);
		CHILD_CHECK(row_of(alloc_at(&sites[i], 4000)) == row_of(p));
	}
	CHILD_CHECK(__builtin_popcount(rows) >= 8 && __builtin_popcount(site_rows) >= 8);
	rows_check();
}

/* What is inlined into programs that know no rows must not find objects of row 0. */
IN_CHILD(test_inlined_miss)
{
	rows_ready("kmalloc.partition=random");
	for (unsigned int index = 0; index < KMALLOC_INDEXES; index++) {
		struct kmem_cache *handle = uslab_kmalloc_handles + index;

		CHILD_CHECK(!cache_of(handle));
		for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
			CHILD_CHECK(*percpu_inline_word(percpu_id(handle), cpu) == front_stop_word);
	}
}

static uint64_t *seen; /* shared with children */

static void see_seed(void *arg)
{
	rows_ready("kmalloc.partition=random");
	seen[*(unsigned int *)arg] = rows_seed();
}

/* Each process has its own rows. */
static void test_seeds(void **state)
{
	(void)state;
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(seen, MAP_FAILED);
	for (unsigned int i = 0; i < 3; i++) {
		struct child c = child_run(see_seed, &i);

		assert_true(child_passed(&c));
	}
	assert_true(seen[0] && seen[0] != seen[1] && seen[1] != seen[2]);
	munmap(seen, 4096);
}

/* Only the normal type has rows, which is DMA's and that of accounting, too. */
IN_CHILD(test_types)
{
	struct uslab_kmalloc_site site = site_of(5);

	rows_ready("kmalloc.partition=typed");
	CHILD_CHECK(!strcmp(name_of(kmalloc_alloc_at(&site, 64, GFP_KERNEL | __GFP_RECLAIMABLE,
						     NUMA_NO_NODE, NULL)),
			    "kmalloc-rcl-64"));
	CHILD_CHECK(row_of(kmalloc_alloc_at(&site, 64, GFP_KERNEL_ACCOUNT, 0, NULL)) == 5);
	CHILD_CHECK(row_of(kmalloc_alloc_at(&site, 64, GFP_KERNEL | GFP_DMA, 0, NULL)) == 5);
	CHILD_CHECK(alloc_at(&site, 0) == ZERO_SIZE_PTR);
	CHILD_CHECK(!cache_of_object(alloc_at(&site, 8193)));
	CHILD_CHECK(!alloc_at(&site, KMALLOC_MAX_SIZE + 1) && !alloc_at(&site, SIZE_MAX));
}

/* The same without sites. */
IN_CHILD(test_types_random)
{
	rows_ready("kmalloc.partition=random");
	for (unsigned int i = 0; i < PLACES; i++) {
		void *p = kmalloc_alloc_for(64, GFP_KERNEL | __GFP_RECLAIMABLE, 0, place(i));

		CHILD_CHECK(!strcmp(name_of(p), "kmalloc-rcl-64"));
	}
	CHILD_CHECK(alloc_from(1, 0) == ZERO_SIZE_PTR && !alloc_from(1, SIZE_MAX));
	CHILD_CHECK(kmalloc_size(alloc_from(1, 8193)) == 16384);
}

/* ---- their caches ---- */

/* Made when they are needed, by the kernel's names; as kmalloc's own, and apart. */
IN_CHILD(test_caches)
{
	rows_ready("kmalloc.partition=typed");
	for (unsigned int row = 1; row < KMALLOC_ROWS; row++)
		for (size_t i = 0; i < ARRAY_SIZE(class_sizes); i++) {
			struct uslab_kmalloc_site site = site_of(row);
			unsigned int size = class_sizes[i], before = nr_caches();
			char want[CACHE_NAME_MAX];
			struct cache *c;
			void *p, *q;

			p = alloc_at(&site, size);
			c = cache_of_object(p);
			snprintf(want, sizeof(want), "kmalloc-part-%02u-%u%s", row,
				 size >= 1024 ? size / 1024 : size, size >= 1024 ? "k" : "");
			CHILD_CHECK(!strcmp(c->name, want) && nr_caches() == before + 1);
			q = alloc_at(&site, size - 1);
			CHILD_CHECK(cache_of_object(q) == c && nr_caches() == before + 1);
			CHILD_CHECK(c->flags & SLAB_KMALLOC && !cache_is_mergeable(c));
			CHILD_CHECK(c->refcount == 1 && c->usersize == size);
			CHILD_CHECK(c->front.id >= USLAB_ID_FIRST_FREE);
			CHILD_CHECK(!((uintptr_t)p & ((size & -size) - 1)));
			CHILD_CHECK(kmalloc_size(p) == size && kmalloc_roundup(size - 1) == size);
			kmalloc_free(p, NULL);
			kmalloc_free(q, NULL);
			CHILD_CHECK(in_use(c) == 0);
		}
	CHILD_CHECK(nr_caches() == 26 + 15 * 13);
	CHILD_CHECK(make("program's", 64, 64, 0)->refcount == 1); /* it did not merge */
	rows_check();
	cache_check_all();
}

/* Hits find the mark where it is in kmalloc's caches. */
IN_CHILD(test_marks)
{
	struct uslab_kmalloc_site site = site_of(3);

	rows_ready("kmalloc.partition=typed");
	for (size_t i = 0; i < ARRAY_SIZE(class_sizes); i++) {
		struct cache *c = cache_of_object(alloc_at(&site, class_sizes[i]));

		CHILD_CHECK(c->engine.mark == 0 || c->engine.mark == USLAB_MARK_OFFSET);
		CHILD_CHECK(*percpu_mark(c->front.id) == USLAB_MARK_OFFSET ||
			    *percpu_mark(c->front.id) == USLAB_MARK_NONE);
	}
}

/* SLAB has nothing below 32 bytes, also where only a row is SLAB's. */
IN_CHILD(test_minimum)
{
	struct uslab_kmalloc_site site = site_of(2), other = site_of(3);

	rows_ready("kmalloc.partition=typed,engine:kmalloc-part-02-*=slab");
	for (unsigned int round = 0; round < 2; round++) {
		CHILD_CHECK(!strcmp(name_of(alloc_at(&site, 8)), "kmalloc-part-02-32"));
		CHILD_CHECK(!strcmp(name_of(alloc_at(&site, 16)), "kmalloc-part-02-32"));
		CHILD_CHECK(!strcmp(name_of(alloc_at(&other, 8)), "kmalloc-part-03-8"));
		CHILD_CHECK(row_of(alloc_from(0, 8)) == 0);
	}
	CHILD_CHECK(!strcmp(cache_of_object(alloc_at(&site, 8))->engine.ops->name, "slab"));
	CHILD_CHECK(!strcmp(cache_of_object(alloc_at(&other, 8))->engine.ops->name, "slub"));
	rows_check();
}

/* Pages of a heap are shared: row 0 serves, of that size. */
IN_CHILD(test_heaps)
{
	struct uslab_kmalloc_site site = site_of(2), other = site_of(3);

	rows_ready("kmalloc.partition=typed,engine:kmalloc-part-02-*=slob");
	CHILD_CHECK(!strcmp(name_of(alloc_at(&site, 50)), "kmalloc-64"));
	CHILD_CHECK(!strcmp(name_of(alloc_at(&other, 50)), "kmalloc-part-03-64"));
	CHILD_CHECK(nr_caches() == 27);
	rows_check();
}

IN_CHILD(test_slob)
{
	struct uslab_kmalloc_site site = site_of(2);
	void *p;

	rows_ready("kmalloc.partition=typed,engine=slob,front=historical");
	p = alloc_at(&site, 101); /* what was asked for, without a cache */
	CHILD_CHECK(page_head_of(p)->type == PAGE_HEAP && kmalloc_size(p) == 102);
	kmalloc_free(p, NULL);
	CHILD_CHECK(nr_caches() == 26);
	rows_check();
}

/* Rules for names, and debug flags, hold for caches that are made later. */
IN_CHILD(test_patterns)
{
	struct uslab_kmalloc_site site = site_of(9), other = site_of(10);
	void *p;

	setenv("USLAB_DEBUG", "FZPU,kmalloc-part-09-*", 1);
	rows_ready("kmalloc.partition=typed,front:kmalloc-part-10-*=cpuslab");
	p = alloc_at(&site, 50);
	CHILD_CHECK(cache_of_object(p)->flags & SLAB_POISON && debug_is_slab(page_head_of(p)));
	CHILD_CHECK(kmalloc_size(p) >= 50 && row_of(p) == 9);
	kmalloc_free(p, NULL);
	p = alloc_at(&other, 50);
	CHILD_CHECK(!debug_is_slab(page_head_of(p)) && kmalloc_size(p) == 64);
	CHILD_CHECK(cache_of_object(p)->front.ops == &front_cpuslab_ops);
	kmalloc_free(p, NULL);
	CHILD_CHECK(report_counters.reports == 0);
	rows_check();
}

IN_CHILD(test_hardened)
{
	struct uslab_kmalloc_site site = site_of(4);
	void *p;

	rows_ready("kmalloc.partition=typed,hardened");
	p = alloc_at(&site, 50);
	CHILD_CHECK(row_of(p) == 4);
	kmalloc_free(p, NULL);
	CHILD_CHECK(report_counters.reports == 0);
	kmalloc_free(p, NULL);
	CHILD_CHECK(report_counters.reports == 1);
}

/* ---- where it cannot be created ---- */

static void no_number(void *arg)
{
	struct uslab_kmalloc_site site = site_of(6), late = site_of(7);
	unsigned int id;
	void *p;

	(void)arg;
	rows_ready("kmalloc.partition=typed");
	p = alloc_at(&site, 64);
	lock_acquire(&cache_lock);
	while (!cache_number_get_locked(0, &id))
		;
	lock_release(&cache_lock);
	CHILD_CHECK(row_of(p) == 6 && row_of(alloc_at(&site, 64)) == 6); /* those that are there */
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(!strcmp(name_of(alloc_at(&site, 128)), "kmalloc-128") &&
			    !strcmp(name_of(alloc_at(&late, 64)), "kmalloc-64"));
	rows_check();
}

static void test_no_number(void **state)
{
	struct child c = child_run(no_number, NULL);
	const char *line = strstr(c.text, "USLAB_CONF: kmalloc.partition: kmalloc-part-06-128");

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(line);
	assert_non_null(strstr(line, "too many caches"));
	assert_null(strstr(line + 1, "USLAB_CONF: kmalloc.partition")); /* once */
}

/* Neither does a row that cannot be made have any, nor row 0; and nothing is lost. */
IN_BARE_CHILD(test_no_memory)
{
	struct uslab_kmalloc_site site = site_of(6);
	void *p;

	rows_ready("kmalloc.partition=typed");
	p = alloc_at(&site, 64);
	no_more_memory();
	for (unsigned int i = 0; i < 200000 && p; i++)
		p = kmalloc_alloc_at(&site, 4096, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE, NULL);
	CHILD_CHECK(!p);
	rows_check();
}

/* A call of a signal handler that interrupted a holder of a lock must not wait for one. */
IN_CHILD(test_nested)
{
	struct uslab_kmalloc_site site = site_of(6);
	void *p;

	rows_ready("kmalloc.partition=typed");
	lock_acquire(&cache_lock);
	CHILD_CHECK(!alloc_at(&site, 64));
	lock_release(&cache_lock);
	p = alloc_at(&site, 64);
	CHILD_CHECK(row_of(p) == 6);
	rows_check();
}

/* ---- several threads ---- */

#define RACERS 6

static struct uslab_kmalloc_site raced = { uslab_kmalloc_no_row, 11 };
static void *found[RACERS + 1];
static unsigned int arrived;

static void *first_use(void *arg)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
	found[(uintptr_t)arg] = alloc_at(&raced, 200);
	return NULL;
}

static void *hold(void *arg)
{
	lock_acquire(&cache_lock);
	while (load_relaxed(&arrived) < RACERS)
		usleep(100);
	usleep(20000); /* by now most of them have found no cache, and wait for the lock */
	lock_release(&cache_lock);
	return arg;
}

/* All find that there is no cache, before any can make it: there is one in the end. */
IN_CHILD(test_race)
{
	bool stop = false;
	unsigned int before;

	rows_ready("kmalloc.partition=typed");
	before = nr_caches();
	threads_run_beside(RACERS, first_use, hold, &stop);
	CHILD_CHECK(nr_caches() == before + 1);
	for (unsigned int i = 1; i <= RACERS; i++)
		CHILD_CHECK(!strcmp(name_of(found[i]), "kmalloc-part-11-256"));
	rows_check();
	cache_check_all();
}

static struct uslab_kmalloc_site storm_sites[40];

/* First uses of every row and size, by all threads in another order, and frees of all. */
static void *storm(void *arg)
{
	unsigned int step = 2 * (unsigned int)(uintptr_t)arg + 1;
	void *held[64] = { NULL };

	for (unsigned int i = 0; i < 8000; i++) {
		unsigned int n = i * step;
		void **p = &held[i % ARRAY_SIZE(held)];
		size_t size = class_sizes[n / 7 % ARRAY_SIZE(class_sizes)];

		kmalloc_free(*p, NULL);
		*p = alloc_at(&storm_sites[n % ARRAY_SIZE(storm_sites)], size);
		CHILD_CHECK(*p && kmalloc_size(*p) == size);
		memset(*p, (int)n, size);
		if (i % 1000 == 500)
			cache_shrink_all();
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(held); i++)
		kmalloc_free(held[i], NULL);
	return NULL;
}

static void storms(const char *conf)
{
	struct list_head *pos;

	rows_ready(conf);
	for (unsigned int i = 0; i < ARRAY_SIZE(storm_sites); i++)
		storm_sites[i] = site_of(i % 16);
	threads_run(4, storm);
	rows_check();
	list_for_each(pos, &cache_list)
		CHILD_CHECK(in_use(list_entry(pos, struct cache, list)) == 0);
	CHILD_CHECK(nr_caches() <= 26 + 15 * 13);
	cache_check_all();
}

IN_CHILD(test_storm_typed)
{
	storms("kmalloc.partition=typed");
}

IN_CHILD(test_storm_random)
{
	storms("kmalloc.partition=random");
}

/* ---- mistakes ---- */

static void free_wrong(void *arg)
{
	struct uslab_kmalloc_site site = site_of(12);
	bool interior = *(bool *)arg;
	char *p;

	rows_ready("kmalloc.partition=typed");
	p = alloc_at(&site, 64);
	if (!interior)
		kmalloc_free(p, place(1));
	CHILD_CHECK(report_counters.reports == 0);
	kmalloc_free(interior ? p + 8 : p, place(2));
	CHILD_CHECK(report_counters.reports == 1);
}

/* A second free, and one of a pointer into an object: refused, under the cache's name. */
static void test_mistakes(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		bool interior = i;
		struct child c = child_run(free_wrong, &interior);

		assert_true(child_passed(&c));
		assert_non_null(strstr(c.text, "kmalloc-part-12-64"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),	     cmocka_unit_test(test_typed),
		cmocka_unit_test(test_random),	     cmocka_unit_test(test_inlined_miss),
		cmocka_unit_test(test_seeds),	     cmocka_unit_test(test_types),
		cmocka_unit_test(test_types_random), cmocka_unit_test(test_caches),
		cmocka_unit_test(test_marks),	     cmocka_unit_test(test_minimum),
		cmocka_unit_test(test_heaps),	     cmocka_unit_test(test_slob),
		cmocka_unit_test(test_patterns),     cmocka_unit_test(test_hardened),
		cmocka_unit_test(test_no_number),    cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_nested),	     cmocka_unit_test(test_race),
		cmocka_unit_test(test_storm_typed),  cmocka_unit_test(test_storm_random),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
