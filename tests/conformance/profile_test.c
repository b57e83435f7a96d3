/* SPDX-License-Identifier: MIT */
/*
 * conformance/profile_test.c - allocation profiling counts exactly, for every engine with every
 * front: objects by handle and by address, blocks, whole pages, frees by whoever
 */
#include <sys/wait.h>

#include "cache/profile/profile.h"
#include "conformance/pairs.h"
#include "threads.h"

#define NR 300

static struct alloc_tag one = { "one.c", "first", 1, 0, 0 };
static struct alloc_tag two = { "two.c", "second", 2, 0, 0 };

static bool counts(struct alloc_tag *tag, unsigned long calls, unsigned long bytes)
{
	struct alloc_tag_counters sum = sites_sum(tag->site);

	return sum.calls == calls && sum.bytes == bytes;
}

static void is_on(bool on)
{
	CHILD_CHECK(profile_switch(on) == 0);
	CHILD_CHECK(uslab_mem_profiling_on == on);
}

static void take_for(struct alloc_tag *tag, struct cache *c, void **slot)
{
	take(c, slot);
	profile_add(tag, c, *slot, false);
}

/* ---- objects by handle ---- */

/* Two of three are counted, each third for the second tag; all are freed, in another order. */
static void count_sizes(const struct pair *pair)
{
	void *p[NR];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct cache *c = make_pair(pair, sizes[i], 0, NULL);
		unsigned int size = c->engine.size;
		unsigned int nr = sizes[i] > 1000 ? 30 : NR;

		for (unsigned int j = 0; j < nr; j++)
			take_for(j % 3 == 0 ? NULL : j % 3 == 1 ? &one : &two, c, &p[j]);
		CHILD_CHECK(counts(&one, nr / 3, (unsigned long)nr / 3 * size));
		CHILD_CHECK(counts(&two, nr / 3, (unsigned long)nr / 3 * size));
		for (unsigned int j = 0; j < nr; j++)
			give(c, p[j * 7 % nr]);
		CHILD_CHECK(counts(&one, 0, 0) && counts(&two, 0, 0));
		finish(c);
	}
}

static void counted(const struct pair *pair)
{
	ready();
	is_on(true);
	count_sizes(pair); /* caches that are made while it is on */
	is_on(false);
}

/* A cache that was there before, with objects that were. */
static void counted_late(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *before[NR];
	void *p[NR];

	for (unsigned int i = 0; i < NR; i++)
		take(c, &before[i]);
	is_on(true);
	for (unsigned int i = 0; i < NR; i++)
		take_for(&one, c, &p[i]);
	CHILD_CHECK(counts(&one, NR, (unsigned long)NR * c->engine.size));
	for (unsigned int i = 0; i < NR; i++)
		give(c, before[i]);
	CHILD_CHECK(counts(&one, NR, (unsigned long)NR * c->engine.size));
	balance(c, NR);
	cache_free_bulk(c, NR, p);
	CHILD_CHECK(counts(&one, 0, 0));
	finish(c);
}

/* Off: all stays as it was. On: from 0, and what was counted before is not any more. */
static void switched(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	unsigned long size = c->engine.size;
	void *p[NR];

	for (unsigned int round = 0; round < 5; round++) {
		is_on(true);
		CHILD_CHECK(!one.site || counts(&one, 0, 0));
		for (unsigned int i = 0; i < NR; i++)
			take_for(&one, c, &p[i]);
		for (unsigned int i = 0; i < 50; i++)
			give(c, p[i]);
		is_on(false);
		CHILD_CHECK(!(c->watch & WATCH_TAGS));
		for (unsigned int i = 50; i < 100; i++)
			give(c, p[i]);
		profile_add(&one, c, p[100], false);
		CHILD_CHECK(counts(&one, NR - 50, (NR - 50) * size));
		is_on(true);
		for (unsigned int i = 100; i < NR; i++)
			give(c, p[i]);
		CHILD_CHECK(counts(&one, 0, 0));
		balance(c, 0);
	}
	finish(c);
}

