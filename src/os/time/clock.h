/* SPDX-License-Identifier: MIT */
/*
 * os/time/clock.h - time for delays: coarse and cheap
 *
 * Data:       none.
 * Invariants: monotonic.
 * Locks:      none.
 * Flow:       called by every floor.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "base/compiler.h"

/* Milliseconds of CLOCK_MONOTONIC_COARSE (resolution about 4 ms, a few ns to read). */
uint64_t os_clock_ms(void);

/* Microseconds of CLOCK_MONOTONIC. */
uint64_t os_clock_us(void);

/*
 * From now on both tell what this function says, in us, which must not go back; NULL: the kernel's
 * again. For who plays in less time what took longer. Context: no other thread uses the library.
 */
void os_clock_play(uint64_t (*us)(void));

#endif /* OS_CLOCK_H */
