/* SPDX-License-Identifier: MIT */
/*
 * support/fake_clock.h - time passes when the test says so
 *
 * Include it in one file of a test: its functions are linked in place of os/time/clock.c, so that
 * what is young or old does not depend on how long the test has to wait for a CPU.
 */
#ifndef SUPPORT_FAKE_CLOCK_H
#define SUPPORT_FAKE_CLOCK_H

#include "base/atomic.h"
#include "os/time/clock.h"

static uint64_t fake_clock_now = 1000000; /* milliseconds */

uint64_t os_clock_ms(void)
{
	return load_relaxed(&fake_clock_now);
}

uint64_t os_clock_us(void)
{
	return os_clock_ms() * 1000;
}

static inline void fake_clock_pass(uint64_t ms)
{
	store_relaxed(&fake_clock_now, fake_clock_now + ms);
}

#endif /* SUPPORT_FAKE_CLOCK_H */
