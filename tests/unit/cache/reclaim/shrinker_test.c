/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/reclaim/shrinker_test.c - shrinkers: how many objects they are asked for, when, by
 * whom
 */
#include <pthread.h>
#include <sys/wait.h>

#include "../cache_fixture.h"
#include "cache/callback.h"
#include "cache/reclaim/shrinker.h"
#include "page/limit.h"

#define NOWARN (GFP_KERNEL | __GFP_NOWARN)

/* A store of objects that may be made again. */
struct store {
	struct shrinker shrinker;
	struct cache *c;
	void *list;
	unsigned long freeable; /* what it says */
	unsigned long counts;	/* calls */
	unsigned long scans;
	unsigned long asked; /* objects, in all */
	unsigned long most;  /* of one call */
	gfp_t gfp;
	unsigned int nodes; /* bit for each that it was called for */
	bool stops;
	bool looks_at_none;
};

static unsigned long count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct store *s = container_of(shrinker, struct store, shrinker);

	CHILD_CHECK(!lock_thread.nr && callback_inside);
	s->counts++;
	s->gfp = sc->gfp_mask;
	s->nodes |= 1u << sc->nid;
	return s->freeable;
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct store *s = container_of(shrinker, struct store, shrinker);
	unsigned long freed = 0;

	CHILD_CHECK(sc->nr_scanned == sc->nr_to_scan && sc->nr_to_scan);
	s->scans++;
	if (s->stops)
		return SHRINK_STOP;
	if (s->looks_at_none)
		sc->nr_scanned = 0;
	s->asked += sc->nr_to_scan;
	s->most = MAX(s->most, sc->nr_to_scan);
	for (; s->list && freed < sc->nr_to_scan; freed++) {
		void *obj = s->list;

		s->list = *(void **)obj;
		cache_free(s->c, obj);
		s->freeable--;
	}
	return freed;
}

static void add(struct store *s, unsigned long freeable)
{
	*s = (struct store){
		.freeable = freeable,
		.shrinker = { .count_objects = count, .scan_objects = scan, .seeks = DEFAULT_SEEKS },
	};
	CHILD_CHECK(shrinker_add(&s->shrinker) == 0);
	CHILD_CHECK(s->shrinker.flags & SHRINKER_REGISTERED);
}

static void put(struct store *s)
{
	void *obj = cache_alloc(s->c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE);

	CHILD_CHECK(obj);
	*(void **)obj = s->list;
	s->list = obj;
	s->freeable++;
}

/* ---- arithmetic ---- */

IN_CHILD(test_priorities)
{
	struct store s;

	ready();
	add(&s, 40960);
	shrinkers_run(GFP_KERNEL, SHRINKER_GENTLE); /* 10 * 4 / 2: less than a batch, owed */
	CHILD_CHECK(s.counts == 1 && s.scans == 0);
	shrinkers_run(GFP_KERNEL, 4);
	CHILD_CHECK(s.asked == (2560 * 2 + 20 / 16) / 128 * 128 && s.most == 128);
	s.asked = 0;
	shrinkers_run(GFP_KERNEL,
		      0); /* all, and what is owed: at most twice as many as there are */
	CHILD_CHECK(s.asked == 2 * 40960);
	CHILD_CHECK(shrinker_remove(&s.shrinker) && !shrinker_remove(&s.shrinker));
	CHILD_CHECK(!(s.shrinker.flags & SHRINKER_REGISTERED));
	shrinkers_run(GFP_KERNEL, 0);
	CHILD_CHECK(s.counts == 3 && !shrinker_counters.registered);
}

IN_CHILD(test_seeks_and_batch)
{
	struct store s;

	ready();
	add(&s, 1000);
	s.shrinker.seeks = 0; /* costs nothing: half of all */
	s.shrinker.batch = 10;
	shrinkers_run(GFP_KERNEL, SHRINKER_GENTLE);
	CHILD_CHECK(s.asked == 500 && s.most == 10);
	s.asked = 0;
	s.shrinker.seeks = 8;
	shrinkers_run(GFP_KERNEL, 0);
	CHILD_CHECK(s.asked == 500);
	s.asked = s.most = 0;
	s.freeable = 3; /* fewer than a batch */
	s.shrinker.seeks = 2;
	shrinkers_run(GFP_KERNEL, 0);
	CHILD_CHECK(s.asked >= 3 && s.most >= 3);
}

IN_CHILD(test_empty_and_stop)
{
	struct store s;

	ready();
	add(&s, 0);
	CHILD_CHECK(shrinkers_run(GFP_KERNEL, 0) == 0 && !s.scans);
	s.freeable = SHRINK_EMPTY;
	CHILD_CHECK(shrinkers_run(GFP_KERNEL, 0) == 0 && !s.scans);
	s.freeable = 1000;
	s.stops = true;
	CHILD_CHECK(shrinkers_run(GFP_KERNEL, 0) == 0 && s.scans == 1);
	s.stops = false;
	s.looks_at_none = true; /* has an end all the same */
	CHILD_CHECK(shrinkers_run(GFP_KERNEL, 0) == 0 && s.scans == 2);
}

