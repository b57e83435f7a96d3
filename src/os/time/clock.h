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

#endif /* OS_CLOCK_H */
