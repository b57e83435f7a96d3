/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/array_test.c - arrays of objects: the order of the sources, what each leaves alone,
 * and what is done one by one (spec 13.2)
 */
#include "bytes.h"
#include "debug/kfence/kfence.h"
#include "engine/descriptor.h"
#include "engine/slab/slab.h"
#include "front/array.h"
#include "refused.h"

#define MOST 4096
#define PARTIALS 5 /* slabs that make_partials() leaves, */
#define HOLES 3u   /* each with so many free objects */
#define SIZE 64

static const struct engine_ops *const with_stages[] = { &slub_ops, &slab_ops };
static const struct front_ops *const fronts[] = { &front_array_ops, &front_queues_ops,
						  &front_none_ops, &front_cpuslab_ops };

static unsigned int take(struct cache *c, unsigned int nr, void **p, unsigned int mode)
{
	return cache_alloc_array_for(c, GFP_KERNEL, nr, p, mode, NULL);
}

static void give(struct cache *c, unsigned int nr, void **p)
{
	cache_free_array_for(c, nr, p, NULL);
}

static unsigned long held(struct cache *c)
{
	return c->front.ops->held(&c->front);
}

static unsigned int per_slab(const struct cache *c)
{
	return c->engine.layout->objects;
}

static struct cache *make_pair(const struct engine_ops *engine, const struct front_ops *front,
			       void (*ctor)(void *obj))
{
	return made(&(struct cache_spec){ .name = "pair",
					  .size = SIZE,
					  .ctor = ctor,
					  .engine = engine,
					  .front = front,
					  .no_merge = true });
}

static void end(struct cache *c)
{
	cache_check_all();
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0 && stats_of(c).nr_slabs == 0);
	cache_destroy(c->handle, NULL);
}

/* Engines with sources, behind each front; but what a tool looks at is allocated one by one. */
static void for_each_pair(void (*body)(struct cache *c), void (*ctor)(void *obj))
{
	ready();
	if (!os_topology.made_up)
		stay_here();
	for (size_t e = 0; e < ARRAY_SIZE(with_stages); e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			struct cache *c;

			if (fronts[f] == &front_cpuslab_ops && with_stages[e] != &slub_ops)
				continue;
			c = make_pair(with_stages[e], fronts[f], ctor);
			if (load_relaxed(&c->watch) & WATCH_ALLOC)
				child_cannot("a cache that no tool looks at");
			body(c);
			end(c);
		}
}

/*
 * PARTIALS partial slabs of HOLES free objects each, and no others. The CPU may hold some. Returns
 * how many objects of p[] are in use.
 */
static unsigned int make_partials(struct cache *c, void **p)
{
	unsigned int nr = PARTIALS * per_slab(c);
	unsigned int n = 0;

	p[n++] = get(c);
	n += take(c, MOST / 2, p + n, SLAB_ARRAY_PARTIAL);
	CHILD_CHECK(stats_of(c).free_objects == 0);
	CHILD_CHECK(take(c, nr, p + n, SLAB_ARRAY_NEW) == nr);
	for (unsigned int i = 0; i < PARTIALS; i++) {
		void **last = p + n + per_slab(c) - HOLES;

		c->engine.ops->flush(&c->engine, last, HOLES);
		n += per_slab(c) - HOLES;
		memmove(last, last + HOLES, (nr - (i + 1) * per_slab(c)) * sizeof(*p));
	}
	CHILD_CHECK(stats_of(c).free_objects == PARTIALS * HOLES);
	return n;
}

/* ---- one source ---- */

/* Vector of 13.2: what CPUs hold is left alone, no slab is made, and none is left half used. */
static void partial(struct cache *c)
{
	static void *p[MOST];
	unsigned int n = make_partials(c, p);
	struct engine_stats before = stats_of(c);
	unsigned long hold = held(c);

	CHILD_CHECK(take(c, HOLES - 1, p + n, SLAB_ARRAY_PARTIAL) == 0);
	CHILD_CHECK(take(c, 2 * HOLES + 1, p + n, SLAB_ARRAY_PARTIAL) == 2 * HOLES);
	CHILD_CHECK(stats_of(c).free_objects == (PARTIALS - 2) * HOLES);
	CHILD_CHECK(stats_of(c).nr_partial == before.nr_partial - 2);
	n += 2 * HOLES;
	CHILD_CHECK(take(c, 1000, p + n, SLAB_ARRAY_PARTIAL) == (PARTIALS - 2) * HOLES);
	n += (PARTIALS - 2) * HOLES;
	CHILD_CHECK(take(c, 1000, p + n, SLAB_ARRAY_PARTIAL) == 0);
	CHILD_CHECK(held(c) == hold && stats_of(c).nr_slabs == before.nr_slabs);
	CHILD_CHECK(in_use(c) == n);
	give(c, n, p);
}

