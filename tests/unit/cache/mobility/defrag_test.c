/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mobility/defrag_test.c - rounds: which slabs, in which order, on which nodes, and
 * sweeps over caches
 */
#include "conformance/store.h"
#include "os/memory/policy.h"

static struct cache *make_store(const char *name)
{
	return made(&(struct cache_spec){ .name = name, .size = 64, .ctor = store_ctor });
}

static unsigned int objects_per_slab(void)
{
	return store.c->engine.layout->objects;
}

/* nr slabs of which the first `left` objects stay. */
static void fill_slabs(unsigned int nr, unsigned int left)
{
	const unsigned int per_slab = objects_per_slab();

	CHILD_CHECK(nr * per_slab <= MOST);
	for (unsigned int i = 0; i < nr * per_slab; i++)
		put(i);
	for (unsigned int i = 0; i < nr * per_slab; i++)
		if (i % per_slab >= left)
			drop(i);
	cache_shrink(store.c);
}

/* A budget that no clock can reach is as good as none. */
IN_CHILD(test_endless_budget)
{
	ready();
	stay_here(); /* a CPU's objects lie slab by slab */
	open_store(make_store("store"), MOST);
	fill_slabs(8, objects_per_slab() / 8);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, UINT64_MAX) == 0);
	CHILD_CHECK(stats_of(store.c).nr_slabs == 1);
	empty_store();
	cache_destroy(store.c->handle, NULL);
}

