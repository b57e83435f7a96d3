/* SPDX-License-Identifier: MIT */
/*
 * arch/aarch64/dwcas.h - a pair of exclusive loads and stores, which every such CPU has
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; contract in arch/dwcas.h.
 * Flow:       included by arch/dwcas.h only.
 */
#ifndef ARCH_AARCH64_DWCAS_H
#define ARCH_AARCH64_DWCAS_H

#define ARCH_HAS_DWCAS 1

/*
 * Two words that were loaded count as one only when they are stored again: so what differs from
 * expect may be torn, and is a failure, after which everybody reads again.
 */
static inline bool arch_dwcas(struct dword *p, struct dword expect, struct dword update)
{
	uint64_t lo, hi;
	uint32_t busy;

	__asm__ volatile("1: ldaxp %[lo], %[hi], %[mem]\n\t"
			 "eor %[lo], %[lo], %[expect_lo]\n\t"
			 "eor %[hi], %[hi], %[expect_hi]\n\t"
			 "orr %[lo], %[lo], %[hi]\n\t"
			 "cbnz %[lo], 2f\n\t"
			 "stlxp %w[busy], %[update_lo], %[update_hi], %[mem]\n\t"
			 "cbnz %w[busy], 1b\n"
			 "2: dmb ish"
			 : [lo] "=&r"(lo), [hi] "=&r"(hi), [busy] "=&r"(busy), [mem] "+Q"(*p)
			 : [expect_lo] "r"(expect.lo), [expect_hi] "r"(expect.hi),
			   [update_lo] "r"(update.lo), [update_hi] "r"(update.hi)
			 : "memory");
	return lo == 0;
}

#endif /* ARCH_AARCH64_DWCAS_H */
