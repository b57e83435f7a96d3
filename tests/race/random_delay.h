/* SPDX-License-Identifier: MIT */
/*
 * race/random_delay.h - a delay between two steps of what is compiled into a test
 *
 * It calls nothing that the tests replace.
 */
#ifndef RACE_RANDOM_DELAY_H
#define RACE_RANDOM_DELAY_H

#include <sched.h>
#include <stdlib.h>

/* One time in so many the CPU is given up; then fewer than loops turns of a loop. */
static inline void random_delay(unsigned int *seed, unsigned int one_in, unsigned int loops)
{
	unsigned int dice = (unsigned int)rand_r(seed);

	if (dice % one_in == 0)
		sched_yield();
	for (unsigned int i = 0; i < dice / one_in % loops; i++)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#endif /* RACE_RANDOM_DELAY_H */