IN_CHILD(test_partial)
{
	for_each_pair(partial, NULL);
}

static void check_ascending(unsigned int nr, char *const *p)
{
	for (unsigned int i = 1; i < nr; i++)
		CHILD_CHECK(p[i] == p[0] + i * SIZE);
	CHILD_CHECK(engine_counters(page_slab_of(p[0])).inuse == nr);
}

/* Whole slabs, and only those that are wanted whole; nothing else changes. */
static void whole(struct cache *c)
{
	static void *p[MOST];
	unsigned int n = make_partials(c, p);
	struct engine_stats before = stats_of(c);
	unsigned long hold = held(c);
	unsigned int nr = per_slab(c);

	CHILD_CHECK(take(c, nr - 1, p + n, SLAB_ARRAY_NEW) == 0);
	CHILD_CHECK(take(c, 4 * nr - 1, p + n, SLAB_ARRAY_NEW) == 3 * nr);
	for (unsigned int i = 0; i < 3; i++)
		check_ascending(nr, (char **)p + n + i * nr);
	CHILD_CHECK(stats_of(c).nr_slabs == before.nr_slabs + 3 && held(c) == hold);
	CHILD_CHECK(stats_of(c).free_objects == before.free_objects);
	give(c, n + 3 * nr, p);
}

IN_CHILD(test_new)
{
	for_each_pair(whole, NULL);
}

/* All that this CPU holds, and no slab is looked at. */
static void local(struct cache *c)
{
	static void *p[MOST];
	unsigned int n = make_partials(c, p);
	struct engine_stats before = stats_of(c);
	unsigned int hold = (unsigned int)held(c);
	unsigned int some = MIN(hold, 2u);

	CHILD_CHECK(!hold == (c->front.ops == &front_none_ops));
	CHILD_CHECK(take(c, 2, p + n, SLAB_ARRAY_LOCAL) == some);
	CHILD_CHECK(held(c) == hold - some);
	CHILD_CHECK(take(c, 1000, p + n + some, SLAB_ARRAY_LOCAL) == hold - some);
	CHILD_CHECK(held(c) == 0 && take(c, 1, p + n + hold, SLAB_ARRAY_LOCAL) == 0);
	CHILD_CHECK(stats_of(c).free_objects == before.free_objects);
	CHILD_CHECK(stats_of(c).nr_slabs == before.nr_slabs);
	give(c, n + hold, p);
}

IN_CHILD(test_local)
{
	for_each_pair(local, NULL);
}

/* ---- several ---- */

/* PARTIAL, NEW, LOCAL, FULL, each for the rest. */
static void in_order(struct cache *c)
{
	static void *p[MOST];
	unsigned int n = make_partials(c, p);
	unsigned long slabs = stats_of(c).nr_slabs;
	unsigned long hold = held(c);
	unsigned int nr = PARTIALS * HOLES + 2 * per_slab(c) + 3;
	void **got = p + n;

	CHILD_CHECK(take(c, nr, got, SLAB_ARRAY_ALL) == nr);
	for (unsigned int i = 0; i < PARTIALS * HOLES; i++) { /* slabs that others have a part of */
		unsigned int same = 0;

		for (unsigned int j = 0; j < n; j++)
			same += page_slab_of(p[j]) == page_slab_of(got[i]);
		CHILD_CHECK(same == per_slab(c) - HOLES);
	}
	got += PARTIALS * HOLES;
	check_ascending(per_slab(c), (char **)got);
	check_ascending(per_slab(c), (char **)got + per_slab(c));
	if (hold) {
		CHILD_CHECK(held(c) == hold - 3 && stats_of(c).nr_slabs == slabs + 2);
	} else {
		CHILD_CHECK(stats_of(c).nr_slabs == slabs + 3);
	}
	CHILD_CHECK(in_use(c) == n + nr);
	give(c, n + nr, p);
}

IN_CHILD(test_order)
{
	for_each_pair(in_order, NULL);
}

/* What has none of the sources gets nothing, and FULL gets all. */
static void full_or_fewer(struct cache *c)
{
	void *p[300];

	CHILD_CHECK(take(c, 0, p, SLAB_ARRAY_ALL) == 0);
	CHILD_CHECK(take(c, 300, p, SLAB_ARRAY_PARTIAL | SLAB_ARRAY_LOCAL) == 0);
	CHILD_CHECK(stats_of(c).nr_slabs == 0);
	CHILD_CHECK(take(c, 299, p, SLAB_ARRAY_FULL) == 299);
	CHILD_CHECK(take(c, 1, p + 299, SLAB_ARRAY_FULL) == 1 && in_use(c) == 300);
	give(c, 300, p);
}

