/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/dwcas.h - no compare and swap of two words: os/cpu/dword.c has a lock for it
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by arch/dwcas.h only.
 *
 * The compiler's own for 16 bytes is a call of libatomic, whose locks nobody
 * frees in a forked child.
 */
#ifndef ARCH_GENERIC_DWCAS_H
#define ARCH_GENERIC_DWCAS_H

#define ARCH_HAS_DWCAS 0

static inline bool arch_dwcas(struct dword *p, struct dword expect, struct dword update)
{
	(void)p, (void)expect, (void)update;
	return false;
}

#endif /* ARCH_GENERIC_DWCAS_H */