/* An object keeps its tag, or gets another one. */
static void tagged_twice(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	unsigned long size = c->engine.size;
	void *p;

	is_on(true);
	take_for(&one, c, &p);
	profile_add(&two, c, p, true);
	CHILD_CHECK(counts(&one, 1, size) && (!two.site || counts(&two, 0, 0)));
	profile_add(&two, c, p, false);
	CHILD_CHECK(counts(&one, 0, 0) && counts(&two, 1, size));
	give(c, p);
	CHILD_CHECK(counts(&two, 0, 0));
	profile_add(&one, NULL, &p, false); /* no memory of ours */
	profile_add(&one, NULL, NULL, false);
	profile_add(&one, NULL, ZERO_SIZE_PTR, false);
	CHILD_CHECK(counts(&one, 0, 0));
	finish(c);
}

/* A cache that was made with SLAB_NO_OBJ_EXT. */
static void left_out(const struct pair *pair)
{
	struct cache *c = made(&(struct cache_spec){ .name = "pair",
						     .size = 64,
						     .flags = SLAB_NO_OBJ_EXT,
						     .engine = pair->engine,
						     .front = pair->front });
	void *p;

	is_on(true);
	take_for(&one, c, &p);
	CHILD_CHECK(counts(&one, 0, 0));
	CHILD_CHECK(sites_table->lost == 0);
	give(c, p);
	finish(c);
}

/* ---- by address ---- */

static void kmallocs(const struct pair *pair)
{
	static const size_t odd[] = { 1, 8, 40, 96, 101, 1000, 4088, 5000, 9000, 100000, 4 << 20 };
	void *p[ARRAY_SIZE(odd) * 8];
	unsigned long bytes = 0;
	unsigned int n = 0;

	CHILD_CHECK(cache_set_option("engine", pair->engine->name, NULL));
	CHILD_CHECK(cache_set_option("front", pair->front->name, NULL));
	CHILD_CHECK(kmalloc_init() == 0);
	is_on(true);
	for (unsigned int round = 0; round < 3; round++) {
		for (n = 0; n < ARRAY_SIZE(p); n++) {
			p[n] = kmalloc_alloc(odd[n % ARRAY_SIZE(odd)], GFP_KERNEL, -1);
			CHILD_CHECK(p[n]);
			profile_add(&one, NULL, p[n], false);
		}
		CHILD_CHECK(sites_sum(one.site).calls == n);
		CHILD_CHECK(!round || sites_sum(one.site).bytes == bytes);
		bytes = sites_sum(one.site).bytes;
		CHILD_CHECK(bytes >= 8 * (4ul << 20));
		for (unsigned int i = 0; i < n / 2; i++)
			kmalloc_free(p[i], NULL);
		CHILD_CHECK(sites_sum(one.site).calls == n - n / 2);
		kmalloc_free_bulk(NULL, n - n / 2, p + n / 2);
		CHILD_CHECK(counts(&one, 0, 0));
	}
	cache_check_all();
	CHILD_CHECK(sites_table->lost == 0);
}

/* So many of one size, freed at once: what would be runs. */
static void freed_in_runs(const struct pair *pair)
{
	void *p[NR];

	CHILD_CHECK(cache_set_option("engine", pair->engine->name, NULL));
	CHILD_CHECK(cache_set_option("front", pair->front->name, NULL));
	CHILD_CHECK(kmalloc_init() == 0);
	for (unsigned int round = 0; round < 3; round++) {
		is_on(round != 1);
		for (unsigned int i = 0; i < NR; i++) {
			p[i] = kmalloc_alloc(64, GFP_KERNEL, -1);
			if (round != 1)
				profile_add(&one, NULL, p[i], false);
		}
		CHILD_CHECK(sites_sum(one.site).calls == (round == 1 ? 0 : NR));
		kmalloc_free_bulk(NULL, NR, p);
		CHILD_CHECK(counts(&one, 0, 0));
	}
	cache_check_all();
}