IN_CHILD(test_arguments)
{
	struct store s;
	struct shrinker bad = { .count_objects = count };

	ready();
	add(&s, 10);
	CHILD_CHECK(shrinker_add(&s.shrinker) == -EEXIST && shrinker_add(&bad) == -EINVAL);
	CHILD_CHECK(!shrinkers_may_run(GFP_ATOMIC) && !shrinkers_may_run(GFP_NOWAIT));
	CHILD_CHECK(shrinkers_run(GFP_NOWAIT, 0) == 0 && !s.counts);
	CHILD_CHECK(shrinkers_may_run(GFP_NOFS));
	shrinkers_run(GFP_NOFS, 0);
	CHILD_CHECK(s.counts == 1 && s.gfp == GFP_NOFS && s.nodes == 1);
}

IN_CHILD(test_nodes)
{
	struct store s;
	struct store t;

	CHILD_CHECK(os_topology_set(4, 4) == 0);
	ready();
	add(&t, 10);
	s = (struct store){ .freeable = 500,
			    .shrinker = { .count_objects = count,
					  .scan_objects = scan,
					  .seeks = 2,
					  .flags = SHRINKER_NUMA_AWARE } };
	CHILD_CHECK(shrinker_add(&s.shrinker) == 0);
	shrinkers_run(GFP_KERNEL, 0);
	CHILD_CHECK(s.nodes == 15 && s.counts == 4 && t.nodes == 1);
}

/* ---- under pressure ---- */

static void fill_store(struct store *s, unsigned long bytes)
{
	for (unsigned long n = bytes / 512; n-- > 0;)
		put(s);
}

/* Objects that were kept make room at the limit; requests that may not wait fail. */
IN_CHILD(test_limit)
{
	struct cache *b;
	struct store s;

	ready();
	add(&s, 0);
	s.c = make("kept", 512, 0, SLAB_NO_MERGE);
	b = make("wanted", 2048, 0, SLAB_NO_MERGE);
	limit_set((limit_held() << PAGE_SHIFT) + (8ul << 20));
	fill_store(&s, 7ul << 20);
	for (unsigned int i = 0; i < 3000; i++) /* 6 MiB */
		CHILD_CHECK(cache_alloc(b, NOWARN, NUMA_NO_NODE));
	CHILD_CHECK(s.scans && s.freeable < 7ul * 2048);
	CHILD_CHECK(limit_counters.peak <= limit_counters.limit);
	/* all that is left is what may not be freed */
	while (cache_alloc(b, NOWARN, NUMA_NO_NODE)) {}
	CHILD_CHECK(!s.list && !s.freeable);
	s.scans = s.counts = 0;
	CHILD_CHECK(!cache_alloc(b, GFP_ATOMIC | __GFP_NOWARN, NUMA_NO_NODE) && !s.counts);
	cache_check_all();
}

static struct store *greedy;

/* What a shrinker allocates itself runs no shrinker. */
static unsigned long allocating(struct shrinker *shrinker, struct shrink_control *sc)
{
	unsigned long before = greedy->counts;

	CHILD_CHECK(!shrinkers_may_run(GFP_KERNEL));
	while (cache_alloc(greedy->c, NOWARN, NUMA_NO_NODE)) {}
	CHILD_CHECK(greedy->counts == before);
	return scan(shrinker, sc);
}

IN_CHILD(test_not_nested)
{
	struct store s;

	ready();
	add(&s, 0);
	greedy = &s;
	s.c = make("kept", 512, 0, SLAB_NO_MERGE);
	s.shrinker.scan_objects = allocating;
	limit_set((limit_held() << PAGE_SHIFT) + (2ul << 20));
	fill_store(&s, 1ul << 20);
	while (cache_alloc(s.c, NOWARN, NUMA_NO_NODE)) {}
	CHILD_CHECK(s.counts && !s.list);
}

/* ---- threads, fork ---- */

static unsigned int entered;
static unsigned int go_on;

static unsigned long wait_inside(struct shrinker *shrinker, struct shrink_control *sc)
{
	(void)shrinker, (void)sc;
	store_release(&entered, 1);
	while (!load_acquire(&go_on))
		usleep(100);
	usleep(20000);
	store_release(&entered, 2);
	return 0;
}

static void *run_there(void *arg)
{
	shrinkers_run(GFP_KERNEL, 0);
	return arg;
}

static void start_waiting(struct store *s, pthread_t *thread)
{
	ready();
	add(s, 10);
	s->shrinker.count_objects = wait_inside;
	CHILD_CHECK(!pthread_create(thread, NULL, run_there, NULL));
	while (!load_acquire(&entered))
		usleep(100);
}

IN_CHILD(test_remove_waits)
{
	struct store s;
	pthread_t thread;

	start_waiting(&s, &thread);
	store_release(&go_on, 1);
	CHILD_CHECK(shrinker_remove(&s.shrinker) && load_acquire(&entered) == 2);
	pthread_join(thread, NULL);
}

IN_CHILD(test_forked)
{
	struct store s;
	pthread_t thread;
	int status;
	pid_t pid;

	start_waiting(&s, &thread);
	pid = fork();
	if (!pid) { /* nobody is inside here */
		shrinker_remove(&s.shrinker);
		_exit(0);
	}
	store_release(&go_on, 1);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_priorities),     cmocka_unit_test(test_seeks_and_batch),
		cmocka_unit_test(test_empty_and_stop), cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_nodes),	       cmocka_unit_test(test_limit),
		cmocka_unit_test(test_not_nested),     cmocka_unit_test(test_remove_waits),
		cmocka_unit_test(test_forked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
