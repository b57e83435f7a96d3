/* SPDX-License-Identifier: MIT */
/*
 * arch/fault.h - what a signal's context says of the instruction that faulted
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used by os/memory/fault.c.
 *
 * Contract: context is the third argument of a SA_SIGINFO handler.
 *           uintptr_t arch_fault_pc(const void *context): its address; 0: not known here.
 *           bool arch_fault_is_write(context, address): did it write? false where it is not known.
 *           bool arch_fault_is_fetch(context, address): was the instruction itself not to be had?
 *           false where it is not known.
 *           uintptr_t arch_fault_sp(const void *context): the stack pointer; 0: not known here.
 *           uintptr_t arch_fault_link(const void *context): where the function that was just called
 *           returns to, if a register says so; 0: the stack does.
 *           address: the one that could not be accessed.
 */
#ifndef ARCH_FAULT_H
#define ARCH_FAULT_H

#include "base/compiler.h"

#if defined(__x86_64__)
#include "arch/x86_64/fault.h"
#elif defined(__aarch64__)
#include "arch/aarch64/fault.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64/fault.h"
#else
#include "arch/generic/fault.h"
#endif

#endif /* ARCH_FAULT_H */
