/* SPDX-License-Identifier: MIT */
/*
 * stress/malloc/signal_test.c - a storm of signals on top of malloc and free
 *
 * ctest: label=full timeout=120 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * Each signal that meets a restartable sequence aborts it, so this is above all a test of aborts:
 * an object lost or given out twice shows as a wrong byte. One handler only counts; the other one
 * allocates and frees of a size that is always at hand: what hits is safe in a handler. Nothing
 * drains the arrays meanwhile, and the thread stays on one CPU. USLAB_SOAK=N: N times as long.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 1.5
#define ENOUGH 100 /* of each signal; beside other programs that takes longer */
#define NR_SLOTS 200
#define HANDLER_SIZE 112 /* used by nothing else here */

static volatile sig_atomic_t counted, allocated, failures;
static volatile bool stop;
static bool with_malloc;
static pthread_t victim;

static void on_count(int sig)
{
	(void)sig;
	counted++;
}

static void on_allocate(int sig)
{
	unsigned char *p = malloc(HANDLER_SIZE);
	unsigned char *q = malloc(HANDLER_SIZE);

	(void)sig;
	if (!p || !q || p == q) {
		failures++;
		return;
	}
	memset(p, 1, HANDLER_SIZE);
	memset(q, 2, HANDLER_SIZE);
	failures += p[HANDLER_SIZE - 1] != 1;
	free(p);
	free(q);
	allocated++;
}

/* Sends both signals as fast as they are taken. */
static void *send(void *arg)
{
	const struct timespec pause = { .tv_nsec = 5000 };

	(void)arg;
	while (!stop) {
		pthread_kill(victim, SIGUSR1);
		if (with_malloc)
			pthread_kill(victim, SIGUSR2);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void fail(const char *what)
{
	fprintf(stderr, "signal_test: %s\n", what);
	exit(1);
}

static bool had_enough(void)
{
	return failures || (counted >= ENOUGH && (!with_malloc || allocated >= ENOUGH));
}

/* Hits of one size for most of the time, other sizes and misses in between. */
static void work(double seconds)
{
	static unsigned char *slots[NR_SLOTS];
	static size_t sizes[NR_SLOTS];
	struct timespec start, now;
	unsigned int seed = 1;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned int i = 0; i < 5000; i++) {
			unsigned int n = (seed >> 16) % NR_SLOTS;
			unsigned char tag = (unsigned char)n;

			seed = seed * 1664525 + 1013904223;
			if (slots[n]) {
				if (slots[n][0] != tag || slots[n][sizes[n] - 1] != tag)
					fail("wrong byte: an object was given out twice");
				free(slots[n]);
			}
			sizes[n] = i % 100 ? 40 : 200 + (seed >> 12) % 3000;
			slots[n] = malloc(sizes[n]);
			slots[n][0] = slots[n][sizes[n] - 1] = tag;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
			 seconds ||
		 !had_enough());
	for (unsigned int n = 0; n < NR_SLOTS; n++)
		free(slots[n]);
	memset(slots, 0, sizeof(slots));
}

static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

int main(void)
{
	const char *soak = getenv("USLAB_SOAK");
	double seconds = SECONDS * (soak ? atof(soak) : 1);
	pthread_t sender;

#ifndef USLAB_NO_RSEQ
	with_malloc = __rseq_size != 0; /* without sequences a hit takes a lock */
#endif
	victim = pthread_self();
	signal(SIGUSR1, on_count);
	signal(SIGUSR2, on_allocate);
	pthread_create(&sender, NULL, send, NULL);
	stay_on_one_cpu(); /* after the sender, which may run elsewhere */
	on_allocate(0);	   /* fills this CPU's array */
	work(seconds);
	stop = true;
	pthread_join(sender, NULL);
	printf("%d signals counted, %d handlers allocated\n", (int)counted, (int)allocated);
	if (failures)
		fail("handlers failed");
	return 0;
}
