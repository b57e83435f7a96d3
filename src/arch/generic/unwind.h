/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/unwind.h - a CPU whose unwind tables nobody described: frame pointers only
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/unwind.h.
 * Flow:       included by arch/unwind.h only.
 */
#ifndef ARCH_GENERIC_UNWIND_H
#define ARCH_GENERIC_UNWIND_H

#define ARCH_HAS_CFI 0
#define ARCH_CFI_SP 0
#define ARCH_CFI_FP 0
#define ARCH_CFI_RA 0
#define ARCH_SIGNAL_FP 0
#define ARCH_SIGNAL_SP 0
#define ARCH_SIGNAL_PC 0

#endif /* ARCH_GENERIC_UNWIND_H */
