/* SPDX-License-Identifier: MIT */
/*
 * os/process/random.c - a random word for free pointer encoding and shuffles
 *
 * Data:       calls: how often the fallback was asked, so that it never repeats itself.
 * Invariants: never blocks, never fails; errno is preserved.
 * Locks:      none; calls is atomic.
 * Flow:       see random.h; calls getrandom(2), getauxval.
 */
#include <linux/random.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "base/atomic.h"
#include "base/mix.h"
#include "os/process/random.h"
#include "os/sys.h"

#ifndef GRND_INSECURE
#define GRND_INSECURE 4u /* headers before Linux 5.6 */
#endif

static uint64_t calls; /* atomic; read by nobody else */

/* Every bit of the result depends on every bit of x, also of 0. */
static uint64_t mix(uint64_t x)
{
	return mix_bits(x + MIX_GOLDEN);
}

/* Without getrandom (kernel older than 3.17, a seccomp filter): what differs between processes. */
static uint64_t fallback(void)
{
	int saved = errno; /* getauxval changes it when the entry is missing */
	const void *seed = (const void *)getauxval(AT_RANDOM);
	struct timespec now = { 0, 0 };
	uint64_t word[2] = { 0, 0 };

	if (seed)
		memcpy(word, seed, sizeof(word)); /* 16 bytes, given by the kernel at exec */
	clock_gettime(CLOCK_MONOTONIC, &now);
	errno = saved;
	word[0] ^= mix((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30);
	word[1] ^= mix(fetch_add(&calls, 1) + 1) ^ (uintptr_t)&now;
	return mix(mix(word[0]) ^ word[1]);
}

uint64_t os_random(void)
{
	/* INSECURE: does not wait for a pool that is not filled yet; unknown before Linux 5.6. */
	static const unsigned int flags[] = { GRND_INSECURE, GRND_NONBLOCK };
	uint64_t word;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (os_syscall(SYS_getrandom, &word, sizeof(word), flags[i]) == sizeof(word))
			return word;
	return fallback();
}
