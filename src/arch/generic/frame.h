/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/frame.h - frames of x86-64, and of CPUs that nobody described
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/frame.h.
 * Flow:       included by arch/frame.h only.
 */
#ifndef ARCH_GENERIC_FRAME_H
#define ARCH_GENERIC_FRAME_H

#define ARCH_FRAME_RECORD 0

static inline uintptr_t arch_code_address(uintptr_t word)
{
	return word;
}

#endif /* ARCH_GENERIC_FRAME_H */
