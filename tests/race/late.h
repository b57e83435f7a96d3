/* SPDX-License-Identifier: MIT */
/*
 * race/late.h - what happens before a per-CPU step of a front that is compiled into a test
 */
#ifndef RACE_LATE_H
#define RACE_LATE_H

#include "unit/front/exchange.h"

static __thread unsigned int seed;
static unsigned long moves; /* of all threads. Atomic */
static bool steady;	    /* nothing is injected */

/* One time in 16 others come first, one time in 32 the thread goes on elsewhere. */
static void inject(void)
{
	unsigned int dice = (unsigned int)rand_r(&seed) % 64;

	if (steady)
		return;
	if (dice < 4) {
		sched_yield();
	} else if (dice < 6) {
		fetch_add(&moves, 1);
		move_somewhere(&seed);
	}
}

#endif /* RACE_LATE_H */
