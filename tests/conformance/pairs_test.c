/* SPDX-License-Identifier: MIT */
/*
 * conformance/pairs_test.c - every engine with every front does the same things right
 */
#include <pthread.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "base/mix.h"
#include "bytes.h"
#include "conformance/pairs.h"
#include "front/sheaves.h"
#include "threads.h"

/* ---- one thread ---- */

/* First in first out, last in first out, and any order. */
static void patterns(const struct pair *pair)
{
	static void *p[600];
	uint64_t seed = 42;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_pair(pair, sizes[i], 0, NULL);
		unsigned int most = sizes[i] > 1000 ? 60 : rounds(600);
		unsigned int n = 0;

		for (unsigned int j = 0; j < most; j++)
			take(c, &p[j]);
		count(c, most);
		for (unsigned int j = 0; j < most; j++)
			give(c, p[j]);
		for (unsigned int j = 0; j < most; j++)
			take(c, &p[j]);
		for (unsigned int j = most; j-- > 0;)
			give(c, p[j]);
		for (unsigned int step = 0; step < 4 * most; step++) {
			bool grow = draw(&seed) % 100 < (step / most % 2 ? 35u : 65u);

			if (grow && n < most) {
				take(c, &p[n++]);
			} else if (n) {
				unsigned int j = (unsigned int)draw(&seed) % n;

				give(c, p[j]);
				p[j] = p[--n];
			}
		}
		balance(c, n);
		while (n)
			give(c, p[--n]);
		finish(c);
	}
}

/* One object again and again comes from one place. */
static void ping_pong(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);

	for (unsigned int i = 0; i < rounds(20000); i++) {
		void *p = obj_alloc(c);

		*(unsigned int *)p = i;
		obj_free(c, p);
	}
	CHILD_CHECK(stats_of(c).nr_slabs <= os_topology.nr_cpu_ids);
	finish(c);
}

static void bulk(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 48, 0, NULL);
	static void *p[700];
	uint64_t seed = 7;
	unsigned int n = 0;

	for (unsigned int round = 0; round < rounds(300); round++) {
		unsigned int want = (unsigned int)draw(&seed) % 200;

		if (draw(&seed) % 2 && n + want <= 700) {
			CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, want, p + n) == want);
			for (unsigned int i = 0; i < want; i++)
				stamp(c, p[n + i]);
			n += want;
		} else if (n >= want) {
			for (unsigned int i = 0; i < want; i++)
				check_stamp(c, p[n - 1 - i]);
			cache_free_bulk(c, want, p + n - want);
			n -= want;
		}
		if (n && draw(&seed) % 3 == 0)
			give(c, p[--n]);
		if (round % 50 == 0)
			balance(c, n);
	}
	for (unsigned int i = 0; i < n; i++)
		check_stamp(c, p[i]);
	cache_free_bulk(c, n, p);
	finish(c);
}

/* As many as are there, whatever is asked for; the same objects as of single calls. */
static unsigned int take_array(struct cache *c, unsigned int want, void **p, unsigned int mode)
{
	unsigned int n = cache_alloc_array_for(c, GFP_KERNEL, want, p, mode, NULL);

	CHILD_CHECK(n <= want && (n == want || !(mode & SLAB_ARRAY_FULL)));
	for (unsigned int i = 0; i < n; i++) {
		CHILD_CHECK(is_of(c, p[i]));
		stamp(c, p[i]);
	}
	return n;
}

static void give_array(struct cache *c, unsigned int n, void **p)
{
	for (unsigned int i = 0; i < n; i++)
		if (p[i])
			check_stamp(c, p[i]);
	cache_free_array_for(c, n, p, NULL);
}