/* ---- threads and processes ---- */

#define SLOTS 64
#define THREADS 4

static struct {
	struct cache *cache;
	void *slot[SLOTS];
	unsigned int ops;
	bool stop;
	bool switches;
} shared;

/* Exchanges what is in a slot for a new object: most are freed by other threads. */
static void *exchange_objects(void *arg)
{
	uint64_t seed = (uintptr_t)arg * 7919;

	for (unsigned int i = 0; i < shared.ops; i++) {
		void *obj = NULL;

		if (draw(&seed) % 4)
			take_for(draw(&seed) % 2 ? &one : &two, shared.cache, &obj);
		obj = xchg(&shared.slot[draw(&seed) % SLOTS], obj);
		if (obj)
			give(shared.cache, obj);
	}
	return NULL;
}

static void *switch_on_and_off(void *arg)
{
	while (shared.switches && !load_relaxed(&shared.stop)) {
		is_on(false);
		usleep(200);
		is_on(true);
		usleep(500);
	}
	return arg;
}

static void *shrink_all(void *arg)
{
	while (!load_relaxed(&shared.stop)) {
		cache_shrink(shared.cache);
		usleep(300);
	}
	return arg;
}

static void exchange_and_check(const struct pair *pair, void *(*beside)(void *arg))
{
	unsigned long live = 0;

	if (THREAD_SANITIZED &&
	    (pair->front == &front_cpuslab_ops || pair->front == &front_sheaves_618_ops))
		return; /* as in pairs_test.c */
	shared.cache = make_pair(pair, 64, 0, NULL);
	shared.ops = THREAD_SANITIZED ? 500 : rounds(3000);
	is_on(true);
	threads_run_beside(THREADS, exchange_objects, beside, &shared.stop);
	if (!shared.switches) {
		for (unsigned int i = 0; i < SLOTS; i++)
			live += shared.slot[i] != NULL;
		CHILD_CHECK(sites_sum(one.site).calls + sites_sum(two.site).calls == live);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		if (shared.slot[i])
			give(shared.cache, shared.slot[i]);
	CHILD_CHECK(counts(&one, 0, 0) && counts(&two, 0, 0));
	finish(shared.cache);
}

static void threads(const struct pair *pair)
{
	/* this is the one that ThreadSanitizer sees (has_something_to_see()) */
	shared.switches = THREAD_SANITIZED;
	exchange_and_check(pair, shared.switches ? switch_on_and_off : shrink_all);
}

static void threads_switched(const struct pair *pair)
{
	shared.switches = true;
	exchange_and_check(pair, switch_on_and_off);
}

static void forked(const struct pair *pair)
{
	struct cache *c = make_pair(pair, 64, 0, NULL);
	void *p[NR];
	int status;
	pid_t pid;

	is_on(true);
	for (unsigned int i = 0; i < NR; i++)
		take_for(&one, c, &p[i]);
	pid = fork();
	CHILD_CHECK(counts(&one, NR, (unsigned long)NR * c->engine.size));
	for (unsigned int i = 0; i < NR; i++)
		give(c, p[i]);
	CHILD_CHECK(counts(&one, 0, 0));
	take_for(&two, c, p);
	CHILD_CHECK(counts(&two, 1, c->engine.size));
	give(c, p[0]);
	finish(c);
	if (pid == 0)
		_exit(0);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = {
		{ "counted", counted, true, true },
		{ "counted_late", counted_late, true, true },
		{ "switched", switched, true, false },
		{ "tagged_twice", tagged_twice, true, false },
		{ "left_out", left_out, true, false },
		{ "kmallocs", kmallocs, true, true },
		{ "freed_in_runs", freed_in_runs, true, false },
		{ "threads", threads, true, true },
		{ "threads_switched", threads_switched, true, false },
		{ "forked", forked, true, false },
		{ 0 },
	};

	return pairs_main(argc, argv, "profile" PAIRS_DEBUG_FLAGS, bodies);
}
