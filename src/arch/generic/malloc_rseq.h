/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/malloc_rseq.h - no restartable sequences: every pop and push misses
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       included by arch/malloc_rseq.h, which has the contract; the caller's slow path works
 *             on the same objects through front/.
 */
#ifndef ARCH_GENERIC_MALLOC_RSEQ_H
#define ARCH_GENERIC_MALLOC_RSEQ_H

#include "base/compiler.h"

static always_inline bool arch_malloc_pop(char *base, const unsigned char *class, ptrdiff_t rseq,
					  void **obj)
{
	(void)base;
	(void)class;
	(void)rseq;
	(void)obj;
	return false;
}

static always_inline bool arch_malloc_push(char *base, unsigned long class, ptrdiff_t rseq,
					   void *obj)
{
	(void)base;
	(void)class;
	(void)rseq;
	(void)obj;
	return false;
}

static always_inline bool arch_malloc_put(char *base, unsigned long class, ptrdiff_t rseq,
					  void *obj)
{
	return arch_malloc_push(base, class, rseq, obj);
}

static always_inline size_t arch_malloc_push_run(void *handle, ptrdiff_t rseq, size_t nr,
						 void *const *p, uintptr_t slab, size_t bytes)
{
	(void)handle;
	(void)rseq;
	(void)nr;
	(void)p;
	(void)slab;
	(void)bytes;
	return 0;
}

#endif /* ARCH_GENERIC_MALLOC_RSEQ_H */
