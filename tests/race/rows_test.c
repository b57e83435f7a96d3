/* SPDX-License-Identifier: MIT */
/*
 * race/rows_test.c - first uses of kmalloc's rows, by all threads at once, while everything happens
 *
 * ctest: timeout=300
 *
 * A cache of a row is made once in a process, so each round is a process of its own. Its threads go
 * over the same sites, whose sizes the compiler knows, so that inlined hits meet entries that
 * change. One more thread injects delays: it holds the registry's lock for a while, so that several
 * have found no cache before the first can make it. Meanwhile threads move between CPUs, signal
 * handlers allocate at sites of their own, and children are forked, which go on with their copy.
 * An object carries its owner's mark; in the end there is one cache for each name, and none has an
 * object left, once that is done which threads have deferred that ended.
 *
 * Usage: rows_test [rounds]
 */
#define USLAB_KMALLOC_PARTITION
#define USLAB_ALLOC_TOKEN(...) (sizeof(#__VA_ARGS__) % 16)

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uslab/slab.h>

#include "base/bits.h"
#include "cache/internal.h"
#include "cache/kmalloc/rows.h"
#include "child.h"
#include "page/nested.h"

#define WORKERS 4
#define LAPS 20
#define SITES 44
#define LAST 300 /* more than fronts take without a lock */

static bool stop;
static pthread_barrier_t start;

/* Sites of 11 sizes; how many parentheses stand around one is its type. */
static void *alloc_at_site(unsigned int site)
{
	switch (site) {
#define SITE(n, ...) \
	case n:      \
		return kmalloc(__VA_ARGS__, GFP_NOWAIT);
#define SITES_OF(first, size)        \
	SITE(first, size)            \
	SITE((first) + 11, (size))   \
	SITE((first) + 22, ((size))) \
	SITE((first) + 33, (((((size))))))
		SITES_OF(0, 8)
		SITES_OF(1, 16)
		SITES_OF(2, 32)
		SITES_OF(3, 64)
		SITES_OF(4, 96)
		SITES_OF(5, 128)
		SITES_OF(6, 192)
		SITES_OF(7, 256)
		SITES_OF(8, 512)
		SITES_OF(9, 2048)
		SITES_OF(10, 8192)
	default:
		return NULL;
	}
}

/* Neither in a handler nor outside of it may anyone else write there. */
static void use(void *p, uint32_t mark)
{
	volatile uint32_t *word = p;

	CHILD_CHECK(p);
	for (unsigned int i = 0; i < 2; i++)
		word[i] = mark + i;
	if (!(mark >> 8 & 31))
		sched_yield();
	for (unsigned int i = 0; i < 2; i++)
		CHILD_CHECK(word[i] == mark + i);
	kfree(p);
}

static void handle(int signal)
{
	static unsigned int turn;
	unsigned int n = __atomic_add_fetch(&turn, 1, __ATOMIC_RELAXED);
	int error = errno;
	uint32_t *p = kmalloc(40 + 0, GFP_ATOMIC);
	uint32_t *q = alloc_at_site(n % SITES); /* NULL: it interrupted a holder of a lock */

	(void)signal;
	if (p)
		p[0] = n;
	if (q)
		q[0] = ~n;
	CHILD_CHECK((!p || p[0] == n) && (!q || q[0] == ~n));
	kfree(q);
	kfree(p);
	errno = error;
}

static void move_to_cpu(unsigned int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(n % (unsigned int)sysconf(_SC_NPROCESSORS_CONF), &set);
	sched_setaffinity(0, sizeof(set), &set); /* where that CPU may not be used it stays */
}

static void *work(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;

	pthread_barrier_wait(&start);
	for (unsigned int i = 0; i < LAPS * SITES; i++) {
		/* all of them the same way for a lap, so that they meet, then each its own */
		unsigned int site = i < SITES ? i : (i * (2 * me + 1)) % SITES;
		void *p = alloc_at_site(site);

		if (p)
			use(p, me << 24 | i << 8);
		if (i % 300 == 0)
			move_to_cpu(i / 300 + me);
	}
	return NULL;
}

/*
 * As if handlers had interrupted the last call of a thread, and freed: what needs a lock is
 * deferred, and this thread does not do it any more.
 */
static void leave_deferred(void)
{
	void *p[LAST];
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	for (unsigned int i = 0; i < LAST; i++)
		p[i] = alloc_at_site(SITES - 1);
	lock_acquire(&cache_lock);
	for (unsigned int i = 0; i < LAST; i++)
		kfree(p[i]);
	lock_release(&cache_lock);
}

/* The delays: whoever wants to make a cache waits. */
static void *delay(void *arg)
{
	pthread_barrier_wait(&start);
	for (unsigned int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		lock_acquire(&cache_lock);
		usleep(i % 3 * 100);
		cache_unlock();
		usleep(i % 5 * 200);
	}
	leave_deferred();
	return arg;
}

static void *spawn(void *arg)
{
	pthread_barrier_wait(&start);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int status;
		pid_t pid = fork();

		CHILD_CHECK(pid >= 0);
		if (!pid) {
			for (unsigned int site = 0; site < SITES; site++)
				use(alloc_at_site(site), 77);
			rows_check();
			_exit(0);
		}
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		usleep(5000);
	}
	return arg;
}

static void check_caches(void)
{
	struct list_head *pos, *other;

	rows_check();
	cache_check_all();
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);
		struct kmem_cache_statistics stats;

		cache_stats(c, &stats);
		CHILD_CHECK(stats.objects == 0);
		for (other = pos->next; other != &cache_list; other = other->next)
			CHILD_CHECK(strcmp(c->name, list_entry(other, struct cache, list)->name) !=
				    0);
	}
}

static void round_of_all(void *arg)
{
	static const struct itimerval often = { { 0, 700 }, { 0, 700 } }, never;
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	pthread_t threads[WORKERS + 2];

	pthread_barrier_init(&start, NULL, WORKERS + 2);
	sigaction(SIGALRM, &action, NULL);
	CHILD_CHECK(!pthread_create(&threads[WORKERS], NULL, delay, NULL));
	CHILD_CHECK(!pthread_create(&threads[WORKERS + 1], NULL, spawn, NULL));
	for (uintptr_t i = 0; i < WORKERS; i++)
		CHILD_CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(threads[WORKERS], NULL);
	pthread_join(threads[WORKERS + 1], NULL);
	CHILD_CHECK(nested_waiting() > 0);
	nested_settle(); /* handlers in the last calls of threads may have left some, too */
	check_caches();
	(void)arg;
}

int main(int argc, char **argv)
{
	static const char *const modes[] = { "kmalloc.partition=typed",
					     "kmalloc.partition=random" };
	int rounds = argc > 1 ? atoi(argv[1]) : 12;
	const char *conf = getenv("USLAB_CONF");

	/* the library has read its options by now, so the modes need programs of their own */
	if (!conf || !strstr(conf, "kmalloc.partition=")) {
		for (unsigned int i = 0; i < ARRAY_SIZE(modes); i++) {
			int status;
			pid_t pid = fork();

			if (!pid) {
				setenv("USLAB_CONF", modes[i], 1);
				execv("/proc/self/exe", argv);
				_exit(1);
			}
			if (waitpid(pid, &status, 0) != pid || status)
				return 1;
		}
		return 0;
	}
	for (int i = 0; i < rounds; i++) {
		struct child c = child_run(round_of_all, NULL);

		if (!child_passed(&c))
			return 1;
	}
	printf("%s: %d rounds\n", conf, rounds);
	return 0;
}
