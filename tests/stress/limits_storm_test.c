/* SPDX-License-Identifier: MIT */
/*
 * stress/limits_storm_test.c - threads at the limit of the process, of a cache and of a group,
 * while shrinkers come and go, threads change CPUs, signals come and the process forks
 *
 * ctest: label=full timeout=300 serial
 *
 * USLAB_STORM_SECONDS says for how long; else two seconds. What is held never passes the limit;
 * each object that was handed out has its own bytes; in the end everything comes back. The group's
 * limit is lowered below its usage, and raised, all the time.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include <uslab/group.h>
#include <uslab/shrinker.h>

#include "unit/cache/cache_fixture.h"
#include "engine/limit.h"
#include "page/limit.h"

#define THREADS 6u
#define STORES 4u
#define KEPT 512u
#define ROOM (24ul << 20)
#define CACHE_ROOM (1ul << 20)

/* What one shrinker may free: any thread puts, the scan takes. */
struct store {
	struct shrinker *shrinker;
	pthread_mutex_t lock;
	void *list;
	unsigned long n;
};

static struct store stores[STORES];
static struct kmem_cache *objects;
static struct kmem_cache *limited; /* the group's, too */
static struct uslab_group *group;  /* of all threads */
static unsigned int stop;	   /* atomic */
static unsigned long got;	   /* atomic */
static unsigned long refusals;	   /* atomic */
static unsigned long scans;	   /* atomic */
static unsigned long handled;	   /* signals; atomic */
static unsigned long children;	   /* that ended well */
static __thread unsigned int seed;

static unsigned long count(struct shrinker *shrinker, struct shrink_control *sc)
{
	(void)sc;
	return load_relaxed(&((struct store *)shrinker->private_data)->n);
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct store *s = shrinker->private_data;
	unsigned long freed = 0;

	if (pthread_mutex_trylock(&s->lock))
		return SHRINK_STOP;
	for (; s->list && freed < sc->nr_to_scan; freed++) {
		void *obj = s->list;

		s->list = *(void **)obj;
		store_relaxed(&s->n, s->n - 1);
		kmem_cache_free(objects, obj);
	}
	pthread_mutex_unlock(&s->lock);
	fetch_add(&scans, 1);
	return freed;
}

static void put(struct store *s, void *obj)
{
	pthread_mutex_lock(&s->lock);
	*(void **)obj = s->list;
	s->list = obj;
	store_relaxed(&s->n, s->n + 1);
	pthread_mutex_unlock(&s->lock);
}

static void add_shrinker(struct store *s)
{
	s->shrinker = shrinker_alloc(0, "store");
	CHILD_CHECK(s->shrinker);
	s->shrinker->count_objects = count;
	s->shrinker->scan_objects = scan;
	s->shrinker->private_data = s;
	shrinker_register(s->shrinker);
}

static void on_signal(int number)
{
	void *p = kmalloc(200, number & 1 ? GFP_ATOMIC : GFP_NOWAIT);

	fetch_add(&handled, 1);
	kfree(p);
}

static void check_limits(void)
{
	CHILD_CHECK(load_relaxed(&limit_counters.peak) <= load_relaxed(&limit_counters.limit));
	CHILD_CHECK(load_relaxed(&engine_limits[cache_of(limited)->engine.id].pages) <=
		    (CACHE_ROOM >> PAGE_SHIFT) + 8 * THREADS); /* some are about to be taken back */
}

static void wander(void)
{
	cpu_set_t all, one;
	int cpu = rand_r(&seed) % CPU_SETSIZE;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu = (cpu + 1) % CPU_SETSIZE;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setaffinity(0, sizeof(all), &all);
}

/* Some kinds of memory in turn; a slot has its own number in the first and the last byte. */
static void *take(unsigned int kind, unsigned char mark)
{
	unsigned char *p = NULL;
	size_t size = 512;

	switch (kind) {
	case 0:
		p = kmem_cache_alloc(objects, GFP_KERNEL | __GFP_NOWARN);
		break;
	case 1:
		p = kmem_cache_alloc(limited, GFP_KERNEL | __GFP_NOWARN);
		break;
	case 2:
		size = 1 + (size_t)rand_r(&seed) % 60000;
		p = kmalloc(size,
			    (rand_r(&seed) & 1 ? GFP_KERNEL_ACCOUNT : GFP_NOWAIT) | __GFP_NOWARN);
		break;
	default:
		size = (1ul << 20) + (size_t)rand_r(&seed) % (3ul << 20);
		p = kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
		break;
	}
	fetch_add(p ? &got : &refusals, 1);
	if (p)
		p[0] = p[size - 1] = mark;
	return p;
}

