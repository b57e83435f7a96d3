/* SPDX-License-Identifier: MIT */
/*
 * uslab/clock.c - a clock fine enough for one allocation, and what reading it costs
 *
 * Data:       use_tsc: which clock; written by clock_calibrate() before anything is measured.
 * Flow:       called by replay/, compare/, fs/fs_snapshot.c, top/top_keys.c, bench/protocols.h
 *             and bench/latency.h; calls arch/tsc.h. Out: ticks, and what a tick is.
 *
 * The CPU's time stamp counter (arch/tsc.h) serves when the kernel says that its rate is constant
 * and that it runs on in sleep; otherwise, and on other CPUs, clock_gettime() does, which costs
 * more and therefore blurs the shortest durations.
 */
#include "clock.h"
#include "arch/tsc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALIBRATION_NS 20000000u
#define NR_PAIRS 10001u
#define NR_LOOKS 16

static bool use_tsc;

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_start(void)
{
	return use_tsc ? tsc_start() : clock_ns();
}

uint64_t clock_end(void)
{
	return use_tsc ? tsc_end() : clock_ns();
}

/* Does the kernel say that the counter's rate never changes? */
static bool tsc_is_steady(void)
{
	FILE *file = ARCH_HAS_TSC ? fopen("/proc/cpuinfo", "re") : NULL;
	char line[16384];
	bool steady = false;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "flags", 5))
			continue;
		steady = strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc") &&
			 strstr(line, " rdtscp");
		break;
	}
	fclose(file);
	return steady;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The largest step of which all durations are multiples. */
static uint64_t find_resolution(const uint64_t *sorted, unsigned int nr)
{
	uint64_t step = 0;

	for (unsigned int i = 0; i < nr; i++) {
		uint64_t rest = sorted[i];

		while (rest) {
			uint64_t previous = rest;

			rest = step % rest;
			step = previous;
		}
	}
	return step ? step : 1;
}

/*
 * A coarse clock shows few different values, the true ones lie up to half a step around them: the
 * median is the point of that interval which its rank among the equal values points at.
 */
static double find_median(const uint64_t *sorted, unsigned int nr, uint64_t step)
{
	uint64_t middle = sorted[nr / 2];
	unsigned int below = 0;
	unsigned int equal = 0;

	for (unsigned int i = 0; i < nr; i++) {
		below += sorted[i] < middle;
		equal += sorted[i] == middle;
	}
	return (double)middle + (double)step * ((nr / 2.0 - below) / equal - 0.5);
}

/* Both clocks at one time: of several looks the one between which the thread was not away. */
static void read_both(uint64_t *ns, uint64_t *ticks)
{
	uint64_t shortest = UINT64_MAX;

	for (unsigned int i = 0; i < NR_LOOKS; i++) {
		uint64_t before = clock_start();
		uint64_t now = clock_ns();
		uint64_t took = clock_start() - before;

		if (took >= shortest)
			continue;
		shortest = took;
		*ns = now;
		*ticks = before + took / 2;
	}
}

void clock_calibrate(struct clock_info *info)
{
	static uint64_t pair[NR_PAIRS];
	uint64_t ns = 0, ticks = 0, end_ns = 0, end_ticks = 0;

	use_tsc = tsc_is_steady();
	info->source = use_tsc ? "tsc" : "clock_gettime";
	read_both(&ns, &ticks);
	for (unsigned int i = 0; i < NR_PAIRS; i++) {
		uint64_t start = clock_start();

		pair[i] = clock_end() - start;
	}
	qsort(pair, NR_PAIRS, sizeof(pair[0]), compare);
	info->resolution = find_resolution(pair, NR_PAIRS);
	info->overhead = find_median(pair, NR_PAIRS, info->resolution);
	while (clock_ns() - ns < CALIBRATION_NS)
		continue;
	read_both(&end_ns, &end_ticks);
	info->ns_per_tick = use_tsc ? (double)(end_ns - ns) / (double)(end_ticks - ticks) : 1.0;
}