/* Every mode, and everything that leaves partial slabs in between. */
static void arrays(const struct pair *pair)
{
	static void *p[700];
	uint64_t seed = 17;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_pair(pair, sizes[i], 0, NULL);
		unsigned int most = sizes[i] > 1000 ? 60 : 300;
		unsigned int n = 0;

		for (unsigned int round = 0; round < rounds(120); round++) {
			unsigned int want = (unsigned int)draw(&seed) % most;
			unsigned int from;

			if (os_topology.made_up)
				os_act_as_cpu((unsigned int)draw(&seed) % 8);
			if (n + want <= ARRAY_SIZE(p))
				n += take_array(c, want, p + n, 1 + (unsigned int)draw(&seed) % 15);
			for (unsigned int j = 0; n && j < want / 3; j++) { /* here and there */
				unsigned int at = (unsigned int)draw(&seed) % n;

				give(c, p[at]);
				p[at] = p[--n];
			}
			from = n ? (unsigned int)draw(&seed) % n : 0;
			if (n && round % 3 == 0) { /* with NULLs among them */
				give(c, p[from]);
				p[from] = NULL;
			}
			if (round % 3 == 0) {
				give_array(c, n - from, p + from);
				n = from;
			}
			if (round % 40 == 0)
				balance(c, n);
		}
		give_array(c, n, p);
		finish(c);
	}
}

static void zeroed(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 200, 0, NULL);
	void *p[100];

	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < 100; i++) {
			p[i] = cache_alloc(c, GFP_KERNEL | __GFP_ZERO, NUMA_NO_NODE);
			for (unsigned int j = 0; j < 200; j++)
				CHILD_CHECK(((char *)p[i])[j] == 0);
			stamp(c, p[i]);
		}
		for (unsigned int i = 0; i < 100; i++)
			give(c, p[i]);
	}
	finish(c);
}

static unsigned long constructed;

static void a_ctor(void *obj)
{
	constructed++;
	memset(obj, 0xc7, 56);
}

/* Heaps, and slobseg: at each allocation; the others once, with the slab. */
static bool constructs_each(const struct engine_ops *engine)
{
	return engine->heap || engine == &slobseg_ops;
}

/* Every object is constructed when it comes out, and no free pointer has touched it. */
static void constructors(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 56, 0, a_ctor);
	static unsigned char *p[500];
	unsigned long before;

	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < 500; i++) {
			p[i] = obj_alloc(c);
			for (unsigned int j = 0; j < 56; j++)
				CHILD_CHECK(p[i][j] == 0xc7);
		}
		CHILD_CHECK(constructed >= (constructs_each(pair->engine) && !pairs_debug
						    ? 500
						    : stats_of(c).total_objects));
		for (unsigned int i = 0; i < 500; i++)
			obj_free(c, p[i]);
	}
	before = constructed;
	for (unsigned int i = 0; i < 100; i++) {
		p[i % 2] = obj_alloc(c);
		if (i)
			obj_free(c, p[(i + 1) % 2]);
	}
	obj_free(c, p[1]);
	if (!constructs_each(pair->engine) || pairs_debug)
		CHILD_CHECK(constructed - before <= stats_of(c).total_objects);
	else if (pair->front == &front_none_ops)
		CHILD_CHECK(constructed - before == 100);
	finish(c);
}

static void aligned(const struct pair *pair)
{
	for (unsigned int align = 8; align <= PAGE_SIZE; align *= 4)
		for (unsigned int size = 5; size < 3000; size *= 6) {
			struct cache *c = make_pair(pair, size, align, NULL);
			void *p[70];

			for (unsigned int i = 0; i < 70; i++) {
				take(c, &p[i]);
				CHILD_CHECK(((uintptr_t)p[i] & (align - 1)) == 0);
			}
			for (unsigned int i = 0; i < 70; i++)
				give(c, p[i]);
			finish(c);
		}
}

static void shrunk(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 72, 0, NULL);
	static void *p[1000];

	CHILD_CHECK(cache_shrink(c) == 0);
	for (unsigned int keep = 1; keep < 1000; keep *= 7) {
		for (unsigned int i = 0; i < 1000; i++)
			take(c, &p[i]);
		for (unsigned int i = 0; i < 1000; i++)
			if (i % keep)
				give(c, p[i]);
		/* pages of a heap are not the cache's */
		CHILD_CHECK(cache_shrink(c) == 1 || pair->engine->heap);
		CHILD_CHECK(c->front.ops->held(&c->front) == 0);
		balance(c, DIV_ROUND_UP(1000, keep));
		for (unsigned int i = 0; i < 1000; i += keep)
			give(c, p[i]);
		CHILD_CHECK(cache_shrink(c) == 0 && stats_of(c).nr_slabs == 0);
	}
	finish(c);
}

