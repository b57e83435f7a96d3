/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/lent_test.c - lent sheaves: filled, used up, filled again, returned; what fails and
 * what may not; mistakes
 *
 * That every engine and front does it, with all debug flags: conformance/pairs_test.c.
 */
#include "bytes.h"
#include "cache_fixture.h"
#include "cache/internal.h"
#include "debug/kfence/kfence.h"
#include "page/nested.h"
#include "refused.h"

static struct slab_sheaf *lend(struct cache *c, unsigned int size)
{
	struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, size, NULL);

	CHILD_CHECK(sheaf && sheaf->count == size);
	return sheaf;
}

static void *take(struct cache *c, struct slab_sheaf *sheaf)
{
	void *obj = lent_alloc(c, GFP_KERNEL, sheaf, NULL);

	CHILD_CHECK(obj);
	return obj;
}

/* Lends a sheaf of that size, uses it up, and leaves all as it was. */
static void use(struct cache *c, unsigned int size)
{
	static void *p[20000];
	struct slab_sheaf *sheaf = lend(c, size);

	CHILD_CHECK(sheaf->capacity >= size && in_use(c) == 0);
	for (unsigned int n = 0; n < size; n++)
		p[n] = take(c, sheaf);
	CHILD_CHECK(in_use(c) == size);
	cache_free_bulk(c, size, p);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(cache_shrink(c) == 0 && in_use(c) == 0);
}

IN_CHILD(test_sizes)
{
	static const unsigned int sizes[] = { 20000, 1, 2, 5, 31, 32, 100, 5000, 20000 };
	size_t used = 0;
	struct cache *c;

	ready();
	c = make_front("c", 64, "none");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		use(c, sizes[i]);
		CHILD_CHECK(!i || meta_counters.used == used);
		used = meta_counters.used;
	}
	meta_check();
}

/* No sheaf is a sheaf of none. */
IN_CHILD(test_nothing)
{
	struct slab_sheaf *none = NULL;
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	CHILD_CHECK(!lent_prefill(c, GFP_KERNEL, 0, NULL));
	CHILD_CHECK(!lent_alloc(c, GFP_KERNEL, NULL, NULL));
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, NULL, 1, NULL) == -EINVAL);
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &none, 1, NULL) == -EINVAL);
	lent_return(c, NULL, NULL);
	CHILD_CHECK(reports() == 0 && stats_of(c).nr_slabs == 0);
}

IN_CHILD(test_refill)
{
	struct slab_sheaf *sheaf;
	struct slab_sheaf *same;
	unsigned int fits;
	struct cache *c;
	void *p[3];

	ready();
	c = make("c", 64, 0, 0);
	same = sheaf = lend(c, 3);
	for (unsigned int i = 0; i < 3; i++)
		p[i] = take(c, sheaf);
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, 2, NULL) == 0 && sheaf->count == 2);
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, 1, NULL) == 0 && sheaf->count == 2);
	fits = sheaf->capacity;
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, fits, NULL) == 0);
	CHILD_CHECK(sheaf == same && sheaf->count == fits);
	/* a larger one takes its place, with its objects */
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, fits + 1, NULL) == 0);
	CHILD_CHECK(sheaf != same && sheaf->count == fits + 1);
	CHILD_CHECK(lent_sum(c).sheaves == 1 && in_use(c) == 3);
	cache_check_all();
	lent_return(c, sheaf, NULL);
	cache_free_bulk(c, 3, p);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0);
}

/* More than there can be: nothing is tried, and nothing lost. */
IN_CHILD(test_absurd)
{
	struct slab_sheaf *sheaf;
	struct slab_sheaf *same;
	struct cache *c;

	ready();
	c = make("c", 4096, 0, 0);
	CHILD_CHECK(!lent_prefill(c, GFP_KERNEL, UINT32_MAX, NULL));
	CHILD_CHECK(!lent_prefill(c, GFP_KERNEL, INT32_MAX, NULL));
	CHILD_CHECK(stats_of(c).nr_slabs == 0);
	same = sheaf = lend(c, 2);
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, UINT32_MAX, NULL) == -ENOMEM);
	CHILD_CHECK(sheaf == same && sheaf->count == 2);
}

