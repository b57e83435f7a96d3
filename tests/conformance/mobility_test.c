/* SPDX-License-Identifier: MIT */
/*
 * conformance/mobility_test.c - objects that move, for every engine with every front
 */
#include "cache/group/group.h"
#include "conformance/pairs.h"
#include "conformance/store.h"

static const unsigned int moved_sizes[] = { 8, 24, 64, 100, 512, 2000, 5000, 20000 };

static bool can_move(const struct pair *pair)
{
	return pair->engine->evacuation;
}

static void open_pair(const struct pair *pair, unsigned int size, unsigned int nr)
{
	open_store(make_pair(pair, size, 0, store_ctor), nr);
}

static void close_store(void)
{
	empty_store();
	finish(store.c);
}

/* What tells that all partial slabs together could not be many fewer. */
static void check_is_packed(unsigned int left)
{
	const struct slab_layout *layout = store.c->engine.layout;
	unsigned long needed = DIV_ROUND_UP(left, layout->objects);

	/* those more than half full stay, on each node; and each node may have a rest */
	CHILD_CHECK(stats_of(store.c).nr_slabs <= 2 * needed + 2 * os_topology.nr_nodes);
}

static void gives_back(const struct pair *pair)
{
	for (size_t s = 0; can_move(pair) && s < ARRAY_SIZE(moved_sizes); s++) {
		unsigned int nr = rounds(moved_sizes[s] > 1000 ? 300 : MOST);
		unsigned long before;
		unsigned int left;

		open_pair(pair, moved_sizes[s], nr);
		left = thin_out();
		cache_shrink(store.c); /* what comes back then is no merit */
		before = stats_of(store.c).nr_slabs;
		CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
		balance(store.c, left);
		if (pairs_debug) {
			CHILD_CHECK(pairs_switched || !counters().defrag_moved);
		} else {
			CHILD_CHECK(!counters().defrag_refused);
			CHILD_CHECK(before - stats_of(store.c).nr_slabs == counters().defrag_slabs);
			check_is_packed(left);
		}
		close_store();
	}
}

static void refuses(const struct pair *pair)
{
	unsigned int left;

	if (!can_move(pair))
		return;
	open_pair(pair, 64, rounds(MOST));
	left = thin_out();
	store.refuse = 1;
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	balance(store.c, left);
	CHILD_CHECK(!counters().defrag_moved);
	CHILD_CHECK(pairs_switched || !counters().defrag_refused == pairs_debug);
	store.refuse = 3;
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	balance(store.c, left);
	CHILD_CHECK(pairs_switched || !counters().defrag_moved == pairs_debug);
	close_store();
}

static unsigned long round_in_steps(void)
{
	unsigned long steps = 0;

	for (;;) {
		unsigned long before = counters().defrag_moved;
		int ret = cache_defrag(store.c, NUMA_NO_NODE, 1);

		cache_check_all();
		if (!ret)
			return steps;
		CHILD_CHECK(ret == 1 && ++steps < 100000);
		/* another node is begun anew, and another degree of use */
		CHILD_CHECK(counters().defrag_moved > before || steps < 10000);
	}
}

/*
 * What a step gives back of objects that it took for moves is looked at anew, in place of other
 * slabs: with steps of one object a round may leave some.
 */
static void in_steps(const struct pair *pair)
{
	unsigned int left;

	if (!can_move(pair) || pairs_debug)
		return;
	open_pair(pair, 100, rounds(MOST));
	left = thin_out();
	CHILD_CHECK(round_in_steps() > 10);
	round_in_steps();
	count(store.c, left);
	check_is_packed(left);
	close_store();
}

/* ---- isolate and migrate ---- */

static int pinned;
static unsigned int left_out;

static void *isolate(struct kmem_cache *s, void **objs, int nr)
{
	const struct page *slab = page_head_of(objs[0]);

	CHILD_CHECK(cache_of(s) == store.c && nr > 0 && nr <= 64);
	for (int i = 0; i < nr; i++) {
		CHILD_CHECK(page_head_of(objs[i]) == slab);
		if (*(uint32_t *)objs[i] % 50 == 7) {
			objs[i] = NULL;
			left_out++;
		} else {
			pinned++;
		}
	}
	return &pinned;
}

static void migrate(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	CHILD_CHECK(private == &pinned && node >= 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == -EBUSY);
	for (int i = 0; i < nr; i++) {
		void *to = objs[i] ? cache_alloc(cache_of(s), GFP_KERNEL, node) : NULL;

		if (!to)
			continue;
		CHILD_CHECK(page_head_of(to) != page_head_of(objs[i]));
		CHILD_CHECK(!move(objs[i], to, &store));
		obj_free(store.c, objs[i]);
		pinned--;
	}
}

static void migrates(const struct pair *pair)
{
	const struct mobility_functions functions = { .isolate = isolate, .migrate = migrate };
	unsigned int left;

	if (!can_move(pair) || pairs_debug)
		return;
	open_pair(pair, 64, rounds(MOST));
	CHILD_CHECK(mobility_set(store.c, &functions) == 0);
	left = thin_out();
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(!pinned && counters().defrag_moved);
	CHILD_CHECK(!counters().defrag_refused == !left_out);
	balance(store.c, left);
	check_is_packed(left);
	close_store();
}

