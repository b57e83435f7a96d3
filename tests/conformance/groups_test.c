/* SPDX-License-Identifier: MIT */
/*
 * conformance/groups_test.c - what is charged to accounting groups is exact, for every engine with
 * every front: objects by handle and by address, blocks, whole pages, frees by whoever
 */
#include <sys/wait.h>

#include "cache/group/group.h"
#include "cache/lent.h"
#include "conformance/pairs.h"
#include "groups.h"
#include "threads.h"

#define NR 300

/* What inline hits call on a miss. Those of api/ make the library ready when a program starts. */
void *uslab_cache_alloc(struct kmem_cache *s, gfp_t flags)
{
	return cache_alloc(cache_of(s), flags, NUMA_NO_NODE);
}

void uslab_cache_free(struct kmem_cache *s, void *obj)
{
	cache_free(cache_of(s), obj);
}

static slab_flags_t account = SLAB_ACCOUNT; /* or USLAB_ACCOUNT_INLINE */

static struct cache *make_charged(const struct pair *pair, unsigned int size)
{
	return made(&(struct cache_spec){ .name = "charged",
					  .size = size,
					  .flags = account,
					  .engine = pair->engine,
					  .front = pair->front,
					  .sheaf_capacity = 28,
					  .no_merge = true });
}

/* ---- objects by handle ---- */

/* Two of three are charged, to two groups in turn; all are freed, in another order, by neither. */
static void charge_sizes(struct uslab_group *a, struct uslab_group *b, const struct pair *pair)
{
	void *p[NR];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_charged(pair, sizes[i]);
		unsigned int size = c->engine.size;
		unsigned int nr = sizes[i] > 1000 ? 30 : NR;

		for (unsigned int j = 0; j < nr; j++) {
			group_enter(j % 3 == 0 ? NULL : j % 3 == 1 ? a : b);
			take(c, &p[j]);
		}
		group_enter(NULL);
		CHILD_CHECK(usage(a) == (size_t)nr / 3 * size);
		CHILD_CHECK(usage(b) == (size_t)nr / 3 * size);
		cache_check_all();
		for (unsigned int j = 0; j < nr; j++)
			give(c, p[j * 7 % nr]);
		CHILD_CHECK(usage(a) == 0 && usage(b) == 0);
		finish(c);
	}
}

static void charged(const struct pair *pair)
{
	struct uslab_group *a, *b;

	ready();
	a = make_group("a", 0, NULL);
	b = make_group("b", 0, NULL);
	charge_sizes(a, b, pair);
	group_destroy(a);
	group_destroy(b);
	group_check();
}

/* A cache that was there before, with objects that were: its front is closed, or its frees look. */
static void charged_late(const struct pair *pair)
{
	struct cache *c;
	struct uslab_group *g;
	void *before[NR];
	void *p[NR];

	ready();
	c = make_charged(pair, 64);
	for (unsigned int i = 0; i < NR; i++)
		take(c, &before[i]);
	g = make_group("late", 0, NULL);
	group_enter(g);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, NR, p) == NR);
	group_enter(NULL);
	CHILD_CHECK(usage(g) == (size_t)NR * c->engine.size);
	for (unsigned int i = 0; i < NR; i++)
		give(c, before[i]);
	CHILD_CHECK(usage(g) == (size_t)NR * c->engine.size);
	balance(c, NR);
	cache_free_bulk(c, NR, p);
	CHILD_CHECK(usage(g) == 0);
	finish(c);
}

/* Other flags are not charged; a call may be. */
static void charged_by_call(const struct pair *pair)
{
	struct uslab_group *g;
	struct cache *c;
	void *plain, *p;

	ready();
	g = make_group("call", 0, NULL);
	c = make_pair(pair, 100, 0, NULL);
	group_enter(g);
	take(c, &plain);
	CHILD_CHECK(usage(g) == 0);
	group_watch(c);
	p = cache_alloc(c, GFP_KERNEL_ACCOUNT, NUMA_NO_NODE);
	CHILD_CHECK(p && usage(g) == c->engine.size);
	group_enter(NULL);
	give(c, plain);
	CHILD_CHECK(usage(g) == c->engine.size);
	obj_free(c, p);
	CHILD_CHECK(usage(g) == 0);
	finish(c);
}

