/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/cpu.h - small facts and words of the CPU
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/cpu.h.
 * Flow:       included by arch/cpu.h only.
 */
#ifndef ARCH_X86_64_CPU_H
#define ARCH_X86_64_CPU_H

#define ARCH_HAS_SEQUENCES 1

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

/*
 * __builtin_prefetch gives prefetcht0 without -mprfchw: the line comes
 * shared, and is asked for twice.
 */
static inline void arch_prefetch_write(const void *p)
{
	__asm__ volatile("prefetchw %[line]" : : [line] "m"(*(const char *)p));
}

#endif /* ARCH_X86_64_CPU_H */