/* It stays, with its objects; when they come back nothing is left. */
static void destroyed_live(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *p[100];

	for (unsigned int i = 0; i < 100; i++)
		take(c, &p[i]);
	for (unsigned int i = 0; i < 100; i++)
		if (i % 10)
			give(c, p[i]);
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(c->refcount == 0 && c->handle->cache == c && in_use(c) == 10);
	report_counters.reports = 0; /* that it has objects */
	for (unsigned int i = 0; i < 100; i += 10)
		check_stamp(c, p[i]);
	for (unsigned int i = 0; i < 100; i++)
		if (i % 10)
			take(c, &p[i]);
	for (unsigned int i = 0; i < 100; i++)
		give(c, p[i]);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0);
	cache_check_all();
}

/* Free pointers encoded, free lists shuffled. */
static void hardened(const struct pair *pair)
{
	CHILD_CHECK(cache_set_option("hardened", "1", NULL) &&
		    cache_set_option("random", "1", NULL));
	patterns(pair);
	bulk(pair);
	arrays(pair);
}

/* ---- lent sheaves ---- */

/* As many as were asked for; a sheaf of the front is filled up. */
static bool has_lent(const struct cache *c, const struct slab_sheaf *sheaf, unsigned int nr)
{
	return front_has_sheaves(&c->front) ? sheaf->count >= nr : sheaf->count == nr;
}

/* So many of them, half of them with zeros. */
static void take_lent_ones(struct cache *c, struct slab_sheaf *sheaf, void **p, unsigned int nr)
{
	unsigned int before = sheaf->count;

	for (unsigned int i = 0; i < nr; i++) {
		p[i] = lent_alloc(c, i % 2 ? GFP_KERNEL : GFP_KERNEL | __GFP_ZERO, sheaf, NULL);
		CHILD_CHECK(p[i] && is_of(c, p[i]));
		CHILD_CHECK(i % 2 || all_bytes(p[i], c->engine.object_size, 0));
		stamp(c, p[i]);
	}
	CHILD_CHECK(sheaf->count == before - nr);
}

/* Filled, taken from, filled with more than it had room for, returned. */
static void lent(const struct pair *pair)
{
	static void *p[100];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_pair(pair, sizes[i], 0, NULL);
		unsigned int nr = sizes[i] > 1000 ? 20 : 100;
		struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, nr, NULL);

		CHILD_CHECK(sheaf && has_lent(c, sheaf, nr));
		balance(c, 0);
		cache_shrink(c);
		CHILD_CHECK(has_lent(c, sheaf, nr));
		take_lent_ones(c, sheaf, p, nr);
		balance(c, nr);
		CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, 2, NULL) == 0);
		CHILD_CHECK(has_lent(c, sheaf, 2));
		CHILD_CHECK(lent_refill(c, GFP_KERNEL, &sheaf, 3 * nr, NULL) == 0);
		CHILD_CHECK(has_lent(c, sheaf, 3 * nr));
		for (unsigned int j = 0; j < nr; j++)
			give(c, p[j]);
		balance(c, 0);
		p[0] = lent_alloc(c, GFP_KERNEL, sheaf, NULL);
		stamp(c, p[0]);
		lent_return(c, sheaf, NULL);
		balance(c, 1);
		give(c, p[0]);
		finish(c);
	}
}

/* As the constructor made them, and as they were freed. */
static void lent_constructed(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 56, 0, a_ctor);
	struct slab_sheaf *sheaf = NULL;
	void *p;

	for (unsigned int i = 0; i < 300; i++) {
		if (i % 30 == 0) {
			lent_return(c, sheaf, NULL);
			sheaf = lent_prefill(c, GFP_KERNEL, 30, NULL);
		}
		p = lent_alloc(c, GFP_KERNEL, sheaf, NULL);
		CHILD_CHECK(p && all_bytes(p, 56, 0xc7));
		obj_free(c, p);
	}
	lent_return(c, sheaf, NULL);
	finish(c);
}

/* It stays with its cache, which can be destroyed when it is back. */
static void destroyed_lent(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, 2, NULL);
	void *p[2];

	cache_destroy(c->handle, NULL);
	CHILD_CHECK(c->handle->cache == c && report_counters.reports > 0);
	take_lent_ones(c, sheaf, p, 2);
	give(c, p[0]);
	give(c, p[1]);
	cache_destroy(c->handle, NULL); /* an empty sheaf has the cache, too */
	CHILD_CHECK(c->handle->cache == c);
	lent_return(c, sheaf, NULL);
	report_counters.reports = 0;
	finish(c);
}