static slab_flags_t account = SLAB_ACCOUNT; /* or USLAB_ACCOUNT_INLINE */

/* A group at its limit: what `migrate` allocates is charged all the same, and given back. */
static void migrates_at_limit(const struct pair *pair)
{
	const struct mobility_functions functions = { .isolate = isolate, .migrate = migrate };
	struct uslab_group_statistics stat;
	struct uslab_group *g;
	unsigned int left;
	int error;

	if (!can_move(pair) || pairs_debug)
		return;
	g = group_create("full", 0, NULL, &error);
	CHILD_CHECK(g);
	store.c = made(&(struct cache_spec){ .name = "store",
					     .size = 64,
					     .flags = account,
					     .ctor = store_ctor,
					     .engine = pair->engine,
					     .front = pair->front,
					     .no_merge = true });
	open_store(store.c, rounds(MOST));
	CHILD_CHECK(mobility_set(store.c, &functions) == 0);
	group_enter(g);
	left = thin_out();
	group_enter(NULL);
	CHILD_CHECK(!group_stat(g, &stat) && stat.usage == left * (size_t)store.c->engine.size);
	CHILD_CHECK(!group_set_limit(g, stat.usage));
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(!pinned && counters().defrag_moved);
	CHILD_CHECK(!group_stat(g, &stat) && stat.usage == left * (size_t)store.c->engine.size);
	check_is_packed(left);
	close_store();
	group_destroy(g);
}

static void keyed_migrates_at_limit(const struct pair *pair)
{
	account = USLAB_ACCOUNT_INLINE;
	migrates_at_limit(pair);
}

/* ---- what is refused ---- */

static void set_up(const struct pair *pair)
{
	const struct mobility_functions by_move = { .move = move };
	const struct mobility_functions by_migrate = { .migrate = migrate };
	struct cache *c = make_pair(pair, 64, 0, NULL);

	if (can_move(pair)) {
		CHILD_CHECK(cache_defrag(c, NUMA_NO_NODE, 0) == -EOPNOTSUPP);
		CHILD_CHECK(mobility_set_ratio(c, 50) == -EOPNOTSUPP);
		CHILD_CHECK(mobility_set(c, &by_migrate) == -EINVAL); /* no constructor */
		CHILD_CHECK(mobility_set(c, &by_move) == 0);
		CHILD_CHECK(mobility_set_ratio(c, 101) == -EINVAL);
		CHILD_CHECK(mobility_set_ratio(c, 100) == 0);
		CHILD_CHECK(cache_defrag(c, NUMA_NO_NODE - 1, 0) == -EINVAL);
		CHILD_CHECK(cache_defrag(c, (int)os_topology.nr_nodes, 0) == -EINVAL);
		CHILD_CHECK(cache_defrag(c, 0, 0) == 0);
		CHILD_CHECK(mobility_set(c, &(struct mobility_functions){ 0 }) == 0);
		CHILD_CHECK(cache_defrag(c, NUMA_NO_NODE, 0) == -EOPNOTSUPP);
	} else {
		CHILD_CHECK(mobility_set(c, &by_move) == -EOPNOTSUPP);
		CHILD_CHECK(cache_defrag(c, NUMA_NO_NODE, 0) == -EOPNOTSUPP);
	}
	finish(c);
}

/* ---- while others allocate and free ---- */

static bool threads_end;

static void *use_store(void *arg)
{
	uint64_t seed = 77 + (uintptr_t)arg;

	while (!load_relaxed(&threads_end)) {
		unsigned int i = (unsigned int)(draw(&seed) % store.nr);

		pthread_mutex_lock(&store.lock[i]);
		if (!store.slot[i] && draw(&seed) % 8 == 0)
			put(i);
		else if (store.slot[i] && draw(&seed) % 2)
			drop(i);
		else if (store.slot[i])
			check_filled(store.slot[i], i);
		pthread_mutex_unlock(&store.lock[i]);
	}
	return NULL;
}

static void threads(const struct pair *pair)
{
	pthread_t thread[2];
	unsigned long calls = 0;

	if (!can_move(pair))
		return;
	open_pair(pair, 100, rounds(MOST));
	thin_out();
	for (uintptr_t i = 0; i < ARRAY_SIZE(thread); i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, use_store, (void *)i));
	for (unsigned int i = 0; i < rounds(60); i++) {
		store.refuse = i % 3 ? 0 : 5;
		while (cache_defrag(store.c, NUMA_NO_NODE, 1 + i % 7 * 50) && ++calls % 100) {}
		cache_shrink(store.c);
		usleep(100);
	}
	store_relaxed(&threads_end, true);
	for (unsigned int i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(pairs_debug || counters().defrag_moved);
	close_store();
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "gives_back", gives_back, true, true },
		{ "refuses", refuses, true, false },
		{ "in_steps", in_steps, true, true },
		{ "migrates", migrates, true, true },
		{ "migrates_at_limit", migrates_at_limit, true, true },
		{ "keyed_migrates_at_limit", keyed_migrates_at_limit, true, true },
		{ "set_up", set_up, true, false },
		{ "threads", threads, true, true },
		{ 0 },
	};

	return pairs_main(argc, argv, "mobility" PAIRS_DEBUG_FLAGS, bodies);
}
