/* SPDX-License-Identifier: MIT */
/*
 * programs/src/turns.c - a program that takes the same memory in turns, and then is done with it
 *
 * usage: turns BLOCKS BYTES [SIZES]
 *
 * Takes that many blocks, writes all of their bytes, and frees them all, TURNS times; with SIZES
 * then likewise as many bytes in blocks of 64 bytes, or a quarter of BYTES, more, that many times.
 * Then works for SECONDS with a few small blocks.
 * Writes "<page faults of a turn> <pages of a turn> <KiB resident after the turns> <KiB at the
 * end> <KiB at the peak> <per cent of the time on a CPU>"; faults and time are those of the last
 * half of the first turns.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20u
#define SECONDS 3u /* at least */
#define PAGE 4096ul
#define SMALL 300u

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = -1;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1) {
		perror("turns: /proc/self/statm");
		exit(1);
	}
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

/* Not the allocator's, for which there is next to nothing else in use. NULL: no memory. */
static char **table_of(size_t nr)
{
	void *p = mmap(NULL, nr * sizeof(char *), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void take_turn(char **block, size_t nr, size_t bytes)
{
	for (size_t i = 0; i < nr; i++) {
		block[i] = malloc(bytes);
		if (!block[i]) {
			perror("turns");
			exit(1);
		}
		memset(block[i], 1, bytes);
	}
	for (size_t i = 0; i < nr; i++)
		free(block[i]);
}

/* 100 blocks of 100 to 3100 bytes are replaced, then a pause of a millisecond. */
static void work_on(void)
{
	static char *block[SMALL];
	time_t end = time(NULL) + SECONDS + 1;
	unsigned int at = 0;

	while (time(NULL) < end) {
		for (unsigned int i = 0; i < 100; i++, at += 7) {
			free(block[at % SMALL]);
			block[at % SMALL] = calloc(1, 100 + at % 3000);
		}
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	size_t nr = argc >= 3 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
	size_t sizes = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	char **block = nr && bytes ? table_of(nr) : NULL;
	double time = 0, cpu = 0;
	long faults = 0;
	long resident;

	if (!block) {
		fprintf(stderr, "usage: turns BLOCKS BYTES [SIZES]\n");
		return 2;
	}
	for (unsigned int turn = 0; turn < TURNS; turn++) {
		if (turn == TURNS / 2) {
			faults = page_faults();
			time = now(CLOCK_MONOTONIC);
			cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		}
		take_turn(block, nr, bytes);
	}
	time = now(CLOCK_MONOTONIC) - time;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	faults = (page_faults() - faults) / (long)(TURNS - TURNS / 2);
	for (size_t i = 1; i < sizes; i++) {
		size_t larger = bytes + i * (bytes / 4 > 64 ? bytes / 4 : 64);

		for (unsigned int turn = 0; turn < TURNS; turn++)
			take_turn(block, nr * bytes / larger, larger);
	}
	resident = resident_kib();
	work_on();
	printf("%ld %lu %ld %ld %ld %.0f\n", faults, nr * bytes / PAGE, resident, resident_kib(),
	       peak_kib(), cpu / time * 100);
	return 0;
}
