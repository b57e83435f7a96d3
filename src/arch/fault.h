/* SPDX-License-Identifier: MIT */
/*
 * arch/fault.h - what a signal's context says of the instruction that faulted
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used by os/fault.c.
 *
 * Contract: context is the third argument of a SA_SIGINFO handler.
 *           uintptr_t arch_fault_pc(const void *context): its address; 0: not known here.
 *           bool arch_fault_is_write(const void *context): did it write? false where it is not known.
 *           bool arch_fault_is_fetch(const void *context): was the instruction itself not to be had? Likewise.
 *           uintptr_t arch_fault_sp(const void *context): the stack pointer; 0: not known here.
 */
#ifndef ARCH_FAULT_H
#define ARCH_FAULT_H

#include "base/compiler.h"

#if defined(__x86_64__)
#include "arch/x86_64/fault.h"
#else
#include "arch/generic/fault.h"
#endif

#endif /* ARCH_FAULT_H */
