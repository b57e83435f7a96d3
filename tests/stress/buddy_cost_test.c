/* SPDX-License-Identifier: MIT */
/*
 * stress/buddy_cost_test.c - what a block of pages costs, the lock included
 *
 * The measurement behind docs/adr/0003: nanoseconds for the alloc and the
 * free of one page. Each line is the median of 15 parts. It fails only when a pair without a split
 * takes more than 1 us, which no busy machine explains.
 *
 * ctest: serial sanitize=no
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/lock/lock.h"
#include "page/arena.h"
#include "page/buddy.h"

#define PARTS 15
#define PAIRS 100000
#define BATCH 512

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median over the parts of the nanoseconds that one of n operations takes. */
static double measure(void (*body)(void), unsigned long n)
{
	double part[PARTS];
	unsigned int i;

	body();
	for (i = 0; i < PARTS; i++) {
		double start = now_ns();

		body();
		part[i] = (now_ns() - start) / (double)n;
	}
	qsort(part, PARTS, sizeof(part[0]), by_value);
	return part[PARTS / 2];
}

static struct lock lock;

static void lock_pairs(void)
{
	unsigned long i;

	for (i = 0; i < 2 * PAIRS; i++) {
		lock_acquire(&lock);
		lock_release(&lock);
	}
}

static void page_pairs(void)
{
	unsigned long i;

	for (i = 0; i < PAIRS; i++)
		buddy_free(buddy_alloc(0, 0, true, NULL), 0, true);
}

static void page_batches(void)
{
	static struct page *page[BATCH];
	unsigned long i;
	unsigned int k;

	for (i = 0; i < PAIRS / BATCH; i++) {
		for (k = 0; k < BATCH; k++)
			page[k] = buddy_alloc(0, 0, true, NULL);
		for (k = 0; k < BATCH; k++)
			buddy_free(page[k], 0, true);
	}
}

static unsigned int stop;

static void *disturb(__attribute__((unused)) void *arg)
{
	while (!load_relaxed(&stop))
		buddy_free(buddy_alloc(0, 0, true, NULL), 0, true);
	return NULL;
}

static bool run(void)
{
	struct page *neighbour;
	double pair;
	pthread_t other;

	printf("%-58s %7.1f\n", "two takes and releases of a free lock",
	       measure(lock_pairs, PAIRS));
	printf("%-58s %7.1f\n", "alloc + free, out of a whole block of 4 MiB (10 splits)",
	       measure(page_pairs, PAIRS));
	neighbour = buddy_alloc(0, 0, true, NULL);
	pair = measure(page_pairs, PAIRS);
	printf("%-58s %7.1f\n", "alloc + free, neighbour in use (no split)", pair);
	printf("%-58s %7.1f\n", "alloc + free, 512 pages and then 512 back",
	       measure(page_batches, PAIRS / BATCH * BATCH));
	if (pthread_create(&other, NULL, disturb, NULL) != 0)
		return false;
	printf("%-58s %7.1f\n", "alloc + free, another thread does nothing else",
	       measure(page_pairs, PAIRS));
	store_relaxed(&stop, 1);
	pthread_join(other, NULL);
	buddy_free(neighbour, 0, true);
	return pair < 1000;
}

int main(void)
{
	os_cpu_init();
	if (buddy_nr_nodes == 0 && arena_init(os_topology.nr_cpu_ids) != 0)
		return 1;
	buddy_init(1);
	printf("%-58s %7s\n", "one page, one node", "ns");
	return run() ? 0 : 1;
}
