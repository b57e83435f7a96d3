/* SPDX-License-Identifier: MIT */
/*
 * arch/generic/rseq_ops.h - where there are no restartable sequences
 *
 * Data:       none.
 * Invariants: os_rseq_on is false in such a build, so percpu.c takes its
 *             locks and never comes here.
 * Locks:      none.
 * Flow:       included by arch/rseq_ops.h only.
 */
#ifndef ARCH_GENERIC_RSEQ_OPS_H
#define ARCH_GENERIC_RSEQ_OPS_H

static inline int arch_rseq_xchg(ptrdiff_t rseq, int cpu, uintptr_t *word, uintptr_t new_value,
				 uintptr_t *old)
{
	(void)rseq, (void)cpu, (void)word, (void)new_value, (void)old;
	return -1;
}

static inline int arch_rseq_cmp2_store(ptrdiff_t rseq, int cpu, uintptr_t *word, uintptr_t expect,
				       const uintptr_t *word2, uintptr_t expect2,
				       uintptr_t new_value)
{
	(void)rseq, (void)cpu, (void)word, (void)expect, (void)word2, (void)expect2;
	(void)new_value;
	return -1;
}

static inline int arch_rseq_cmp2_push(ptrdiff_t rseq, int cpu, uintptr_t *word, uintptr_t expect,
				      const uintptr_t *word2, uintptr_t expect2, uintptr_t *slot,
				      uintptr_t value)
{
	(void)rseq, (void)cpu, (void)word, (void)expect, (void)word2, (void)expect2;
	(void)slot, (void)value;
	return -1;
}

static inline size_t arch_rseq_pop_run(ptrdiff_t rseq, void *word, size_t nr, void **p)
{
	(void)rseq, (void)word, (void)nr, (void)p;
	return 0;
}

static inline size_t arch_rseq_push_run(ptrdiff_t rseq, void *word, size_t nr, void *const *p)
{
	(void)rseq, (void)word, (void)nr, (void)p;
	return 0;
}

static inline bool arch_rseq_pop_of(ptrdiff_t rseq, void *word, uint32_t owner, void **obj)
{
	(void)rseq, (void)word, (void)owner, (void)obj;
	return false;
}

static inline bool arch_rseq_push_of(ptrdiff_t rseq, void *word, uint32_t owner, void *obj)
{
	(void)rseq, (void)word, (void)owner, (void)obj;
	return false;
}

#endif /* ARCH_GENERIC_RSEQ_OPS_H */
