/* SPDX-License-Identifier: MIT */
/*
 * conformance/numa_test.c - memory policies on a made-up machine of eight nodes, for every engine
 * with every front
 *
 * ctest: timeout=200
 *
 * What must hold, each in a child of its own:
 *   - interleaved memory is even: each node's share is within 1 % of an eighth;
 *   - what is bound never leaves its nodes, and fails where these are full;
 *   - what is preferred goes elsewhere then, the nearest node first;
 *   - objects freed on another node come home.
 */
#include "conformance/books.h"
#include "engine/placement.h"
#include "front/array.h"
#include "front/queues.h"
#include "os/memory/policy.h"
#include "page/arena.h"
#include "page/numa.h"
#include "unit/cache/cache_fixture.h"

#define NODES 8u
#define CPUS 16u /* two for each node */
#define MANY 6000u
#define SIZE 200u

struct numa_case {
	const struct engine_ops *engine;
	const struct front_ops *front;
	void (*body)(void);
	char name[80];
};

static struct cache *cache;
static void *objs[MANY];
static uint64_t seed = 88172645463325252ull;

static unsigned int draw(unsigned int below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % below;
}

static unsigned int node_of(const void *obj)
{
	return page_head_of(obj)->node;
}

static bool has_heap(void)
{
	return cache->engine.ops->heap;
}

static bool by_object(void)
{
	return cache->front.ops == &front_queues_ops;
}

static int policy_of_cache(int mode, unsigned long mask)
{
	struct os_policy policy;

	CHILD_CHECK(os_policy_make(&policy, mode, &mask, 64) == 0);
	return cache_set_policy(cache, &policy);
}

static void policy_of_thread(int mode, unsigned long mask)
{
	CHILD_CHECK(os_policy_set(mode, &mask, 64) == 0);
}

static void act_anywhere(void)
{
	os_act_as_cpu(draw(CPUS));
}

static void take_many(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		act_anywhere();
		objs[i] = obj_alloc(cache);
		CHILD_CHECK(objs[i]);
	}
}

static void give_many(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		act_anywhere();
		obj_free(cache, objs[i]);
	}
}

static void finish(void)
{
	cache_check_all();
	cache_shrink(cache);
	CHILD_CHECK(in_use(cache) == 0);
	cache_destroy(cache->handle, NULL);
	cache_check_all();
}

/* ---- interleave ---- */

/* Pages of slabs or heaps, by node. */
static void count_pages(unsigned long pages[NODES])
{
	memset(pages, 0, NODES * sizeof(*pages));
	for (unsigned long i = 0; i < page_map.nr_pages; i++) {
		const struct page *page = page_at(i);

		if (page->type == PAGE_SLAB || page->type == PAGE_HEAP)
			pages[page->node] += page->nr_pages;
	}
}

/* Within 1 %; a slab more or less cannot be helped. */
static void check_even(const unsigned long count[NODES], unsigned long unit)
{
	unsigned long sum = 0;

	for (unsigned int node = 0; node < NODES; node++)
		sum += count[node];
	CHILD_CHECK(sum >= NODES * unit);
	for (unsigned int node = 0; node < NODES; node++) {
		unsigned long share = sum / NODES;

		CHILD_CHECK(count[node] <= share + share / 100 + unit);
		CHILD_CHECK(count[node] + share / 100 + unit >= share);
	}
}

static void check_even_slabs(void)
{
	unsigned long pages[NODES];

	count_pages(pages);
	check_even(pages, has_heap() ? 1 : 1ul << cache->engine.layout->order);
}

static void check_even_objects(void)
{
	unsigned long count[NODES] = { 0 };

	for (unsigned int i = 0; i < MANY; i++)
		count[node_of(objs[i])]++;
	check_even(count, 1);
}

static unsigned long interleave_hits(void)
{
	unsigned long hits = 0;

	for (unsigned int node = 0; node < NODES; node++)
		hits += numa_counters[node].interleave_hit;
	return hits;
}

static void cache_interleaves(void)
{
	if (has_heap()) {
		CHILD_CHECK(policy_of_cache(OS_POLICY_INTERLEAVE, 0xff) == -EOPNOTSUPP);
		return;
	}
	CHILD_CHECK(policy_of_cache(OS_POLICY_INTERLEAVE, 0xff) == 0);
	take_many(MANY);
	if (by_object())
		check_even_objects();
	else
		check_even_slabs();
	give_many(MANY);
	finish();
}