IN_CHILD(test_full_or_fewer)
{
	for_each_pair(full_or_fewer, NULL);
}

/* Of this CPU's node only. */
static void other_node(struct cache *c)
{
	static void *p[MOST];
	unsigned int n;

	os_act_as_cpu(0);
	n = make_partials(c, p);
	os_act_as_cpu(7);
	CHILD_CHECK(take(c, 1000, p + n, SLAB_ARRAY_PARTIAL | SLAB_ARRAY_LOCAL) == 0);
	CHILD_CHECK(take(c, per_slab(c), p + n, SLAB_ARRAY_NEW) == per_slab(c));
	CHILD_CHECK(page_slab_of(p[n])->node == 3);
	give(c, n + per_slab(c), p);
	os_act_as_cpu(0);
}

IN_CHILD(test_other_node)
{
	CHILD_CHECK(os_topology_set(8, 4) == 0);
	for_each_pair(other_node, NULL);
}

/* ---- objects as of single calls ---- */

static unsigned long constructed;

static void ctor(void *obj)
{
	constructed++;
	memset(obj, 0xc7, SIZE);
}

static void constructs(struct cache *c)
{
	static void *p[MOST];
	unsigned int n;

	constructed = 0;
	for (unsigned int round = 0; round < 3; round++) {
		n = take(c, 3 * per_slab(c) + 7, p, SLAB_ARRAY_ALL);
		CHILD_CHECK(n == 3 * per_slab(c) + 7);
		for (unsigned int i = 0; i < n; i++)
			CHILD_CHECK(all_bytes(p[i], SIZE, 0xc7));
		give(c, n, p);
	}
	cache_shrink(c);
	constructed = 0; /* once each, with the slab */
	n = take(c, 2 * per_slab(c), p, SLAB_ARRAY_NEW);
	CHILD_CHECK(constructed == n && n == 2 * per_slab(c));
	give(c, n, p);
	CHILD_CHECK(constructed == n);
}

IN_CHILD(test_ctor)
{
	for_each_pair(constructs, ctor);
}

/* Pages that come back have old marks in them: those are gone, and new ones are noticed. */
static void marks_and_zeros(struct cache *c)
{
	static void *p[MOST];
	unsigned int nr = 4 * per_slab(c);

	for (unsigned int mode = 1; mode <= SLAB_ARRAY_ALL; mode++) {
		unsigned int n =
			cache_alloc_array_for(c, GFP_KERNEL | __GFP_ZERO, nr, p, mode, NULL);

		CHILD_CHECK(n <= nr && (n == nr || !(mode & SLAB_ARRAY_FULL)));
		for (unsigned int i = 0; i < n; i++)
			CHILD_CHECK(all_bytes(p[i], SIZE, 0));
		for (unsigned int i = 0; i < n; i++)
			if (i % 2) {
				obj_free(c, p[i]);
				p[i] = NULL;
			}
		give(c, n, p);
		CHILD_CHECK(in_use(c) == 0 && reports() == 0);
		if (mode % 4 == 0) {
			cache_shrink(c);
			CHILD_CHECK(take(c, nr, p, SLAB_ARRAY_NEW) == nr); /* not zeroed */
			for (unsigned int i = 0; i < nr; i++)
				obj_free(c, p[i]);
			CHILD_CHECK(in_use(c) == 0 && reports() == 0);
		}
	}
	if (!c->engine.mark)
		return;
	CHILD_CHECK(take(c, nr, p, SLAB_ARRAY_NEW) == nr);
	report_set_hook(quiet, NULL, true);
	obj_free(c, p[0]);
	refused(obj_free, c, p[0]);
	report_counters.reports = 0;
	give(c, nr - 1, p + 1);
}

IN_CHILD(test_marks_and_zeros)
{
	for_each_pair(marks_and_zeros, NULL);
}

/* ---- one by one, whatever the mode ---- */

static void one_by_one(struct cache *c)
{
	for (unsigned int mode = 1; mode <= SLAB_ARRAY_ALL; mode++) {
		void *p[200];

		CHILD_CHECK(take(c, 200, p, mode) == 200);
		if (!kfence_is_on()) /* guarded objects lie in no slab */
			CHILD_CHECK(in_use(c) == 200);
		for (unsigned int i = 0; i < 200; i++)
			memset(p[i], 0x5a, c->engine.object_size);
		give(c, 200, p);
		CHILD_CHECK(in_use(c) == 0 && reports() == 0);
	}
}

