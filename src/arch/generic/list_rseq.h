/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/list_rseq.h - no restartable sequences: every pop and push misses
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by arch/list_rseq.h, which has the contract.
 */
#ifndef ARCH_GENERIC_LIST_RSEQ_H
#define ARCH_GENERIC_LIST_RSEQ_H

#include "base/compiler.h"

static always_inline void *arch_list_pop(const void *state, ptrdiff_t rseq, unsigned long link,
					 const char *base, unsigned long limit)
{
	(void)state;
	(void)rseq;
	(void)link;
	(void)base;
	(void)limit;
	return NULL;
}

static always_inline bool arch_list_push(const void *state, ptrdiff_t rseq, const void *slab,
					 void *obj, uintptr_t *slot)
{
	(void)state;
	(void)rseq;
	(void)slab;
	(void)obj;
	(void)slot;
	return false;
}

#endif /* ARCH_GENERIC_LIST_RSEQ_H */
