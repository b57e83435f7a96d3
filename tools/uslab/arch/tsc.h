/* SPDX-License-Identifier: MIT */
/*
 * uslab/arch/tsc.h - the CPU's own clock, for the tools
 *
 * Contract: ARCH_HAS_TSC: 1 where there is such a clock, else 0, and the functions must not be
 *           called.
 *           uint64_t tsc_start(void): { all earlier instructions are done; ticks = clock;
 *           no later one begins before; return ticks }
 *           uint64_t tsc_end(void): the same, cheaper, to be called after a tsc_start().
 */
#ifndef TOOLS_ARCH_TSC_H
#define TOOLS_ARCH_TSC_H

#include <stdint.h>

#if defined(__x86_64__)

#define ARCH_HAS_TSC 1

static inline uint64_t tsc_start(void)
{
	uint64_t ticks;

	__builtin_ia32_lfence();
	ticks = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
	return ticks;
}

static inline uint64_t tsc_end(void)
{
	unsigned int cpu;			      /* comes with the ticks */
	uint64_t ticks = __builtin_ia32_rdtscp(&cpu); /* waits for earlier instructions */

	__builtin_ia32_lfence();
	return ticks;
}

#else

#define ARCH_HAS_TSC 0

static inline uint64_t tsc_start(void)
{
	return 0;
}

static inline uint64_t tsc_end(void)
{
	return 0;
}

#endif

#endif /* TOOLS_ARCH_TSC_H */