static void thread_interleaves(void)
{
	policy_of_thread(OS_POLICY_INTERLEAVE, 0xff);
	take_many(MANY);
	if (by_object()) {
		check_even_objects();
	} else {
		check_even_slabs();
		CHILD_CHECK(interleave_hits());
	}
	policy_of_thread(OS_POLICY_DEFAULT, 0);
	give_many(MANY);
	finish();
}

/* ---- bind ---- */

#define BOUND 0x24ul /* nodes 2 and 5 */

static void check_bound(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		CHILD_CHECK(BOUND >> node_of(objs[i]) & 1);
}

static void check_named_nodes(void)
{
	for (unsigned int node = 0; node < NODES; node++) {
		bool inside = BOUND >> node & 1;
		void *obj;

		act_anywhere();
		obj = cache_alloc(cache, GFP_KERNEL, (int)node);
		CHILD_CHECK(obj && BOUND >> node_of(obj) & 1);
		obj_free(cache, obj);
		obj = cache_alloc(cache, GFP_KERNEL | __GFP_THISNODE, (int)node);
		CHILD_CHECK(inside ? obj && node_of(obj) == node : !obj);
		if (obj)
			obj_free(cache, obj);
	}
}

static void cache_is_bound(void)
{
	const unsigned int n = MANY / 2;

	if (has_heap())
		return;
	take_many(100); /* on all nodes */
	CHILD_CHECK(policy_of_cache(OS_POLICY_BIND, BOUND) == -EBUSY);
	CHILD_CHECK(!placement_policy(&cache->engine));
	give_many(100); /* what CPUs hold is given back */
	CHILD_CHECK(policy_of_cache(OS_POLICY_BIND, BOUND) == 0);
	policy_of_thread(OS_POLICY_INTERLEAVE, 0xff); /* does not matter */
	for (unsigned int round = 0; round < 3; round++) {
		take_many(n);
		check_bound(n);
		check_named_nodes();
		give_many(n);
		act_anywhere();
		CHILD_CHECK(cache_alloc_bulk(cache, GFP_KERNEL, n, objs) == n);
		check_bound(n);
		act_anywhere();
		cache_free_bulk(cache, n, objs);
		CHILD_CHECK(cache_alloc_array_for(cache, GFP_KERNEL, n, objs, SLAB_ARRAY_ALL,
						  NULL) == n);
		check_bound(n);
		cache_free_bulk(cache, n, objs);
		cache_reap();
	}
	finish();
}

/* Each node has one chunk, and the bound ones are soon full. */
static void bound_memory_ends(void)
{
	const unsigned int most = 3 * ((4u << 20) / SIZE);
	void **all = calloc(most, sizeof(*all));
	unsigned int n = 0;

	numa_node_pages = 1ul << ARENA_CHUNK_ORDER;
	if (has_heap())
		policy_of_thread(OS_POLICY_BIND, BOUND);
	else
		CHILD_CHECK(policy_of_cache(OS_POLICY_BIND, BOUND) == 0);
	act_anywhere();
	while (n < most && (all[n] = cache_alloc(cache, GFP_KERNEL | __GFP_NOWARN, NUMA_NO_NODE)))
		CHILD_CHECK(BOUND >> node_of(all[n++]) & 1);
	CHILD_CHECK(n < most && n > most / 3); /* two of the eight chunks are full */
	policy_of_thread(OS_POLICY_PREFERRED, 0x20);
	if (!has_heap())
		CHILD_CHECK(policy_of_cache(OS_POLICY_PREFERRED, 0x20) == 0);
	for (unsigned int i = 0; i < 100; i++, n++) {
		all[n] = get(cache);
		CHILD_CHECK(all[n] && node_of(all[n]) == 6); /* the nearest, of two the higher */
	}
	CHILD_CHECK(numa_counters[6].miss && numa_counters[5].foreign);
	while (n)
		cache_free(cache, all[--n]);
	numa_node_pages = 0;
	policy_of_thread(OS_POLICY_DEFAULT, 0);
	finish();
	free(all);
}

/* New slabs; with the front queues each object. */
static void thread_is_bound(void)
{
	unsigned long pages[NODES];

	policy_of_thread(OS_POLICY_BIND, BOUND);
	take_many(MANY);
	check_bound(MANY);
	count_pages(pages);
	for (unsigned int node = 0; node < NODES; node++)
		CHILD_CHECK(!pages[node] == !(BOUND >> node & 1));
	policy_of_thread(OS_POLICY_DEFAULT, 0);
	give_many(MANY);
	finish();
}

