/* SPDX-License-Identifier: MIT */
/*
 * uslab/clock.h - a clock fine enough for one allocation, and what reading it costs
 *
 * Ticks are those of the CPU's time stamp counter where it runs at a constant rate, else
 * nanoseconds of CLOCK_MONOTONIC. A duration is clock_end() - clock_start() less the cost of the
 * pair, which clock_calibrate() measures.
 */
#ifndef TOOLS_CLOCK_H
#define TOOLS_CLOCK_H

#include <stdint.h>

struct clock_info {
	const char *source;  /* "tsc" or "clock_gettime" */
	double overhead;     /* ticks between a start and an end with nothing in between (median) */
	uint64_t resolution; /* ticks: all durations are multiples of it. AMD: some 10 ns */
	double ns_per_tick;
};

/* Takes about 20 ms. Call once, before the others. */
void clock_calibrate(struct clock_info *info);

/* Ticks. Earlier instructions are done before, no later one begins before the clock was read. */
uint64_t clock_start(void);
uint64_t clock_end(void);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_ns(void);

#endif /* TOOLS_CLOCK_H */
