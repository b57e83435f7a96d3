/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/dwcas.h - the compiler's 16-byte compare and swap
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/dwcas.h.
 * Flow:       included by arch/dwcas.h only.
 */
#ifndef ARCH_GENERIC_DWCAS_H
#define ARCH_GENERIC_DWCAS_H

static inline bool arch_dwcas(struct dword *p, struct dword expect, struct dword update)
{
	return __atomic_compare_exchange(p, &expect, &update, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE);
}

#endif /* ARCH_GENERIC_DWCAS_H */