/* ---- many CPUs and nodes, made up ---- */

/* Allocated by one CPU and freed by another, all to all. */
static void cpus(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	static void *p[2000];
	uint64_t seed = 3;
	unsigned int n = 0;

	for (unsigned int step = 0; step < rounds(20000); step++) {
		os_act_as_cpu((unsigned int)draw(&seed) % 8);
		if (draw(&seed) % 100 < (step / 2500 % 2 ? 40u : 60u) && n < 2000) {
			take(c, &p[n++]);
		} else if (n) {
			unsigned int j = (unsigned int)draw(&seed) % n;

			give(c, p[j]);
			p[j] = p[--n];
		}
		if (step % 4000 == 0)
			cache_shrink(c);
	}
	balance(c, n);
	while (n)
		give(c, p[--n]);
	finish(c);
}

static void nodes(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	uint64_t seed = 11;
	void *p[400];

	for (unsigned int i = 0; i < 400; i++) {
		int node = (int)(draw(&seed) % 4);

		os_act_as_cpu((unsigned int)draw(&seed) % 8);
		p[i] = cache_alloc(c, GFP_KERNEL | __GFP_THISNODE, node);
		CHILD_CHECK(p[i] && page_head_of(p[i])->node == node);
		stamp(c, p[i]);
		if (i % 3 == 0) { /* so that wrong ones are cached everywhere */
			os_act_as_cpu((unsigned int)draw(&seed) % 8);
			give(c, p[i]);
			take(c, &p[i]);
		}
	}
	balance(c, 400);
	for (unsigned int i = 0; i < 400; i++)
		give(c, p[i]);
	finish(c);
}

/* ---- threads ---- */

#define THREADS 4
#define SLOTS 64

static struct {
	struct cache *cache;
	void *slot[SLOTS]; /* objects pass from thread to thread */
	bool stop;
	unsigned int ops;
} shared;

/* By a sheaf, of which some objects go back. */
static void take_lent(struct cache *c, void **p, unsigned int nr)
{
	struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, nr, NULL);

	CHILD_CHECK(sheaf && lent_refill(c, GFP_KERNEL, &sheaf, nr + 20, NULL) == 0);
	for (unsigned int i = 0; i < nr; i++) {
		p[i] = lent_alloc(c, GFP_KERNEL, sheaf, NULL);
		CHILD_CHECK(p[i]);
		stamp(c, p[i]);
	}
	lent_return(c, sheaf, NULL);
}

static void *thread_body(void *arg)
{
	struct cache *c = shared.cache;
	uint64_t seed = mix_multiply((uintptr_t)arg);
	void *p[120];
	unsigned int n = 0;

	for (unsigned int step = 0; step < shared.ops; step++) {
		uint64_t r = draw(&seed);

		if (os_topology.made_up && r % 64 == 0)
			os_act_as_cpu((unsigned int)(r >> 20) % 8);
		if (r % 8 == 0 && n) {
			/* atomic exchange: full barrier between the two owners */
			void *other = xchg(&shared.slot[(r >> 8) % SLOTS], p[--n]);

			if (other)
				give(c, other);
		} else if (r % 128 == 9 && n < 110) {
			take_lent(c, p + n, 5);
			n += 5;
		} else if (r % 128 == 25 && n < 70) {
			n += take_array(c, 50, p + n, 1 + (unsigned int)(r >> 32) % 15);
		} else if (r % 128 == 41 && n > 30) {
			n -= 30;
			give_array(c, 30, p + n);
		} else if (r % 16 < (step >> 9 & 1 ? 6u : 10u) && n < 120) {
			take(c, &p[n++]);
		} else if (n) {
			unsigned int j = (unsigned int)(r >> 24) % n;

			give(c, p[j]);
			p[j] = p[--n];
		}
	}
	while (n)
		give(c, p[--n]);
	return NULL;
}

/* 0, or what a front that has no arrays says, or one that cannot be without. */
static void set_capacity(struct cache *c, unsigned int objects)
{
	const struct front_ops *front = c->front.ops;
	int expected = 0;

	if (!front->set_capacity)
		expected = -EOPNOTSUPP;
	else if (front != &front_array_ops && objects == FRONT_CAPACITY_NONE)
		expected = -EINVAL;
	CHILD_CHECK(cache_set_capacity(c, objects) == expected);
}

