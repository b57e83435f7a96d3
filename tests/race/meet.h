/* SPDX-License-Identifier: MIT */
/*
 * race/meet.h - two threads begin and end rounds together
 */
#ifndef RACE_MEET_H
#define RACE_MEET_H

#include <sched.h>

#include "base/atomic.h"

#define MEET_SPIN 65536 /* looks, before the CPU is given up: that may take milliseconds */

/* Both come here before and after each round, and see what the other one has written so far. */
static void meet(void)
{
	static unsigned int round_of_both; /* how often both have begun one; atomic */
	static unsigned int arrived;	   /* atomic */
	unsigned int turn = load_acquire(&round_of_both); /* pairs with the release below */

	/* releases what the first one has written to the last one, which releases all of it */
	if (__atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL) == 1) {
		store_relaxed(&arrived, 0);
		store_release(&round_of_both, turn + 1); /* pairs with the acquires */
	}
	for (unsigned int i = 0; load_acquire(&round_of_both) == turn; i++)
		if (i % MEET_SPIN == MEET_SPIN - 1)
			sched_yield();
}

#endif /* RACE_MEET_H */
