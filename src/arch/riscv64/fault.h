/* SPDX-License-Identifier: MIT */
/*
 * arch/riscv64/fault.h - what a signal's context says of the instruction that faulted
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/fault.h.
 * Flow:       included by arch/fault.h only.
 *
 * The frame has no cause of the fault, but where the instruction is.
 */
#ifndef ARCH_RISCV64_FAULT_H
#define ARCH_RISCV64_FAULT_H

#include <ucontext.h>

/* Numbers of registers; that of the program counter takes the place of the zero register. */
#define ARCH_FAULT_REG_PC 0
#define ARCH_FAULT_REG_RA 1
#define ARCH_FAULT_REG_SP 2

static inline uintptr_t arch_fault_pc(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.__gregs[ARCH_FAULT_REG_PC];
}

static inline uintptr_t arch_fault_sp(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.__gregs[ARCH_FAULT_REG_SP];
}

static inline uintptr_t arch_fault_link(const void *context)
{
	return ((const ucontext_t *)context)->uc_mcontext.__gregs[ARCH_FAULT_REG_RA];
}

/* The second half of it may lie in another page. */
static inline bool arch_fault_is_fetch(const void *context, const void *address)
{
	return (uintptr_t)address - arch_fault_pc(context) < 4;
}

/* Does it write? p: its first half; compressed ones have no more. */
static inline bool arch_insn_writes(const uint16_t *p)
{
	if ((p[0] & 3) != 3) /* quadrants 0 and 2: from the fifth function on they store */
		return !(p[0] & 1) && p[0] >> 13 >= 5;
	switch (p[0] & 0x7f) {
	case 0x23: /* STORE */
	case 0x27: /* STORE-FP */
		return true;
	case 0x2f: /* AMO: all but load-reserved */
		return p[1] >> 11 != 2;
	}
	return false;
}

static inline bool arch_fault_is_write(const void *context, const void *address)
{
	return !arch_fault_is_fetch(context, address) &&
	       arch_insn_writes((const uint16_t *)arch_fault_pc(context));
}

#endif /* ARCH_RISCV64_FAULT_H */
