/* SPDX-License-Identifier: MIT */
/*
 * arch/cpu.h - small facts and words of the CPU
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used by debug/kfence/kfence_fault.c, engine/slub/free.c, front/array_sheaf.h,
 *             front/depot_lane.h, os/cpu/rseq.c, os/lock/lock.c and page/buddy_range.c.
 *
 * Contract: void arch_pause(void): tells the CPU that this is a loop that waits for another CPU.
 *           void arch_prefetch_write(p): asks for p's cache line, to be written soon.
 *           ARCH_HAS_SEQUENCES: 1 where include/uslab/arch has restartable sequences, else 0.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#include "base/compiler.h"

#if defined(__x86_64__)
#include "arch/x86_64/cpu.h"
#else
#include "arch/generic/cpu.h"
#endif

#endif /* ARCH_CPU_H */