/* At the limit a call fails, and nothing else does; all or none of several. */
static void limited(const struct pair *pair)
{
	struct uslab_group *g, *other;
	struct uslab_group_statistics stat;
	struct cache *c;
	void *p[NR], *q[NR];
	unsigned int n = 0;

	ready();
	g = make_group("limited", 0, NULL);
	other = make_group("other", 0, NULL);
	c = make_charged(pair, 200);
	CHILD_CHECK(group_set_limit(g, 100 * (size_t)c->engine.size + 7) == 0);
	group_enter(g);
	while (n < NR && (p[n] = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE)))
		n++;
	CHILD_CHECK(n == 100 && usage(g) == 100 * (size_t)c->engine.size);
	CHILD_CHECK(group_stat(g, &stat) == 0 && stat.failed == 1 && stat.met == 1);
	obj_free(c, p[--n]);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 2, q) == 0);
	CHILD_CHECK(usage(g) == 99 * (size_t)c->engine.size);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 1, q) == 1);
	obj_free(c, q[0]);
	CHILD_CHECK((q[0] = cache_alloc(c, GFP_KERNEL | __GFP_NOFAIL, NUMA_NO_NODE)));
	CHILD_CHECK((q[1] = cache_alloc(c, GFP_KERNEL | __GFP_NOFAIL, NUMA_NO_NODE)));
	CHILD_CHECK(usage(g) == 101 * (size_t)c->engine.size); /* forced */
	cache_free_bulk(c, 2, q);
	group_enter(other);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, NR, q) == NR);
	group_enter(NULL);
	cache_free_bulk(c, NR, q);
	cache_free_bulk(c, n, p);
	CHILD_CHECK(usage(g) == 0 && usage(other) == 0);
	finish(c);
}

/* ---- by address ---- */

static const size_t kmalloc_sizes[] = { 1, 8, 100, 192, 1000, 8192, 8193, 100000, 4 << 20 };

