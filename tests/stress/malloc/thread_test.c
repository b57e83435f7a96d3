/* SPDX-License-Identifier: MIT */
/*
 * stress/malloc/thread_test.c - threads that come and go, and what they leave behind
 *
 * ctest: label=full timeout=120 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * Each thread allocates, frees what others left, leaves something itself, and allocates and frees
 * once more in a destructor of thread-specific data, when most of the thread is gone already.
 * Memory must not grow with the number of threads that ever were. USLAB_SOAK=N: N times as many.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_BATCHES 120
#define BATCH 16
#define NR_PLACES 256
#define GROWTH_LIMIT (4096l) /* KiB */

static void *places[NR_PLACES];
static pthread_key_t key;

static void fail(const char *what)
{
	fprintf(stderr, "thread_test: %s\n", what);
	exit(1);
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		fail("no /proc/self/statm");
	fclose(file);
	return pages * 4;
}

static void at_exit(void *arg)
{
	char *p = malloc(3000);

	if (!p || strcmp(arg, "thread data") != 0)
		fail("thread data lost");
	memset(p, 1, 3000);
	free(arg);
	free(p);
}

static void *work(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	pthread_setspecific(key, strdup("thread data"));
	for (unsigned int i = 0; i < 400; i++) {
		size_t size = 1 + (seed * 2654435761u >> 8) % (i % 50 ? 700 : 40000);
		unsigned char *p = malloc(size);

		seed = seed * 1664525 + 1013904223;
		if (!p)
			fail("out of memory");
		memset(p, 0x77, size);
		/* acq_rel: pairs with the same exchange in the thread that frees it */
		p = __atomic_exchange_n(&places[(seed >> 16) % NR_PLACES], (void *)p,
					__ATOMIC_ACQ_REL);
		if (p && p[0] != 0x77)
			fail("wrong byte");
		free(p);
	}
	return NULL;
}

static void batch(unsigned int number)
{
	pthread_t threads[BATCH];

	for (unsigned int i = 0; i < BATCH; i++)
		if (pthread_create(&threads[i], NULL, work,
				   (void *)(uintptr_t)(number * BATCH + i)))
			fail("pthread_create");
	for (unsigned int i = 0; i < BATCH; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const char *soak = getenv("USLAB_SOAK");
	unsigned int rounds = NR_BATCHES * (soak ? (unsigned int)strtoul(soak, NULL, 10) : 1);
	long settled, end;

	pthread_key_create(&key, at_exit);
	for (unsigned int i = 0; i < rounds / 4; i++)
		batch(i);
	settled = resident_kib();
	for (unsigned int i = rounds / 4; i < rounds; i++)
		batch(i);
	end = resident_kib();
	printf("%u threads, resident %ld KiB after a quarter of them, %ld KiB at the end\n",
	       rounds * BATCH, settled, end);
	if (end > settled + GROWTH_LIMIT)
		fail("memory grows with every thread");
	for (unsigned int i = 0; i < NR_PLACES; i++)
		free(places[i]);
	return 0;
}
