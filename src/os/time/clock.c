/* SPDX-License-Identifier: MIT */
/*
 * os/time/clock.c - time for delays: coarse and cheap
 *
 * Data:       how the kernel's clock is read: found at the first call, then const.
 * Invariants: monotonic: the kernel's clock is.
 * Locks:      none; threads that look at once find the same.
 * Flow:       see clock.h; calls the vDSO (os/time/vdso.c), or where there is none the system call.
 *
 * Not libc's clock_gettime(): libraries such as libfaketime replace that, and have time jump, stand
 * still or run at another speed. Delays of this library and leases of tools, which know the
 * kernel's clock, would never end then, or at once.
 */
#include <time.h>

#include "base/atomic.h"
#include "os/sys.h"
#include "os/time/clock.h"
#include "os/time/vdso.h"

typedef int clock_fn(clockid_t clock, struct timespec *now);

static clock_fn find;
static clock_fn *read_clock = find; /* atomic */

static int by_system_call(clockid_t clock, struct timespec *now)
{
	return (int)os_syscall(SYS_clock_gettime, clock, now);
}

static cold int find(clockid_t clock, struct timespec *now)
{
	clock_fn *found = (clock_fn *)os_vdso_find("__vdso_clock_gettime");

	if (!found) /* its name on arm64 */
		found = (clock_fn *)os_vdso_find("__kernel_clock_gettime");
	if (!found)
		found = by_system_call;
	store_relaxed(&read_clock, found);
	return found(clock, now);
}

static uint64_t (*played_us)(void);

static int by_play(__attribute__((unused)) clockid_t clock, struct timespec *now)
{
	uint64_t us = played_us();

	now->tv_sec = (time_t)(us / 1000000);
	now->tv_nsec = (long)(us % 1000000 * 1000);
	return 0;
}

void os_clock_play(uint64_t (*us)(void))
{
	played_us = us;
	store_relaxed(&read_clock, us ? by_play : find);
}

uint64_t os_clock_ms(void)
{
	struct timespec now = { 0, 0 };

	/* Cannot fail: the clock exists since Linux 2.6.32. */
	load_relaxed (&read_clock)(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t os_clock_us(void)
{
	struct timespec now = { 0, 0 };

	load_relaxed (&read_clock)(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}
