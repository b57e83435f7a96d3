/* SPDX-License-Identifier: MIT */
/*
 * arch/aarch64/fault.h - what a signal's context says of the instruction that faulted
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/fault.h.
 * Flow:       included by arch/fault.h only.
 *
 * The kernel's syndrome is not in every frame (emulators leave it out), the instruction always is.
 */
#ifndef ARCH_AARCH64_FAULT_H
#define ARCH_AARCH64_FAULT_H

#include <ucontext.h>

static inline uintptr_t arch_fault_pc(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.pc;
}

static inline uintptr_t arch_fault_sp(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.sp;
}

static inline uintptr_t arch_fault_link(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.regs[30];
}

static inline bool arch_fault_is_fetch(const void *context, const void *address)
{
	return arch_fault_pc(context) == (uintptr_t)address;
}

/* Does it write? By the tables of the manual: "Loads and Stores", and DC ZVA. */
static inline bool arch_insn_writes(uint32_t insn)
{
	if ((insn & 0xffffffe0) == 0xd50b7420) /* DC ZVA, by which memset() clears */
		return true;
	if ((insn & 0x0a000000) != 0x08000000) /* no load or store */
		return false;
	if ((insn & 0x3b000000) == 0x18000000) /* of a literal: loads */
		return false;
	if ((insn & 0x3f200c00) == 0x38200000) /* atomic operations */
		return true;
	if ((insn & 0x3c000000) == 0x38000000) /* of one register: 0 stores, 1 to 3 load */
		return (insn & 0x00c00000) == 0;
	return (insn & 0x00400000) == 0;
}

static inline bool arch_fault_is_write(const void *context, const void *address)
{
	return !arch_fault_is_fetch(context, address) &&
	       arch_insn_writes(*(const uint32_t *)arch_fault_pc(context));
}

#endif /* ARCH_AARCH64_FAULT_H */
