/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/unwind.h - what a stack looks like on x86-64
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/unwind.h.
 * Flow:       included by arch/unwind.h only.
 */
#ifndef ARCH_X86_64_UNWIND_H
#define ARCH_X86_64_UNWIND_H

#define ARCH_HAS_CFI 1

/* Figure 3.36 of the System V ABI for AMD64. */
#define ARCH_CFI_SP 7
#define ARCH_CFI_FP 6
#define ARCH_CFI_RA 16

/* In a ucontext_t, with which the kernel's signal frame begins: uc_mcontext.gregs[] is at 40. */
#define ARCH_SIGNAL_FP (40 + 10 * 8)
#define ARCH_SIGNAL_SP (40 + 15 * 8)
#define ARCH_SIGNAL_PC (40 + 16 * 8)

#endif /* ARCH_X86_64_UNWIND_H */