/* A sheaf that cannot be filled is none; one that is there stays as it is, and its objects come. */
IN_BARE_CHILD(test_out_of_memory)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "queues" };
	struct cache *c[ARRAY_SIZE(fronts)];
	struct slab_sheaf *sheaf[ARRAY_SIZE(fronts)];

	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		c[f] = make_front(fronts[f], 1024, fronts[f]);
		sheaf[f] = lend(c[f], 10);
	}
	no_more_memory();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct slab_sheaf *same = sheaf[f];

		CHILD_CHECK(!lent_prefill(c[f], GFP_KERNEL | __GFP_NOWARN, 8000, NULL));
		CHILD_CHECK(lent_refill(c[f], GFP_KERNEL | __GFP_NOWARN, &sheaf[f], 8000, NULL) ==
			    -ENOMEM);
		CHILD_CHECK(sheaf[f] == same && sheaf[f]->count == 10 && in_use(c[f]) == 0);
		while (get(c[f])) {}
		for (unsigned int i = 0; i < 10; i++)
			memset(take(c[f], sheaf[f]), 1, 1024);
		/* the same place would do, but there is nothing to put there */
		CHILD_CHECK(lent_refill(c[f], GFP_KERNEL | __GFP_NOWARN, &sheaf[f], 2, NULL) ==
			    -ENOMEM);
		cache_check_all();
	}
}

/* What is filled may be made to fail, what is lent may not. */
IN_CHILD(test_failslab)
{
	struct slab_sheaf *sheaf;
	struct cache *c;

	ready();
	c = make("c", 64, 0, 0);
	sheaf = lend(c, 3);
	CHILD_CHECK(cache_set_failslab("1,100,0,-1") == 0);
	CHILD_CHECK(!lent_prefill(c, GFP_NOWAIT, 3, NULL));
	CHILD_CHECK(lent_refill(c, GFP_NOWAIT, &sheaf, 4, NULL) == -ENOMEM && sheaf->count == 3);
	for (unsigned int i = 0; i < 3; i++)
		CHILD_CHECK(lent_alloc(c, GFP_NOWAIT, sheaf, NULL));
	CHILD_CHECK(cache_set_failslab("") == 0);
	CHILD_CHECK(lent_refill(c, GFP_NOWAIT, &sheaf, 4, NULL) == 0);
}

/* A guarded object comes in place of one of the sheaf, which keeps it. */
IN_CHILD(test_guarded)
{
	struct slab_sheaf *sheaf;
	struct cache *c;
	char *p;

	CHILD_CHECK(cache_set_option("kfence.sample", "1", NULL));
	ready();
	c = make("c", 64, 0, 0);
	sheaf = lend(c, 2);
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(!kfence_is_object(page_head_of(sheaf->obj[i])));
	p = lent_alloc(c, GFP_KERNEL | __GFP_ZERO, sheaf, NULL);
	CHILD_CHECK(kfence_is_object(page_head_of(p)) && all_bytes(p, 64, 0));
	CHILD_CHECK(sheaf->count == 2);
	cache_free(c, p);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(report_counters.reports == 0 && in_use(c) == 0);
}

/* With U an object is that of who took it. */
IN_CHILD(test_tracked)
{
	const void *filler = (const void *)0x1111;
	const void *taker = (const void *)0x2222;
	struct slab_sheaf *sheaf;
	struct page *slab;
	struct cache *c;
	void *obj;

	ready();
	c = make("c", 64, 0, SLAB_STORE_USER);
	sheaf = lent_prefill(c, GFP_KERNEL, 1, filler);
	obj = sheaf->obj[0];
	slab = page_head_of(obj);
	CHILD_CHECK(debug_track(slab->layout, obj, TRACK_ALLOC)->addr == (uintptr_t)filler);
	CHILD_CHECK(lent_alloc(c, GFP_KERNEL, sheaf, taker) == obj);
	CHILD_CHECK(debug_track(slab->layout, obj, TRACK_ALLOC)->addr == (uintptr_t)taker);
}