/* ---- home ---- */

static unsigned long remote_frees(unsigned int node)
{
	if (by_object())
		return queues_of(&cache->front)->node_frees;
	return numa_counters[node].remote_frees;
}

/* Objects of node 1 are freed on node 6. Those that node 6 gets after that are its own. */
static void objects_come_home(void)
{
	unsigned long slabs;
	unsigned int strangers = 0;

	os_act_as_cpu(2);
	for (unsigned int i = 0; i < MANY; i++) {
		objs[i] = obj_alloc(cache);
		CHILD_CHECK(objs[i] && node_of(objs[i]) == 1);
	}
	slabs = stats_of(cache).slab_bytes;
	os_act_as_cpu(12);
	for (unsigned int i = 0; i < MANY; i++)
		obj_free(cache, objs[i]);
	cache_check_all();
	if (cache->front.ops == &front_array_ops || by_object())
		CHILD_CHECK(remote_frees(1) + 4 * USLAB_SHEAF_CAPACITY > MANY);
	if (cache->front.ops == &front_cpuslab_ops || has_heap())
		return; /* the freeing CPU may keep them there (spec 4.11); one list for all nodes */
	for (unsigned int i = 0; i < MANY; i++) {
		objs[i] = obj_alloc(cache);
		strangers += node_of(objs[i]) != 6;
	}
	/* two arrays of the CPU; and slabs beyond min_partial, which help out (spec 4.9) */
	if (cache->engine.ops == &slub_ops)
		CHILD_CHECK(strangers < MANY);
	else
		CHILD_CHECK(strangers <= 2 * USLAB_SHEAF_CAPACITY);
	for (unsigned int i = 0; i < MANY; i++)
		obj_free(cache, objs[i]);
	os_act_as_cpu(3); /* another CPU of the first node finds them */
	for (unsigned int i = 0; i < MANY / 2; i++)
		CHILD_CHECK((objs[i] = obj_alloc(cache)));
	CHILD_CHECK(stats_of(cache).slab_bytes <= 2 * slabs);
	for (unsigned int i = 0; i < MANY / 2; i++)
		obj_free(cache, objs[i]);
	finish();
}

/* ---- all cases ---- */

static void run_case(void *arg)
{
	const struct numa_case *t = arg;

	CHILD_CHECK(os_topology_set(CPUS, NODES) == 0);
	ready();
	cache = made(&(struct cache_spec){ .name = "numa",
					   .size = SIZE,
					   .engine = t->engine,
					   .front = t->front,
					   .sheaf_capacity = 28,
					   .no_merge = true });
	t->body();
}

static void test(void **state)
{
	struct child c = child_run(run_case, *state);

	assert_true(child_passed(&c));
}

static const struct {
	const char *name;
	void (*body)(void);
} bodies[] = {
	{ "cache interleaves", cache_interleaves }, { "thread interleaves", thread_interleaves },
	{ "cache is bound", cache_is_bound },	    { "thread is bound", thread_is_bound },
	{ "bound memory ends", bound_memory_ends }, { "objects come home", objects_come_home },
};

static const char *const fronts[] = { "none",	 "array",   "queues",
				      "cpuslab", "sheaves", "sheaves:6.18" };

#define MAX_TESTS (CACHE_NR_ENGINES * ARRAY_SIZE(fronts) * ARRAY_SIZE(bodies))

static struct numa_case cases[MAX_TESTS];
static struct CMUnitTest tests[MAX_TESTS];
static size_t nr_tests;

static void add(const struct engine_ops *engine, const struct front_ops *front)
{
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct numa_case *t = &cases[nr_tests];

		*t = (struct numa_case){ engine, front, bodies[i].body, "" };
		snprintf(t->name, sizeof(t->name), "%s: %s/%s", bodies[i].name, engine->name,
			 front->name);
		tests[nr_tests++] = (struct CMUnitTest){
			.name = t->name,
			.test_func = test,
			.initial_state = t,
		};
	}
}

int main(void)
{
	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			const struct front_ops *front = front_by_name(fronts[f]);
			bool needs_slub = front == &front_cpuslab_ops ||
					  front == &front_sheaves_618_ops;

			if (!needs_slub || cache_engines[e] == &slub_ops)
				add(cache_engines[e], front);
		}
	return _cmocka_run_group_tests("numa", tests, nr_tests, NULL, NULL);
}
