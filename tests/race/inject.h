/* SPDX-License-Identifier: MIT */
/*
 * race/inject.h - a copy of front/percpu.c, front/array.c, front/array_bulk.c and
 * front/array_exchange.c with delays and mutations in it
 *
 * For one C file of a program, in the place of <uslab/slab.h>. The linker then leaves the library's
 * own objects of these files out. Places: see <uslab/arch/...> and arch/rseq_ops.h.
 */
#ifndef RACE_INJECT_H
#define RACE_INJECT_H

#include <sched.h>

#include "delay.h"

#define COMMIT_FIRST BROKEN(2, "movq %[new_value], (%[word])")
#define CLOSED_UNSEEN BROKEN(4, "jmp 6f")

#define INJECT_1 NOT_RESTARTED DELAY(1)
#define INJECT_2 DELAY(2)
#define INJECT_3 DELAY(3)
#define INJECT_4 NOT_RESTARTED DELAY(4)
#define INJECT_5 DELAY(5)
#define INJECT_6 DELAY(6)
#define INJECT_7 NOT_RESTARTED DELAY(7)
#define INJECT_8 DELAY(8)
#define INJECT_9 NOT_RESTARTED COMMIT_FIRST DELAY(9)
#define INJECT_10 DELAY(10) CLOSED_UNSEEN
#define INJECT_11 "6:\n\t" DELAY(11)
#define INJECT_12 NOT_RESTARTED DELAY(12)
#define INJECT_13 DELAY(13)
#define INJECT_14 DELAY(14)
#define INJECT_15 DELAY(15)
#define INJECT_22 NOT_RESTARTED DELAY(22)
#define INJECT_23 DELAY(23)
#define INJECT_24 DELAY(24)
#define INJECT_25 NOT_RESTARTED DELAY(25)
#define INJECT_26 DELAY(26)
#define INJECT_27 DELAY(27)
#define INJECT_28 NOT_RESTARTED DELAY(28)
#define INJECT_29 DELAY(29)
#define INJECT_30 DELAY(30)
#define INJECT_31 NOT_RESTARTED DELAY(31)
#define INJECT_32 DELAY(32)
#define INJECT_33 DELAY(33)
#define INJECT_34 NOT_RESTARTED DELAY(34)
#define INJECT_35 DELAY(35)
#define INJECT_36 DELAY(36)
#define INJECT_37 NOT_RESTARTED DELAY(37)
#define INJECT_38 DELAY(38)
#define INJECT_39 DELAY(39)
#define INJECT_40 NOT_RESTARTED DELAY(40)
#define INJECT_41 DELAY(41)
#define INJECT_42 DELAY(42)
#define INJECT_43 NOT_RESTARTED DELAY(43)
#define INJECT_44 DELAY(44)
#define INJECT_45 DELAY(45)
#define PLACES 46

#include <uslab/slab.h>

#if USLAB_HAVE_RSEQ

RACE_TABLES

#include "os/cpu/rseq.h"

enum {
	BROKEN_RESTART = 1, /* sequences go on where they were interrupted */
	BROKEN_ORDER = 2,   /* an install stores first and then looks */
	BROKEN_CLOSED = 4,  /* an install does not look at front.closed */
	BROKEN_FENCE = 8,   /* a drain does not wait for sequences in flight */
	BROKEN_RETRY = 16,  /* a drain does not look whether its exchange was overwritten */
	BROKEN_SETTLE = 32, /* front_close() and set_capacity() do not wait for installs */
	BROKEN_GATE = 64,   /* an install takes the sheaf's capacity for the front's */
	BROKEN_GONE = 128,  /* a CPU that gives up its array leaves the word of a drain */
	BROKEN_MOVED = 256, /* an install replaces the word of a place that is left */
	BROKEN_KEY = 512,   /* an array is installed with the key of the owner before */
};

static __thread int race_skip; /* loads until place 0 */

static void spin(int loops)
{
	for (volatile int i = 0; i < loops; i++) {}
}

/* A drain is slow on both sides of its fences, by turns. */
static int race_fence(unsigned int cpu)
{
	static unsigned int turn;
	int loops = (int)((turn += 37) % 128);
	int ret;

	spin(loops & 1 ? 20 * loops : 0);
	ret = race_broken & BROKEN_FENCE ? 0 : os_rseq_fence(cpu);
	spin(loops & 2 ? 20 * loops : 0);
	return ret;
}

#include "base/atomic.h"
#include "base/bits.h"
#include "os/time/clock.h"

static unsigned int race_moves;	 /* of words to the other place; atomic */
static unsigned int race_awaits; /* how often one was waited for; atomic */

/* Until *word is another one, whatever the fences of a move take; but not for ever. */
static void await_change(const unsigned int *word, unsigned int before, unsigned int ms)
{
	uint64_t end = os_clock_ms() + ms;

	while (load_relaxed(word) == before && os_clock_ms() < end)
		sched_yield();
}

/* A move that is not seen has to lie in the delay as a whole. */
static void await_move(void)
{
	unsigned int before = load_relaxed(&race_moves);

	fetch_add(&race_awaits, 1);
	await_change(&race_moves, before, 100);
}

/* Place 0: before one of the loads of the C code around the sequences. */
static inline void race_delay_load(void)
{
	if (race_delay[0] > 0 && race_skip-- <= 0) {
		if (race_broken & BROKEN_MOVED)
			await_move();
		else
			spin(race_delay[0]);
		race_delay[0] = 0;
	}
}

/* The drain's look at the word after the fence is the only load_acquire() of percpu.c. */
#undef load_acquire
#define load_acquire(p) (race_broken & BROKEN_RETRY ? left : __atomic_load_n((p), __ATOMIC_ACQUIRE))
#define os_rseq_fence race_fence
#include "front/percpu.c"
#undef os_rseq_fence
#undef load_acquire
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

#include "front/depot.h"
#include "front/front.h"
#define percpu_settle(cpu) (race_broken & BROKEN_SETTLE ? 0 : percpu_settle(cpu))
#define sheaf_capacity(top) (race_broken & BROKEN_GATE ? MAX(f->capacity, 1u) : sheaf_capacity(top))
#define front_gone_word (race_broken & BROKEN_GONE ? front_stop_word : front_gone_word)
#define front_moved_word (race_broken & BROKEN_MOVED ? 0 : front_moved_word)

#undef load_relaxed
#define load_relaxed(p) (race_delay_load(), __atomic_load_n((p), __ATOMIC_RELAXED))
#include "front/array.c"
#include "front/array_bulk.c"
#include "front/array_exchange.c"
#undef percpu_settle
#undef sheaf_capacity
#undef front_gone_word
#undef front_moved_word
#undef load_relaxed
#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)

#endif /* USLAB_HAVE_RSEQ */
#endif /* RACE_INJECT_H */