IN_CHILD(test_heaps_and_slobseg)
{
	static const struct engine_ops *const engines[] = { &slob_ops, &slob_1991_ops, &slobseg_ops,
							    &slobseg_pow2_ops };

	ready();
	for (size_t e = 0; e < ARRAY_SIZE(engines); e++)
		for (size_t f = 0; f < 3; f++)
			one_by_one(make_pair(engines[e], fronts[f], NULL));
	cache_check_all();
}

IN_CHILD(test_debug)
{
	ready();
	one_by_one(make("FZPU", SIZE, 0,
			SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER));
	one_by_one(make("U", SIZE, 0, SLAB_STORE_USER));
	cache_check_all();
}

IN_CHILD(test_guarded)
{
	setenv("USLAB_CONF", "kfence.sample=1,valgrind=0", 1);
	ready();
	one_by_one(make("guarded", SIZE, 0, 0));
	cache_check_all();
}

/* Each object passes the same check as one of a single call; also where free lists are shuffled. */
IN_CHILD(test_hardened)
{
	setenv("USLAB_CONF", "hardened,random", 1);
	ready();
	for (size_t e = 0; e < ARRAY_SIZE(with_stages); e++)
		for (unsigned int mode = 1; mode <= SLAB_ARRAY_ALL; mode++) {
			struct cache *c = make_pair(with_stages[e], &front_array_ops, NULL);
			void *p[600];
			unsigned int n = take(c, 600, p, mode);

			CHILD_CHECK(n == 600 || !(mode & SLAB_ARRAY_FULL));
			for (unsigned int i = 0; i < n; i++)
				memset(p[i], 0xff, SIZE);
			CHILD_CHECK(in_use(c) == n && reports() == 0);
			give(c, n, p);
			CHILD_CHECK(reports() == 0);
			end(c);
		}
}

/* ---- out of memory ---- */

/* As many as there is memory for, and with FULL no fewer than by single calls. */
static void until_it_is_out(const struct front_ops *front)
{
	static void *p[1 << 16];
	static void *one_by_one[1 << 16];
	struct cache *c;
	unsigned int most = 0;

	ready();
	c = made(&(struct cache_spec){ .name = "c", .size = 512, .front = front });
	cache_free(c, get(c));
	no_more_memory();
	while (most < ARRAY_SIZE(p) &&
	       (one_by_one[most] = cache_alloc(c, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE)))
		most++;
	CHILD_CHECK(most > 1000 && most < ARRAY_SIZE(p));
	give(c, most, one_by_one);
	for (unsigned int mode = SLAB_ARRAY_FULL; mode <= SLAB_ARRAY_ALL; mode++) {
		gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;

		CHILD_CHECK(cache_alloc_array_for(c, gfp, most, p, mode, NULL) == most);
		CHILD_CHECK(cache_alloc_array_for(c, gfp, 1, p + most, mode, NULL) == 0);
		give(c, most, p);
		/* fewer than were asked for are kept, and are all there is */
		CHILD_CHECK(cache_alloc_array_for(c, gfp, ARRAY_SIZE(p), p, mode, NULL) == most);
		CHILD_CHECK(in_use(c) == most);
		give(c, most, p);
		CHILD_CHECK(in_use(c) == 0);
	}
	most = take(c, ARRAY_SIZE(p), p, SLAB_ARRAY_NEW); /* no error, and no warning */
	CHILD_CHECK(in_use(c) == most);
	give(c, most, p);
	cache_check_all();
}

IN_BARE_CHILD(test_memory_array)
{
	until_it_is_out(&front_array_ops);
}

IN_BARE_CHILD(test_memory_none)
{
	until_it_is_out(&front_none_ops);
}

IN_BARE_CHILD(test_memory_cpuslab)
{
	until_it_is_out(&front_cpuslab_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_new),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_full_or_fewer),
		cmocka_unit_test(test_other_node),
		cmocka_unit_test(test_ctor),
		cmocka_unit_test(test_marks_and_zeros),
		cmocka_unit_test(test_heaps_and_slobseg),
		cmocka_unit_test(test_debug),
		cmocka_unit_test(test_guarded),
		cmocka_unit_test(test_hardened),
		cmocka_unit_test(test_memory_array),
		cmocka_unit_test(test_memory_none),
		cmocka_unit_test(test_memory_cpuslab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
