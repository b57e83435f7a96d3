/* SPDX-License-Identifier: MIT */
/*
 * os/time/clock.c - time for delays: coarse and cheap
 *
 * Data:       none.
 * Invariants: monotonic: the kernel's clock is.
 * Locks:      none.
 * Flow:       see clock.h; calls clock_gettime (vDSO, no system call).
 */
#include <time.h>

#include "os/time/clock.h"

uint64_t os_clock_ms(void)
{
	struct timespec now = { 0, 0 };

	/* Cannot fail: the clock exists since Linux 2.6.32. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t os_clock_us(void)
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