static void by_address(const struct pair *pair)
{
	void *p[ARRAY_SIZE(kmalloc_sizes)], *plain[ARRAY_SIZE(kmalloc_sizes)];
	struct uslab_group *g;
	size_t before;

	CHILD_CHECK(cache_set_option("engine", pair->engine->name, NULL));
	CHILD_CHECK(cache_set_option("front", pair->front->name, NULL));
	CHILD_CHECK(kmalloc_init() == 0);
	g = make_group("kmalloc", 0, NULL);
	group_enter(g);
	for (size_t i = 0; i < ARRAY_SIZE(kmalloc_sizes); i++) {
		plain[i] = kmalloc_alloc(kmalloc_sizes[i], GFP_KERNEL, NUMA_NO_NODE);
		before = usage(g);
		p[i] = kmalloc_alloc(kmalloc_sizes[i], GFP_KERNEL_ACCOUNT, NUMA_NO_NODE);
		CHILD_CHECK(p[i] && plain[i]);
		CHILD_CHECK(usage(g) - before >= kmalloc_sizes[i]);
		CHILD_CHECK(usage(g) - before <= MAX(2 * kmalloc_sizes[i], 64ul));
		memset(p[i], 1, kmalloc_sizes[i]);
	}
	group_enter(NULL);
	before = usage(g);
	for (size_t i = 0; i < ARRAY_SIZE(kmalloc_sizes); i++)
		kmalloc_free(plain[i], NULL);
	CHILD_CHECK(usage(g) == before);
	for (size_t i = 0; i < ARRAY_SIZE(kmalloc_sizes); i++)
		kmalloc_free(p[i], NULL);
	CHILD_CHECK(usage(g) == 0);
	/* several at once, some of them charged */
	for (size_t i = 0; i < 6; i++) {
		group_enter(i % 2 ? g : NULL);
		p[i] = kmalloc_alloc(96, GFP_KERNEL_ACCOUNT, NUMA_NO_NODE);
	}
	CHILD_CHECK(usage(g) >= 3 * 96ul);
	kmalloc_free_bulk(NULL, 6, p);
	CHILD_CHECK(usage(g) == 0);
	group_set_limit(g, 1 << 20);
	CHILD_CHECK(!kmalloc_alloc(4 << 20, GFP_KERNEL_ACCOUNT, NUMA_NO_NODE));
	CHILD_CHECK(usage(g) == 0);
	cache_check_all();
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS 3000

struct worker {
	struct cache *c;
	struct uslab_group *g;
	void **shared; /* THREADS slots */
	unsigned int nr;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t seed = w->nr + 1;

	group_enter(w->g);
	for (unsigned int i = 0; i < rounds(ROUNDS); i++) {
		void *obj = kmem_cache_alloc_account(w->c->handle, GFP_KERNEL);
		void *old;

		CHILD_CHECK(obj);
		old = xchg(&w->shared[draw(&seed) % THREADS], obj);
		if (old)
			kmem_cache_free_account(w->c->handle, old); /* mostly another one's */
	}
	return NULL; /* its end leaves the group */
}

static void by_threads(const struct pair *pair)
{
	struct worker w[THREADS];
	void *shared[THREADS] = { NULL };
	struct uslab_group *g[2], *top;
	struct uslab_group_statistics stat;
	pthread_t thread[THREADS];
	struct cache *c;

	ready();
	top = make_group("top", 0, NULL);
	g[0] = make_group("one", 0, top);
	g[1] = make_group("two", 0, top);
	c = make_charged(pair, 48);
	for (unsigned int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ c, g[i % 2], shared, i };
		CHILD_CHECK(pthread_create(&thread[i], NULL, work, &w[i]) == 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHILD_CHECK(group_stat(g[0], &stat) == 0 && stat.threads == 0);
	CHILD_CHECK(usage(g[0]) + usage(g[1]) == usage(top));
	CHILD_CHECK(usage(top) <= THREADS * (size_t)c->engine.size);
	for (unsigned int i = 0; i < THREADS; i++)
		if (shared[i])
			cache_free(c, shared[i]);
	CHILD_CHECK(usage(top) == 0 && usage(g[0]) == 0 && usage(g[1]) == 0);
	group_check();
	finish(c);
}

/* ---- fork ---- */

static void by_child(const struct pair *pair)
{
	struct uslab_group *g;
	struct cache *c;
	void *p[NR];
	int status;
	pid_t pid;

	ready();
	g = make_group("forked", 0, NULL);
	c = make_charged(pair, 64);
	group_enter(g);
	for (unsigned int i = 0; i < NR; i++)
		take(c, &p[i]);
	pid = fork();
	CHILD_CHECK(pid >= 0);
	if (pid) {
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		CHILD_CHECK(usage(g) == (size_t)NR * c->engine.size);
	} else {
		CHILD_CHECK(usage(g) == (size_t)NR * c->engine.size);
	}
	cache_free_bulk(c, NR, p);
	CHILD_CHECK(usage(g) == 0);
	group_destroy(g); /* this thread is in it */
	group_enter(NULL);
	group_check();
	if (!pid)
		_exit(0);
	finish(c);
}

/* What a lent sheaf gives is charged when it is given, whatever the limit is. */
static void lent(const struct pair *pair)
{
	struct slab_sheaf *sheaf;
	struct uslab_group *g;
	struct cache *c;
	void *p[10];

	ready();
	g = make_group("lent", 0, NULL);
	c = make_charged(pair, 64);
	group_set_limit(g, c->engine.size);
	group_enter(g);
	sheaf = lent_prefill(c, GFP_KERNEL, 10, NULL);
	CHILD_CHECK(sheaf && usage(g) == 0);
	for (unsigned int i = 0; i < 10; i++)
		CHILD_CHECK((p[i] = lent_alloc(c, GFP_KERNEL, sheaf, NULL)));
	CHILD_CHECK(usage(g) == 10 * (size_t)c->engine.size);
	CHILD_CHECK(!cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE));
	lent_return(c, sheaf, NULL);
	group_enter(NULL);
	for (unsigned int i = 0; i < 10; i++)
		obj_free(c, p[i]);
	CHILD_CHECK(usage(g) == 0);
	finish(c);
}

/* ---- the same with keys in objects, where the pair has them ---- */

#define KEYED(body)                                       \
	static void keyed_##body(const struct pair *pair) \
	{                                                 \
		account = USLAB_ACCOUNT_INLINE;           \
		body(pair);                               \
	}

KEYED(charged)
KEYED(charged_late)
KEYED(limited)
KEYED(by_threads)
KEYED(by_child)
KEYED(lent)

/* ---- caches of a group ---- */

static struct cache *make_of(struct uslab_group *g, const struct pair *pair, unsigned int size)
{
	struct cache *c = make_pair(pair, size, 0, NULL);
	bool whole = pair->front == &front_cpuslab_ops || pair->front == &front_sheaves_618_ops;
	bool may = !c->engine.ops->heap && !whole;

	CHILD_CHECK(group_adopt(c, g) == (may ? 0 : -EOPNOTSUPP));
	return may ? c : NULL;
}

/* Whoever allocates: the group of the cache is charged, and once only. */
static void of_group(const struct pair *pair)
{
	struct uslab_group *top, *g, *other;
	void *p[NR];

	ready();
	top = make_group("top", 0, NULL);
	g = make_group("g", 0, top);
	other = make_group("other", 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_of(g, pair, sizes[i]);
		unsigned int nr = sizes[i] > 1000 ? 30 : NR;

		if (!c)
			return;
		CHILD_CHECK(group_adopt(c, g) == -EBUSY && usage(g) == 0);
		for (unsigned int j = 0; j < nr; j++) {
			group_enter(j % 3 == 0 ? NULL : j % 3 == 1 ? g : other);
			p[j] = cache_alloc(c, j % 2 ? GFP_KERNEL : GFP_KERNEL_ACCOUNT,
					   NUMA_NO_NODE);
			CHILD_CHECK(p[j]);
		}
		group_enter(NULL);
		CHILD_CHECK(usage(g) == (size_t)nr * c->engine.size && usage(top) == usage(g));
		CHILD_CHECK(usage(other) == 0);
		cache_free_bulk(c, nr / 2, p);
		CHILD_CHECK(usage(g) == (size_t)(nr - nr / 2) * c->engine.size);
		cache_shrink(c);
		CHILD_CHECK(usage(g) == (size_t)(nr - nr / 2) * c->engine.size);
		cache_free_bulk(c, nr - nr / 2, p + nr / 2);
		CHILD_CHECK(usage(g) == 0 && usage(top) == 0);
		group_check();
		finish(c);
		CHILD_CHECK(group_of_handle(g)->usage == 0);
	}
	group_destroy(g);
	group_destroy(top);
	CHILD_CHECK(groups_table->live == 1 && !groups_table->dying);
}

static unsigned int fill(struct cache *c, unsigned int most, void **p)
{
	unsigned int n = 0;

	while (n < most && (p[n] = cache_alloc(c, GFP_KERNEL, NUMA_NO_NODE)))
		n++;
	return n;
}

/*
 * At the limit calls of its caches fail, and nobody else's; what another cache of the group has
 * free makes room.
 */
static void of_group_limited(const struct pair *pair)
{
	enum { LIMIT = 256 * 1024, MOST = LIMIT / 192 + 1 };
	static void *p[MOST], *q[MOST];
	struct uslab_group_statistics stat;
	struct cache *c, *beside, *free;
	struct uslab_group *g;
	unsigned int n, m;

	ready();
	g = make_group("limited", LIMIT, NULL);
	c = make_of(g, pair, 192);
	if (!c)
		return;
	beside = make_of(g, pair, 1024);
	free = make_pair(pair, 192, 0, NULL);
	n = fill(c, MOST, p);
	CHILD_CHECK(n && n < MOST && usage(g) == (size_t)n * c->engine.size);
	CHILD_CHECK(n == LIMIT / c->engine.size);
	CHILD_CHECK(group_stat(g, &stat) == 0 && stat.failed == 1 && stat.met == 1);
	CHILD_CHECK(stat.peak <= LIMIT);
	CHILD_CHECK(fill(free, 100, q) == 100);
	cache_free_bulk(free, 100, q);
	cache_free_bulk(c, n, p);
	CHILD_CHECK(usage(g) == 0);
	m = fill(beside, MOST, q);
	CHILD_CHECK(m > 100 && usage(g) == (size_t)m * beside->engine.size);
	cache_free_bulk(beside, m, q);
	CHILD_CHECK(fill(c, 100, p) == 100);
	group_destroy(g); /* its objects stay, and it with them */
	CHILD_CHECK(groups_table->dying == 1);
	cache_free_bulk(c, 100, p);
	finish(beside);
	CHILD_CHECK(groups_table->dying == 1);
	finish(c);
	finish(free);
	CHILD_CHECK(!groups_table->dying && !groups_table->live);
	group_check();
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "charged", charged, true, true },
		{ "charged_late", charged_late, true, false },
		{ "charged_by_call", charged_by_call, true, false },
		{ "limited", limited, true, false },
		{ "by_address", by_address, true, false },
		{ "by_threads", by_threads, true, true },
		{ "by_child", by_child, true, false },
		{ "lent", lent, true, false },
		{ "keyed_charged", keyed_charged, true, true },
		{ "keyed_charged_late", keyed_charged_late, true, false },
		{ "keyed_limited", keyed_limited, true, false },
		{ "keyed_by_threads", keyed_by_threads, true, true },
		{ "keyed_by_child", keyed_by_child, true, false },
		{ "keyed_lent", keyed_lent, true, false },
		{ "of_group", of_group, true, true },
		{ "of_group_limited", of_group_limited, true, false },
		{ 0 },
	};

	return pairs_main(argc, argv, "groups" PAIRS_DEBUG_FLAGS, bodies);
}
