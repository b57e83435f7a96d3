/* SPDX-License-Identifier: MIT */
/*
 * arch/riscv64/frame.h - frames of 64-bit RISC-V
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/frame.h.
 * Flow:       included by arch/frame.h only.
 */
#ifndef ARCH_RISCV64_FRAME_H
#define ARCH_RISCV64_FRAME_H

/* "Frame Pointer Convention" of the RISC-V ELF psABI: s0 points behind both. */
#define ARCH_FRAME_RECORD (-2)

static inline uintptr_t arch_code_address(uintptr_t word)
{
	return word;
}

#endif /* ARCH_RISCV64_FRAME_H */
