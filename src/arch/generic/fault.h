/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/fault.h - what a signal's context says of the instruction that faulted: nothing
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/fault.h.
 * Flow:       included by arch/fault.h only.
 */
#ifndef ARCH_GENERIC_FAULT_H
#define ARCH_GENERIC_FAULT_H

static inline uintptr_t arch_fault_pc(const void *context)
{
	(void)context;
	return 0;
}

static inline bool arch_fault_is_write(const void *context, const void *address)
{
	(void)context, (void)address;
	return false;
}

static inline bool arch_fault_is_fetch(const void *context, const void *address)
{
	(void)context, (void)address;
	return false;
}

static inline uintptr_t arch_fault_sp(const void *context)
{
	(void)context;
	return 0;
}

static inline uintptr_t arch_fault_link(const void *context)
{
	(void)context;
	return 0;
}

#endif /* ARCH_GENERIC_FAULT_H */
