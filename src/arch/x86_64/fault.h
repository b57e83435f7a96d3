/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/fault.h - what a signal's context says of the instruction that faulted
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/fault.h.
 * Flow:       included by arch/fault.h only.
 */
#ifndef ARCH_X86_64_FAULT_H
#define ARCH_X86_64_FAULT_H

#include <ucontext.h>

/* Bits of the error code of a page fault. */
#define ARCH_FAULT_WRITE 2
#define ARCH_FAULT_FETCH 16

static inline uintptr_t arch_fault_pc(const void *context)
{
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

static inline bool arch_fault_is_write(const void *context, const void *address)
{
	(void)address;
	return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & ARCH_FAULT_WRITE;
}

static inline bool arch_fault_is_fetch(const void *context, const void *address)
{
	(void)address;
	return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & ARCH_FAULT_FETCH;
}

static inline uintptr_t arch_fault_sp(const void *context)
{
	return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
}

static inline uintptr_t arch_fault_link(const void *context)
{
	(void)context;
	return 0;
}

#endif /* ARCH_X86_64_FAULT_H */
