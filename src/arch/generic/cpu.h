/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/cpu.h - small facts and words of a CPU that nobody described
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/cpu.h.
 * Flow:       included by arch/cpu.h only.
 */
#ifndef ARCH_GENERIC_CPU_H
#define ARCH_GENERIC_CPU_H

#define ARCH_HAS_SEQUENCES 0

static inline void arch_pause(void)
{
}

static inline void arch_prefetch_write(const void *p)
{
	__builtin_prefetch(p, 1);
}

#endif /* ARCH_GENERIC_CPU_H */