/* Debug flags come and go while a sheaf is out: its objects stay what they were. */
IN_CHILD(test_switched)
{
	struct slab_sheaf *plain;
	struct slab_sheaf *debug;
	struct cache *c;
	void *p[4];

	ready();
	c = make("c", 64, 0, 0);
	plain = lend(c, 4);
	CHILD_CHECK(cache_set_debug(c, DEBUG_DEFAULT) == 0);
	debug = lend(c, 4);
	for (unsigned int i = 0; i < 2; i++) {
		p[i] = take(c, plain);
		CHILD_CHECK(!debug_is_slab(page_head_of(p[i])));
		memset(p[i], 1, 64);
	}
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	for (unsigned int i = 2; i < 4; i++) {
		p[i] = take(c, debug);
		CHILD_CHECK(debug_is_slab(page_head_of(p[i])));
		memset(p[i], 1, 64);
	}
	cache_check_all();
	lent_return(c, plain, NULL);
	lent_return(c, debug, NULL);
	cache_free_bulk(c, 4, p);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0 && reports() == 0);
}

/* ---- signal handlers ---- */

static void check_inside(slab_flags_t flags)
{
	struct cache *c = make("c", 64, 0, flags);
	struct slab_sheaf *sheaf = lend(c, 2);
	struct slab_sheaf *empty = lend(c, 1);
	void *p[3];

	p[0] = take(c, empty);
	cache_fork_prepare(); /* as if it had interrupted a call that holds every lock */
	CHILD_CHECK(!lent_prefill(c, GFP_ATOMIC, 1, NULL));
	CHILD_CHECK(lent_refill(c, GFP_ATOMIC, &sheaf, 3, NULL) == -ENOMEM);
	CHILD_CHECK(lent_refill(c, GFP_ATOMIC, &sheaf, 2, NULL) == 0);
	p[1] = take(c, sheaf);
	p[2] = lent_alloc(c, GFP_ATOMIC | __GFP_ZERO, sheaf, NULL);
	CHILD_CHECK(p[2] && all_bytes(p[2], 64, 0) && p[1] != p[2]);
	CHILD_CHECK(!lent_alloc(c, GFP_ATOMIC, sheaf, NULL)); /* silently: a report takes locks */
	lent_return(c, sheaf, NULL);
	lent_return(c, empty, NULL);
	CHILD_CHECK(nested_waiting() == 2);
	cache_fork_parent();
	nested_settle();
	CHILD_CHECK(lent_sum(c).sheaves == 0 && in_use(c) == 3 && reports() == 0);
	cache_free_bulk(c, 3, p);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0);
}

IN_CHILD(test_inside)
{
	ready();
	check_inside(0);
	check_inside(DEBUG_DEFAULT);
}

IN_CHILD(test_inside_hardened)
{
	CHILD_CHECK(cache_set_option("hardened", "1", NULL));
	ready();
	check_inside(0);
}

/* ---- mistakes ---- */

static void reported(unsigned long before)
{
	CHILD_CHECK(reports() == before + 1);
}

IN_CHILD(test_mistakes)
{
	struct slab_sheaf *sheaf;
	struct cache *other;
	struct cache *c;

	ready();
	report_set_hook(quiet, NULL, true);
	c = make_front("c", 64, "array");
	other = make_front("other", 640, "array");
	sheaf = lend(c, 1);
	CHILD_CHECK(!lent_alloc(other, GFP_KERNEL, sheaf, NULL));
	reported(0);
	CHILD_CHECK(lent_refill(other, GFP_KERNEL, &sheaf, 2, NULL) == -EINVAL);
	reported(1);
	cache_free(c, take(c, sheaf));
	CHILD_CHECK(!lent_alloc(c, GFP_KERNEL, sheaf, NULL));
	reported(2);
	lent_return(other, sheaf, NULL); /* goes where it belongs */
	reported(3);
	CHILD_CHECK(lent_sum(c).sheaves == 0 && in_use(c) == 0 && in_use(other) == 0);
	lent_return(c, sheaf, NULL);
	reported(4);
	cache_check_all();
}

