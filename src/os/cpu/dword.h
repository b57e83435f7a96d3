/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/dword.h - compare and swap of two adjacent words, on every CPU
 *
 * Data:       none; struct dword is in arch/dwcas.h.
 * Invariants: words that dword_cas() changes nobody stores to in another way while they are shared.
 *             Each of them may be read at any time; a pair that was read is
 *             proved by dword_cas() only.
 * Locks:      none where the CPU has the instruction; else see dword.c.
 * Flow:       called by cache/fork.c, engine/slub/slab.h and engine/slub/try.c; calls arch/dwcas.h,
 *             os/lock/lock.c.
 */
#ifndef OS_DWORD_H
#define OS_DWORD_H

#include "arch/dwcas.h"

struct lock;

/* By locks. Full barrier. */
bool dword_cas_locked(struct dword *p, struct dword expect, struct dword update);

/* true when *p was expect and is now update. Full barrier. */
static always_inline bool dword_cas(struct dword *p, struct dword expect, struct dword update)
{
	if (ARCH_HAS_DWCAS)
		return arch_dwcas(p, expect, update);
	return dword_cas_locked(p, expect, update);
}

/* For calls that must not wait: false also while another thread compares, by locks. */
bool dword_try_cas_locked(struct dword *p, struct dword expect, struct dword update);
static always_inline bool dword_try_cas(struct dword *p, struct dword expect, struct dword update)
{
	if (ARCH_HAS_DWCAS)
		return arch_dwcas(p, expect, update);
	return dword_try_cas_locked(p, expect, update);
}

/* Its locks, for fork: nobody is half-way in the child. None where the CPU has the instruction. */
void dword_each_lock(void (*act)(struct lock *l));

#endif /* OS_DWORD_H */
