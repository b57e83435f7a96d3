/* SPDX-License-Identifier: MIT */
/*
 * arch/aarch64/frame.h - frames of aarch64
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/frame.h.
 * Flow:       included by arch/frame.h only.
 */
#ifndef ARCH_AARCH64_FRAME_H
#define ARCH_AARCH64_FRAME_H

#define ARCH_FRAME_RECORD 0

/*
 * Code that was compiled with -mbranch-protection saves return addresses with a signature in their
 * upper bits. XPACLRI takes it away; a CPU without signatures takes it for a NOP.
 */
static inline uintptr_t arch_code_address(uintptr_t word)
{
	register uintptr_t lr __asm__("x30") = word;

	__asm__("hint #7" : "+r"(lr));
	return lr;
}

#endif /* ARCH_AARCH64_FRAME_H */
