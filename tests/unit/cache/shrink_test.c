/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/shrink_test.c - what nobody uses goes back, for one cache and for all
 */
#include <pthread.h>

#include "base/atomic.h"
#include "cache_fixture.h"
#include "engine/slub/slub.h"
#include "front/depot.h"

static const char *const fronts[] = { "array", "none", "cpuslab", "sheaves" };

IN_CHILD(test_shrink)
{
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);
		unsigned long before = pages_out();
		static void *p[1000];

		CHILD_CHECK(cache_shrink(c) == 0); /* of nothing */
		for (unsigned int i = 0; i < 1000; i++)
			p[i] = get(c);
		CHILD_CHECK(cache_shrink(c) == 1);
		CHILD_CHECK(in_use(c) == 1000);
		for (unsigned int i = 1; i < 1000; i++)
			cache_free(c, p[i]);
		CHILD_CHECK(cache_shrink(c) == 1);
		CHILD_CHECK(stats_of(c).nr_slabs == 1 && in_use(c) == 1);
		CHILD_CHECK(c->front.ops->held(&c->front) == 0);
		cache_free(c, p[0]);
		CHILD_CHECK(cache_shrink(c) == 0);
		CHILD_CHECK(stats_of(c).nr_slabs == 0 && pages_out() == before);
		/* and it goes on */
		CHILD_CHECK(get(c) && in_use(c) == 1);
	}
	cache_check_all();
}

/* Spec vector 5, through the whole floor: the fullest slabs come first afterwards. */
IN_CHILD(test_order)
{
	struct cache *c;
	unsigned int per_slab;
	static void *p[4096];
	struct engine_node *node;
	struct list_head *pos;
	unsigned int last = 0;

	ready();
	c = make_front("c", 64, "none");
	per_slab = c->engine.layout->objects;
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 6 * per_slab, p) == 6 * per_slab);
	for (unsigned int slab = 0; slab < 6; slab++)
		for (unsigned int i = 0; i < (slab == 4 ? per_slab : slab * 7 % 6 + 1); i++)
			cache_free(c, p[slab * per_slab + i]);
	CHILD_CHECK(cache_shrink(c) == 1);
	node = slub_of(&c->engine)->node[0];
	CHILD_CHECK(node->nr_partial == 5 && stats_of(c).nr_slabs == 5);
	list_for_each(pos, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);
		struct slab_counters counters;

		memcpy(&counters, &slab->counters, sizeof(counters));
		CHILD_CHECK((unsigned int)(counters.objects - counters.inuse) >= last);
		last = counters.objects - counters.inuse;
	}
}

IN_CHILD(test_all)
{
	struct cache *c[9];
	unsigned long before;

	ready();
	before = pages_out();
	for (unsigned int i = 0; i < 9; i++) {
		void *p[100];

		c[i] = make_front("c", 100 * (i + 1), fronts[i % 3]);
		CHILD_CHECK(cache_alloc_bulk(c[i], GFP_KERNEL, 100, p) == 100);
		cache_free_bulk(c[i], 100, p);
	}
	cache_shrink_all();
	for (unsigned int i = 0; i < 9; i++)
		CHILD_CHECK(stats_of(c[i]).nr_slabs == 0);
	CHILD_CHECK(pages_out() == before);
}

/* Of all CPUs, from any of them. */
IN_CHILD(test_cpus)
{
	CHILD_CHECK(os_topology_set(6, 3) == 0);
	ready();
	for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);
		void *p[6];

		for (unsigned int cpu = 0; cpu < 6; cpu++) {
			os_act_as_cpu(cpu);
			p[cpu] = get(c);
		}
		for (unsigned int cpu = 0; cpu < 6; cpu++) {
			os_act_as_cpu(cpu);
			cache_free(c, p[(cpu + 1) % 6]);
		}
		os_act_as_cpu(5);
		CHILD_CHECK(cache_shrink(c) == 0 && stats_of(c).nr_slabs == 0);
	}
}

/* ---- depots that grew ---- */

#define BURST 4000u

static uint64_t still(void)
{
	return 1;
}

static void burst(struct cache *c)
{
	static void *p[BURST];

	for (unsigned int i = 0; i < BURST; i++)
		p[i] = get(c);
	for (unsigned int i = 0; i < BURST; i++)
		cache_free(c, p[i]);
}

/* After bursts nearly all objects lie in the depot; of all engines they go back. */
IN_CHILD(test_grown_depot)
{
	depot_clock = still; /* all bursts are within one epoch */
	ready();
	stay_here();
	CHILD_CHECK(buddy_alloc(-1, BUDDY_MAX_ORDER, false, NULL)); /* in use: depots may grow */
	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++) {
		struct cache *c = made(&(struct cache_spec){ .name = "c",
							     .size = 64,
							     .engine = cache_engines[e],
							     .front = front_by_name("array"),
							     .no_merge = true });
		const struct depot *depot = &c->front.depot[os_current_node()];
		unsigned long before = pages_out();

		for (unsigned int round = 0; round < 8; round++)
			burst(c);
		CHILD_CHECK(depot->max[DEPOT_FULL] > depot->base[DEPOT_FULL] && depot->growth);
		CHILD_CHECK(c->front.ops->held(&c->front) > BURST / 2 && in_use(c) == 0);
		CHILD_CHECK(cache_shrink(c) == 0);
		CHILD_CHECK(stats_of(c).nr_slabs == 0 && c->front.ops->held(&c->front) == 0);
		CHILD_CHECK(depot_count(depot, DEPOT_FULL) == 0 &&
			    depot_count(depot, DEPOT_EMPTY) == 0);
		CHILD_CHECK(pages_out() <= before + 1);
	}
	cache_check_all();
}

/* Others may allocate and free meanwhile. */
static bool stop;

static void *churn(void *arg)
{
	struct cache *c = arg;
	void *p[70];

	while (!load_relaxed(&stop)) {
		for (unsigned int i = 0; i < 70; i++)
			p[i] = get(c);
		for (unsigned int i = 0; i < 70; i++)
			cache_free(c, p[i]);
	}
	return NULL;
}

IN_CHILD(test_concurrent)
{
	pthread_t thread[3];
	struct cache *c[3];

	ready();
	for (unsigned int i = 0; i < 3; i++) {
		c[i] = make_front("c", 64, fronts[i]);
		pthread_create(&thread[i], NULL, churn, c[i]);
	}
	for (unsigned int round = 0; round < 300; round++) {
		cache_shrink(c[round % 3]);
		if (round % 10 == 0)
			cache_shrink_all();
	}
	store_relaxed(&stop, true);
	for (unsigned int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		CHILD_CHECK(in_use(c[i]) == 0);
		CHILD_CHECK(cache_shrink(c[i]) == 0);
	}
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shrink),	    cmocka_unit_test(test_order),
		cmocka_unit_test(test_all),	    cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_grown_depot), cmocka_unit_test(test_concurrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