static void drop(unsigned int kind, unsigned char *p, unsigned char mark)
{
	if (!p)
		return;
	CHILD_CHECK(p[0] == mark);
	if (kind == 1)
		kmem_cache_free(limited, p);
	else if (kind)
		kvfree(p);
	else
		put(&stores[rand_r(&seed) % STORES], p);
}

static void *work(void *arg)
{
	static const unsigned char kinds[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3 };
	unsigned char *kept[KEPT] = { NULL };

	seed = (unsigned int)(uintptr_t)arg + 1;
	uslab_group_enter(group);
	while (!load_relaxed(&stop)) {
		unsigned int slot = (unsigned int)rand_r(&seed) % KEPT;
		unsigned int kind = kinds[slot % 16];

		drop(kind, kept[slot], (unsigned char)slot);
		kept[slot] = kind == 3 && slot % 64 != 15 ? NULL : take(kind, (unsigned char)slot);
		if (slot == 0)
			check_limits();
		if (slot < 4)
			wander();
	}
	for (unsigned int i = 0; i < KEPT; i++)
		drop(kinds[i % 16], kept[i], (unsigned char)i);
	return NULL;
}

/* A child has its parent's memory, and lives at the same limit. */
static void try_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		void *p = kmem_cache_alloc(objects, GFP_KERNEL | __GFP_NOWARN);

		kmem_cache_free(objects, p ? p : kmem_cache_alloc(objects, GFP_ATOMIC));
		_exit(0);
	}
	if (pid < 0)
		return;
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	children++;
}

static void start(void)
{
	size_t held;

	kfree(kmalloc(8, GFP_KERNEL));
	objects = kmem_cache_create("storm", 512, 0, SLAB_NO_MERGE, NULL);
	limited = kmem_cache_create("storm_limited", 512, 0, SLAB_NO_MERGE, NULL);
	CHILD_CHECK(objects && limited && kmem_cache_set_limit(limited, CACHE_ROOM) == 0);
	group = uslab_group_create("storm", 0, NULL);
	CHILD_CHECK(group && kmem_cache_set_group(limited, group) == 0);
	uslab_limit(&held);
	CHILD_CHECK(uslab_set_limit(held + ROOM) == 0);
	for (unsigned int i = 0; i < STORES; i++) {
		pthread_mutex_init(&stores[i].lock, NULL);
		add_shrinker(&stores[i]);
	}
}

static void finish(void)
{
	for (unsigned int i = 0; i < STORES; i++) {
		shrinker_free(stores[i].shrinker);
		while (stores[i].list) {
			void *obj = stores[i].list;

			stores[i].list = *(void **)obj;
			kmem_cache_free(objects, obj);
		}
	}
	kmem_cache_shrink(objects);
	kmem_cache_shrink(limited);
	CHILD_CHECK(in_use(cache_of(objects)) == 0 && in_use(cache_of(limited)) == 0);
	CHILD_CHECK(engine_limits[cache_of(limited)->engine.id].pages << PAGE_SHIFT ==
		    stats_of(cache_of(limited)).slab_bytes);
	kmem_cache_destroy(objects);
	kmem_cache_destroy(limited);
	CHILD_CHECK(uslab_group_usage(group) == 0);
	uslab_group_destroy(group);
	buddy_check();
	large_check();
}

IN_CHILD(test_storm)
{
	const char *text = getenv("USLAB_STORM_SECONDS");
	time_t end = time(NULL) + (text ? atoi(text) : 2);
	const struct itimerval often = { { 0, 700 }, { 0, 700 } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t thread[THREADS];

	start();
	seed = 99;
	sigaction(SIGALRM, &action, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHILD_CHECK(!pthread_create(&thread[i], NULL, work, (void *)i));
	setitimer(ITIMER_REAL, &often, NULL);
	while (time(NULL) < end) {
		struct store *s = &stores[rand_r(&seed) % STORES];

		shrinker_free(s->shrinker);
		add_shrinker(s);
		uslab_group_set_limit(group, 1 + (size_t)rand_r(&seed) % CACHE_ROOM);
		usleep(100);
		uslab_group_set_limit(group, 0);
		check_limits();
		if (rand_r(&seed) % 64 == 0)
			try_fork();
		usleep(500);
	}
	store_relaxed(&stop, 1);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	dprintf(STDERR_FILENO, "%lu allocations, %lu refused, %lu scans, %lu signals, %lu forks\n",
		got, refusals, scans, handled, children);
	CHILD_CHECK(got && refusals && scans && handled);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_storm) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
