/* SPDX-License-Identifier: MIT */
/*
 * arch/unwind.h - what a stack looks like on this CPU
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used by os/unwind/; includes the file of this CPU.
 *
 * Contract: ARCH_HAS_CFI: 1 where the unwind tables (.eh_frame, DWARF's call frame information)
 *           of this CPU are understood, else 0.
 *           ARCH_CFI_SP, ARCH_CFI_FP, ARCH_CFI_RA: its numbers of the stack pointer, of the frame
 *           pointer and of the return address, which lies at CFA - 8 (CFA: the stack pointer
 *           before the call). Where ARCH_HAS_CFI is 0 they are 0 and not used.
 *           ARCH_SIGNAL_SP, ARCH_SIGNAL_FP, ARCH_SIGNAL_PC: where the kernel has put the registers
 *           of what a signal handler interrupted; bytes from the stack pointer after the handler's
 *           return.
 */
#ifndef ARCH_UNWIND_H
#define ARCH_UNWIND_H

#if defined(__x86_64__)
#include "arch/x86_64/unwind.h"
#else
#include "arch/generic/unwind.h"
#endif

#endif /* ARCH_UNWIND_H */
