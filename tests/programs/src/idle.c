/* SPDX-License-Identifier: MIT */
/*
 * idle.c - blocks of all sizes up to 32 KiB come and go on one CPU, then on another one; then the
 * program goes on with few sizes
 *
 * Prints how many KiB of its own are resident before that and after so many ms: argument 1.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20
#define OF_EACH 20
#define MOST 4000

static void *blocks[MOST];

/* The n-th CPU that the process may run on, if there are so many. */
static void move_to(int n)
{
	cpu_set_t set, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && n-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one))
		sched_setaffinity(0, sizeof(one), &one);
}

static void take(int n, size_t size)
{
	blocks[n] = malloc(size);
	if (!blocks[n])
		exit(1);
	memset(blocks[n], 1, size);
}

static void all_sizes(void)
{
	int n = 0;

	for (size_t size = 16; size <= 32768; size += size < 128 ? 16 : size / 8)
		for (int i = 0; i < OF_EACH; i++)
			take(n++, size);
	while (n)
		free(blocks[--n]);
}

static void few_sizes(int turn)
{
	for (int i = 0; i < 600; i++)
		take(i, 100 + (size_t)(turn + i) % 400);
	for (int i = 0; i < 600; i++)
		free(blocks[i]);
}

static long resident_kib(void)
{
	long size, resident, shared;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld %ld", &size, &resident, &shared) != 3)
		exit(1);
	fclose(f);
	return (resident - shared) * (sysconf(_SC_PAGESIZE) / 1024);
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long before, end = now_ms() + (argc > 1 ? atol(argv[1]) : 0);
	cpu_set_t all;

	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < 2; cpu++) {
		sched_setaffinity(0, sizeof(all), &all);
		move_to(cpu);
		for (int i = 0; i < TURNS; i++)
			all_sizes();
	}
	before = resident_kib();
	for (int turn = 0; now_ms() < end; turn++) {
		few_sizes(turn);
		usleep(1000);
	}
	printf("%ld %ld\n", before, resident_kib());
	return 0;
}
