/* SPDX-License-Identifier: MIT */
/*
 * conformance/topology_test.c - every engine with every front, on machines of many shapes
 *
 * Random allocations and frees acting for random CPUs, with and without a node asked
 * for, on made-up topologies from one CPU to 256 on eight nodes; each case in a child
 * of its own. What must hold:
 *   - an object is nobody else's, and comes from the node that was asked for;
 *   - the pages that the page allocator has given out are those of caches, heaps and runs, no more
 *     and no less, in sum and on each node (spec 14 vector 16);
 *   - after the last free and a shrink none is left.
 */
#include "base/mix.h"
#include "conformance/books.h"
#include "unit/cache/cache_fixture.h"

#define MAX_LIVE 400
#define STEPS 1600
#define CHECK_EVERY 400

struct shape {
	unsigned int cpus;
	unsigned int nodes;
};

struct test_case {
	const struct engine_ops *engine;
	const struct front_ops *front;
	struct shape shape;
	char name[64];
};

/* An object or block that is in use, filled with its own byte. */
struct live {
	unsigned char *p;
	size_t size;
	struct cache *cache; /* NULL: from kmalloc */
};

static const unsigned int sizes[] = { 8, 72, 256, 1100, 3000, 12000 };

static struct cache *caches[ARRAY_SIZE(sizes)];
static struct live live[MAX_LIVE];
static unsigned int nr_live;
static uint64_t seed;

static unsigned int draw(unsigned int below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed >> 33) % below;
}

static void act_as_any_cpu(void)
{
	os_act_as_cpu(draw(os_topology.nr_cpu_ids));
}

static unsigned char mark(const void *p)
{
	return (unsigned char)((uintptr_t)p >> 3 ^ (uintptr_t)p >> 11);
}

/* Is the node that was asked for where the memory must come from, with plenty of it everywhere? */
static bool binds(gfp_t flags, int node)
{
	if (node < 0 || node >= (int)os_topology.nr_nodes)
		return false;
	/* the array front gives what it has cached to a CPU that asks for its own node */
	return flags & __GFP_THISNODE || caches[0]->front.ops != &front_array_ops;
}

static struct live take_from(gfp_t flags, int node)
{
	unsigned int which = draw(ARRAY_SIZE(sizes) + 2);
	struct live l = { 0 };

	if (which < ARRAY_SIZE(sizes)) {
		l.cache = caches[which];
		l.size = sizes[which];
		l.p = cache_alloc(l.cache, flags, node);
	} else {
		l.size = 1 + draw(draw(4) ? 700 : 20000);
		l.p = kmalloc_alloc(l.size, flags, node);
	}
	CHILD_CHECK(l.p && page_head_of(l.p));
	if (binds(flags, node))
		CHILD_CHECK(page_head_of(l.p)->node == node);
	return l;
}

static void take(void)
{
	unsigned int nodes = os_topology.nr_nodes;
	struct live l;

	switch (draw(4)) {
	case 0:
		l = take_from(GFP_KERNEL | __GFP_THISNODE, (int)draw(nodes));
		break;
	case 1:
		l = take_from(GFP_KERNEL, (int)draw(nodes + 1)); /* the last does not exist */
		break;
	default:
		l = take_from(GFP_KERNEL, NUMA_NO_NODE);
	}
	memset(l.p, mark(l.p), l.size);
	live[nr_live++] = l;
}

static void give(unsigned int i)
{
	struct live l = live[i];

	for (size_t k = 0; k < l.size; k++)
		CHILD_CHECK(l.p[k] == mark(l.p));
	live[i] = live[--nr_live];
	if (l.cache)
		cache_free(l.cache, l.p);
	else
		kmalloc_free(l.p, NULL);
}

/* The books of the page allocator against the page descriptors, node by node. */
static void check_nodes(void)
{
	unsigned long used[OS_MAX_NODES] = { 0 };
	struct buddy_stats stats;

	for (unsigned long i = 0; i < page_map.nr_pages; i++) {
		const struct page *page = page_at(i);

		if (page->type == PAGE_SLAB || page->type == PAGE_HEAP || page->type == PAGE_RUN)
			used[page->node] += page->nr_pages;
	}
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		buddy_stats(node, &stats);
		CHILD_CHECK(stats.nr_total - stats.nr_free == used[node]);
	}
}