/* Eight slabs with that share of their objects, and one more; as many as there could be least? */
static bool packs(unsigned int percent, unsigned int share, unsigned int more)
{
	unsigned int needed, left, slabs;

	open_store(make_store("store"), MOST);
	left = objects_per_slab() * share / 100 + more;
	needed = DIV_ROUND_UP(8 * left, objects_per_slab());
	fill_slabs(8, left);
	CHILD_CHECK(mobility_set_ratio(store.c, percent) == 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	cache_check_all();
	slabs = (unsigned int)stats_of(store.c).nr_slabs;
	CHILD_CHECK(slabs == needed || slabs == 8);
	empty_store();
	cache_destroy(store.c->handle, NULL);
	return slabs == needed;
}

/* 1/8 always, the ratio and no more. */
IN_CHILD(test_ratio)
{
	ready();
	stay_here(); /* a CPU's objects lie slab by slab */
	CHILD_CHECK(packs(0, 12, 0) && !packs(0, 13, 1));
	CHILD_CHECK(packs(20, 20, 0) && !packs(20, 20, 1));
	CHILD_CHECK(packs(50, 50, 0) && !packs(50, 50, 1));
	CHILD_CHECK(packs(100, 75, 0));
}

static unsigned int order[MOST];
static unsigned int nr_moved;

static bool was_moved[MOST];

static int note(void *from, void *to, void *arg)
{
	uint32_t number = *(uint32_t *)from;

	if (!was_moved[number])
		order[nr_moved++] = number;
	was_moved[number] = true;
	return move(from, to, arg);
}

static unsigned int kept_of(unsigned int number)
{
	return (number / objects_per_slab() + 1) * objects_per_slab() / 16;
}

/* Slab i keeps i + 1 of 16 objects: those with the fewest are emptied first. */
IN_CHILD(test_emptiest_first)
{
	unsigned int per_slab, last = 0;

	ready();
	stay_here();
	open_store(make_store("store"), MOST);
	per_slab = objects_per_slab();
	for (unsigned int i = 0; i < 8 * per_slab; i++)
		put(i);
	for (unsigned int i = 0; i < 8 * per_slab; i++)
		if (i % per_slab >= kept_of(i))
			drop(i);
	cache_shrink(store.c);
	CHILD_CHECK(mobility_set(store.c,
				 &(struct mobility_functions){ .move = note, .arg = &store }) == 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(nr_moved);
	/* in eighths: within one of these by chance */
	for (unsigned int i = 0; i < nr_moved; i++) {
		unsigned int eighth = DIV_ROUND_UP(8 * kept_of(order[i]), per_slab);

		CHILD_CHECK(eighth >= last);
		last = eighth;
	}
	cache_check_all();
}

/* What CPUs hold comes back with the first slab that is emptied, and the front opens again. */
IN_CHILD(test_front)
{
	void *p;

	ready();
	stay_here();
	open_store(make_store("store"), MOST);
	fill_slabs(8, 4);
	p = obj_alloc(store.c);
	*(uint32_t *)p = UINT32_MAX;
	obj_free(store.c, p);
	CHILD_CHECK(store.c->front.ops->held(&store.c->front));
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(!store.c->front.ops->held(&store.c->front));
	CHILD_CHECK(!(store.c->watch & WATCH_PAST_FRONT) && !store.c->front.closed);
	CHILD_CHECK(stats_of(store.c).nr_slabs == 1);
}

/* ---- nodes ---- */

/* How many objects of the store lie on each node. */
static void count_nodes(unsigned int *on)
{
	memset(on, 0, 4 * sizeof(*on));
	for (unsigned int i = 0; i < store.nr; i++)
		if (store.slot[i])
			on[page_head_of(store.slot[i])->node]++;
}

/* A cache that is bound to nodes stays there, and each object on its node. */
IN_CHILD(test_bound)
{
	const unsigned long mask = 1 << 1 | 1 << 2;
	unsigned int before[4], after[4];
	struct os_policy policy;

	CHILD_CHECK(os_topology_set(4, 4) == 0);
	ready();
	open_store(make_store("store"), MOST);
	CHILD_CHECK(os_policy_make(&policy, OS_POLICY_BIND, &mask, 64) == 0);
	CHILD_CHECK(cache_set_policy(store.c, &policy) == 0);
	for (unsigned int i = 0; i < store.nr; i++) {
		CHILD_CHECK((store.slot[i] = cache_alloc(store.c, GFP_KERNEL, (int)(i % 4))));
		fill(store.slot[i], i);
	}
	for (unsigned int i = 0; i < store.nr; i++)
		if (i / 4 % 10)
			drop(i);
	count_nodes(before);
	CHILD_CHECK(!before[0] && before[1] && before[2] && !before[3]);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(counters().defrag_moved && counters().defrag_slabs);
	count_nodes(after);
	CHILD_CHECK(!memcmp(before, after, sizeof(before)));
	cache_check_all();
	empty_store();
	CHILD_CHECK(in_use(store.c) == 0);
}

/* ---- sweeps ---- */

static int refuse(void *from, void *to, void *arg)
{
	(void)from;
	(void)to;
	++*(unsigned int *)arg;
	return -1;
}

static struct cache *make_refusing(const char *name, unsigned int *calls)
{
	struct cache *c = make_store(name);
	void *p[500];

	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		CHILD_CHECK((p[i] = obj_alloc(c)));
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		if (i % 10)
			obj_free(c, p[i]);
	cache_shrink(c);
	CHILD_CHECK(!mobility_set(c, &(struct mobility_functions){ .move = refuse, .arg = calls }));
	return c;
}

/* Each cache of the names once in a sweep, however many calls that takes. */
IN_CHILD(test_sweep)
{
	struct control_sweep sweep = { .patterns = "a*\0c", .size = 5, .number = 1 };
	unsigned int calls[3] = { 0 };
	unsigned int once;

	ready();
	make_refusing("a1", &calls[0]);
	make_refusing("b", &calls[1]);
	make_refusing("c", &calls[2]);
	cache_defrag_sweep(&sweep);
	CHILD_CHECK(sweep.matched == 2 && !sweep.more && !sweep.bytes);
	CHILD_CHECK(calls[0] && !calls[1] && calls[2]);
	once = calls[0];
	cache_defrag_sweep(&sweep);
	CHILD_CHECK(sweep.matched == 2 && !sweep.more && calls[0] == once);

	sweep.number = 2;
	sweep.budget_us = 1;
	for (unsigned int i = 0; i < 10000 && (!i || sweep.more); i++)
		cache_defrag_sweep(&sweep);
	CHILD_CHECK(!sweep.more && calls[0] > once && !calls[1]);

	sweep.patterns = "nothing";
	cache_defrag_sweep(&sweep);
	CHILD_CHECK(!sweep.matched && !sweep.more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endless_budget), cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_emptiest_first), cmocka_unit_test(test_front),
		cmocka_unit_test(test_bound),	       cmocka_unit_test(test_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
