/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/watch_test.c - slow paths of watched caches: routes by page, zeroing, sizes,
 * mistakes
 */
#include "bytes.h"
#include "unit/cache/cache_fixture.h"

#include "base/atomic.h"
#include "cache/internal.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "front/array.h"

#define FZPU DEBUG_DEFAULT

static struct cache *kmalloc_of(size_t size)
{
	void *p = kmalloc_alloc(size, GFP_KERNEL, NUMA_NO_NODE);
	struct cache *c = cache_of_object(p);

	kmalloc_free(p, NULL);
	return c;
}

/* ---- zeroing ---- */

/* The bytes that were asked for, and no red zone is harmed. */
IN_CHILD(test_zeroing)
{
	static const slab_flags_t debug_flags[] = { 0, SLAB_CONSISTENCY_CHECKS, SLAB_POISON,
						    SLAB_STORE_USER, FZPU };
	struct cache *c;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = kmalloc_of(64);
	for (unsigned int l = 0; l < ARRAY_SIZE(debug_flags); l++) {
		CHILD_CHECK(cache_set_debug(c, debug_flags[l]) == 0);
		for (size_t size = 33; size <= 64; size++) {
			unsigned char *p;

			p = kmalloc_alloc(size, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE);
			CHILD_CHECK(all_bytes(p, size, 0) && kmalloc_size(p) >= size);
			memset(p, 0xee, size);
			kmalloc_free(p, NULL);
		}
		CHILD_CHECK(cache_validate(c) >= 0 || !debug_flags[l]);
	}
	CHILD_CHECK(report_counters.reports == 0 && in_use(c) == 0);
}

IN_CHILD(test_guarded)
{
	struct cache *c;
	unsigned char *p;

	CHILD_CHECK(cache_set_option("kfence.sample", "1", NULL));
	ready();
	c = make("c", 64, 0, 0);
	p = cache_alloc(c, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE);
	CHILD_CHECK(kfence_is_object(page_head_of(p)) && all_bytes(p, 64, 0));
	CHILD_CHECK(cache_usable_size(page_head_of(p), p) == 64);
	cache_free(c, p);
	CHILD_CHECK(kfence_counters.frees == 1 && report_counters.reports == 0);
	/* whatever was switched in the meantime */
	p = get(c);
	CHILD_CHECK(kfence_is_object(page_head_of(p)));
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	cache_free(c, p);
	CHILD_CHECK(kfence_counters.frees == 2);
}

/* ---- sizes (spec 5.7) ---- */

IN_CHILD(test_sizes)
{
	static const struct {
		slab_flags_t flags;
		size_t size;
	} v[] = { { 0, 104 },
		  { SLAB_RED_ZONE, 100 },
		  { SLAB_POISON, 100 },
		  { SLAB_STORE_USER, 104 },
		  { SLAB_TYPESAFE_BY_RCU, 104 },
		  { SLAB_TYPESAFE_BY_RCU | SLAB_RED_ZONE, 100 },
		  { SLAB_CONSISTENCY_CHECKS, 104 },
		  { FZPU, 100 } };
	struct cache *c;
	void *p;

	ready();
	for (unsigned int i = 0; i < ARRAY_SIZE(v); i++) {
		c = make("c", 100, 0, v[i].flags);
		p = get(c);
		CHILD_CHECK(kmalloc_size(p) == v[i].size);
		memset(p, 0x11, kmalloc_size(p));
		cache_free(c, p);
	}
	CHILD_CHECK(kmalloc_init() == 0);
	c = kmalloc_of(100);
	p = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(kmalloc_size(p) == 128);
	CHILD_CHECK(!kmalloc_resize(p, 50)); /* nothing remembers */
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE) == 0);
	CHILD_CHECK(kmalloc_size(p) == 128); /* a plain one still */
	kmalloc_free(p, NULL);
	p = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(kmalloc_size(p) == 128); /* only U remembers what was asked for */
	kmalloc_free(p, NULL);
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	p = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(kmalloc_size(p) == 100);
	CHILD_CHECK(kmalloc_resize(p, 70) && kmalloc_size(p) == 70);
	((char *)p)[70] = 1;
	kmalloc_free(p, NULL);
	CHILD_CHECK(report_counters.reports == 1); /* behind what is left of it */
}

/* ---- mistakes ---- */

IN_CHILD(test_foreign)
{
	struct cache *other;
	struct cache *c;
	void *run;
	void *p;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = make("checked", 64, 0, SLAB_CONSISTENCY_CHECKS | SLAB_NOLEAKTRACE);
	other = make("other", 64, 0, SLAB_NOLEAKTRACE);
	p = get(other);
	cache_free(c, p);
	CHILD_CHECK(report_counters.reports == 1);
	CHILD_CHECK(in_use(other) == 0 && in_use(c) == 0); /* in its own cache */
	run = kmalloc_alloc(20000, GFP_KERNEL, NUMA_NO_NODE);
	cache_free(c, run);
	CHILD_CHECK(report_counters.reports == 2);
	kmalloc_free(run, NULL); /* was left alone */
	/* an object of a debug slab that is freed into a plain cache */
	p = get(c);
	cache_free_for(c, p, NULL);
	cache_free_for(c, p, NULL);
	CHILD_CHECK(report_counters.reports == 3 && in_use(c) == 0);
	cache_check_all();
}

/* ---- memory is short ---- */

IN_BARE_CHILD(test_short)
{
	struct cache *hoard;
	struct cache *c;
	void *p[64];
	void *last;
	unsigned int n = 0;

	ready();
	hoard = make_front("hoard", 4096, "array");
	c = make("c", 64, 0, FZPU);
	cache_free(c, get(c));
	for (unsigned int i = 0; i < 64; i++)
		p[i] = get(hoard);
	no_more_memory();
	while ((last = cache_alloc(c, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE)))
		n++;
	CHILD_CHECK(n > 0);
	/* what others hold for later is enough for one more */
	cache_free_bulk(hoard, 64, p);
	CHILD_CHECK(get(c));
	CHILD_CHECK(report_counters.reports == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroing), cmocka_unit_test(test_guarded),
		cmocka_unit_test(test_sizes),	cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