static void check_books(void)
{
	unsigned long objects[ARRAY_SIZE(sizes)] = { 0 };

	cache_check_all();
	buddy_check();
	check_nodes();
	CHILD_CHECK(pages_out() == pages_by_the_books());
	for (unsigned int i = 0; i < nr_live; i++)
		for (size_t c = 0; c < ARRAY_SIZE(sizes); c++)
			objects[c] += live[i].cache == caches[c];
	for (size_t c = 0; c < ARRAY_SIZE(sizes); c++)
		CHILD_CHECK(in_use(caches[c]) == objects[c]);
}

/* More and more objects, then fewer, again and again, on all CPUs. */
static void churn(void)
{
	for (unsigned int step = 0; step < STEPS; step++) {
		bool grow = draw(100) < (step / CHECK_EVERY % 2 ? 35u : 75u);

		act_as_any_cpu();
		if (!nr_live || (grow && nr_live < MAX_LIVE))
			take();
		else
			give(draw(nr_live));
		if (step % CHECK_EVERY == 0)
			check_books();
		if (step % CHECK_EVERY == CHECK_EVERY / 2)
			cache_reap();
	}
}

static void make_caches(const struct test_case *t)
{
	CHILD_CHECK(cache_set_option("engine", t->engine->name, NULL));
	CHILD_CHECK(cache_set_option("front", t->front->name, NULL));
	CHILD_CHECK(kmalloc_init() == 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		caches[i] = made(&(struct cache_spec){
			.name = "topology", .size = sizes[i], .no_merge = true });
}

static void run_case(void *arg)
{
	const struct test_case *t = arg;

	seed = MIX_GOLDEN;
	CHILD_CHECK(os_topology_set(t->shape.cpus, t->shape.nodes) == 0);
	ready();
	make_caches(t);
	CHILD_CHECK(pages_out() == 0);
	churn();
	check_books();
	while (nr_live) {
		act_as_any_cpu();
		give(draw(nr_live));
	}
	check_books();
	cache_shrink_all();
	check_books();
	CHILD_CHECK(pages_out() == 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		cache_destroy(caches[i]->handle, NULL);
	cache_check_all();
	CHILD_CHECK(pages_out() == 0);
}

static void test(void **state)
{
	struct child c = child_run(run_case, *state);

	assert_true(child_passed(&c));
}

static const struct shape shapes[] = { { 1, 1 }, { 2, 1 }, { 8, 2 }, { 64, 4 }, { 256, 8 } };
static const char *const fronts[] = { "none", "array", "queues", "cpuslab" };

#define MAX_TESTS (CACHE_NR_ENGINES * ARRAY_SIZE(fronts) * ARRAY_SIZE(shapes))

static struct test_case cases[MAX_TESTS];
static struct CMUnitTest tests[MAX_TESTS];
static size_t nr_tests;

static void add(const struct engine_ops *engine, const struct front_ops *front, struct shape shape)
{
	struct test_case *t = &cases[nr_tests];

	t->engine = engine;
	t->front = front;
	t->shape = shape;
	snprintf(t->name, sizeof(t->name), "%s/%s on %ux%u", engine->name, front->name, shape.cpus,
		 shape.nodes);
	tests[nr_tests++] = (struct CMUnitTest){
		.name = t->name,
		.test_func = test,
		.initial_state = t,
	};
}

int main(void)
{
	for (unsigned int e = 0; e < CACHE_NR_ENGINES; e++)
		for (size_t f = 0; f < ARRAY_SIZE(fronts); f++) {
			const struct front_ops *front = cache_front_by_name(fronts[f]);

			/* cpuslab needs slabs that a CPU can own */
			if (front == &front_cpuslab_ops && cache_engines[e] != &slub_ops)
				continue;
			for (size_t s = 0; s < ARRAY_SIZE(shapes); s++)
				add(cache_engines[e], front, shapes[s]);
		}
	return _cmocka_run_group_tests("topology", tests, nr_tests, NULL, NULL);
}