static const unsigned int capacity_of_turn[] = { 1, 31, FRONT_CAPACITY_NONE, 5, 0, 30, 2 };

/* Between any two calls; objects of before are as good as those of after. */
static void capacities(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *p[300];

	for (unsigned int turn = 0; turn < 3 * ARRAY_SIZE(capacity_of_turn); turn++) {
		unsigned int step = 1 + turn * 13 % 70;

		for (unsigned int i = 0; i < 300; i++) {
			if (i % step == 0)
				set_capacity(c, capacity_of_turn[(turn + i / step) %
								 ARRAY_SIZE(capacity_of_turn)]);
			take(c, &p[i]);
		}
		balance(c, 300);
		for (unsigned int i = 0; i < 300; i++) {
			if (i % step == 0)
				set_capacity(c, capacity_of_turn[(turn + i / step + 3) %
								 ARRAY_SIZE(capacity_of_turn)]);
			give(c, p[i]);
		}
		balance(c, 0);
		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 300, p) == 300);
		set_capacity(c, capacity_of_turn[turn % ARRAY_SIZE(capacity_of_turn)]);
		cache_free_bulk(c, 300, p);
	}
	finish(c);
}

static void *drainer_body(void *arg)
{
	for (unsigned int i = 0; !load_relaxed(&shared.stop); i++) {
		if (i % 2)
			cache_shrink(shared.cache);
		else
			set_capacity(shared.cache,
				     capacity_of_turn[i / 2 % ARRAY_SIZE(capacity_of_turn)]);
		usleep(150);
	}
	return arg;
}

static void threads(const struct pair *pair)
{
	/*
	 * cpuslab looks at the link of a free object that another thread may have got meanwhile,
	 * and then does not use what it saw; a plain write of that thread's is a race to tsan. It
	 * also fills the sheaves of 6.18: with tsan these are in race/sheaves_test.c.
	 */
	if (THREAD_SANITIZED &&
	    (pair->front == &front_cpuslab_ops || pair->front == &front_sheaves_618_ops))
		return;
	shared.cache = make_pair(pair, 64, 0, NULL);
	shared.ops = getenv("USLAB_TEST_VALGRIND") ? 1000
		     : THREAD_SANITIZED		   ? 10000
						   : rounds(40000);
	threads_run_beside(THREADS, thread_body, drainer_body, &shared.stop);
	for (unsigned int i = 0; i < SLOTS; i++)
		if (shared.slot[i])
			give(shared.cache, shared.slot[i]);
	finish(shared.cache);
}

/* The child of a fork goes on with what it has, also lent, and with all that the front has. */
static void forked(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	struct slab_sheaf *sheaf = lent_prefill(c, GFP_KERNEL, 50, NULL);
	void *p[150];
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < 100; i++)
		take(c, &p[i]);
	for (unsigned int i = 50; i < 100; i++)
		give(c, p[i]);
	pid = fork();
	for (unsigned int i = 50; i < 100; i++)
		take(c, &p[i]);
	take_lent_ones(c, sheaf, p + 100, 50);
	lent_return(c, sheaf, NULL);
	for (unsigned int i = 0; i < 150; i++)
		give(c, p[i]);
	give_array(c, take_array(c, 150, p, SLAB_ARRAY_ALL), p);
	finish(c);
	if (pid == 0)
		_exit(0);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "patterns", patterns, true, true },
		{ "ping_pong", ping_pong, true, true },
		{ "bulk", bulk, true, true },
		{ "arrays", arrays, true, true },
		{ "zeroed", zeroed, true, true },
		{ "constructors", constructors, true, true },
		{ "aligned", aligned, true, true },
		{ "shrunk", shrunk, true, true },
		{ "destroyed_live", destroyed_live, true, true },
		{ "hardened", hardened, true, true },
		{ "lent", lent, true, true },
		{ "lent_constructed", lent_constructed, true, false },
		{ "destroyed_lent", destroyed_lent, true, false },
		{ "cpus", cpus, false, true },
		{ "nodes", nodes, false, true },
		{ "capacities", capacities, true, true },
		{ "threads", threads, true, true },
		{ "forked", forked, true, true },
		{ 0 },
	};

	return pairs_main(argc, argv, "pairs" PAIRS_DEBUG_FLAGS, bodies);
}