/* An object that lies in a sheaf is free, and is refused where a second free is noticed at all. */
static void check_free_of_lent(struct cache *c)
{
	struct slab_sheaf *sheaf;
	void *p[40];

	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = obj_alloc(c);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		obj_free(c, p[i]);
	sheaf = lend(c, 1000); /* these among them */
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		refused(obj_free, c, p[i]);
	refused_elsewhere(obj_free, c, p[7]);
	refused(cache_free, c, p[8]);
	CHILD_CHECK(sheaf->count == 1000);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0);
}

IN_CHILD(test_free_of_lent)
{
	static const char *const fronts[] = { "array", "none", "cpuslab", "queues" };

	ready();
	report_set_hook(quiet, NULL, true);
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++)
		check_free_of_lent(make_front("c", 64, fronts[f]));
	check_free_of_lent(make("c", 64, 0, SLAB_CONSISTENCY_CHECKS));
	check_free_of_lent(make("c", 64, 0, DEBUG_DEFAULT));
	check_free_of_lent(make("c", 64, 0, SLAB_STORE_USER));
}

/* ---- sheaves of the front (spec A6) ---- */

static uint32_t event(const struct cache *c, enum engine_stat item)
{
	uint32_t sum = 0;

	for (int i = 0; i < (int)os_topology.nr_cpu_ids; i++)
		sum += percpu_state(c->front.id, i)->stat[item];
	return sum;
}

IN_CHILD(test_sheaves_of_the_front)
{
	struct slab_sheaf *sheaf;
	struct cache *c;
	void *p[90];

	ready();
	stay_here();
	percpu_set_stats(true);
	c = make_front("c", 64, "sheaves");
	cache_free(c, obj_alloc(c));
	/* filled to its capacity, more than what was asked for */
	sheaf = lent_prefill(c, GFP_KERNEL, 10, NULL);
	CHILD_CHECK(sheaf && sheaf->count == 60 && sheaf->capacity == 60);
	CHILD_CHECK(event(c, SHEAF_PREFILL_SLOW) == 1 && event(c, SHEAF_PREFILL_FAST) == 0);
	CHILD_CHECK(in_use(c) == 0);
	lent_check();
	for (unsigned int i = 0; i < 60; i++)
		p[i] = take(c, sheaf);
	/* and again, from slabs */
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, 1, NULL) == 0 && sheaf->count == 60);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(event(c, SHEAF_RETURN_FAST) == 1);
	sheaf = lent_prefill(c, GFP_KERNEL, 60, NULL);
	CHILD_CHECK(sheaf && event(c, SHEAF_PREFILL_FAST) == 1);
	/* larger ones are no sheaves of the front */
	CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, 90, NULL) == 0 && sheaf->count == 90);
	CHILD_CHECK(event(c, SHEAF_PREFILL_OVERSIZE) == 1 && event(c, SHEAF_RETURN_FAST) == 2);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(event(c, SHEAF_RETURN_SLOW) == 0);
	cache_free_bulk(c, 60, p);
	CHILD_CHECK(in_use(c) == 0);
	cache_check_all();
	/* with debug flags all are */
	sheaf = lent_prefill(c, GFP_KERNEL, 5, NULL);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE) == 0);
	lent_return(c, sheaf, NULL);
	sheaf = lent_prefill(c, GFP_KERNEL, 5, NULL);
	CHILD_CHECK(sheaf->count == 5 && event(c, SHEAF_PREFILL_OVERSIZE) == 2);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(in_use(c) == 0);
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(report_counters.reports == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sheaves_of_the_front),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_refill),
		cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_failslab),
		cmocka_unit_test(test_guarded),
		cmocka_unit_test(test_tracked),
		cmocka_unit_test(test_switched),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_inside_hardened),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_free_of_lent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
