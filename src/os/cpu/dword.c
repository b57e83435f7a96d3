/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/dword.c - compare and swap of two words where the CPU has no instruction for it
 *
 * Data:       locks, each for the pairs whose address has its number.
 * Invariants: see dword.h.
 * Locks:      RANK_DWORD, the innermost of engines; held for a few instructions.
 * Flow:       see dword.h.
 */
#include "os/cpu/dword.h"

#include "base/atomic.h"
#include "os/lock/lock.h"

#define NR_LOCKS 64u

/* A cache line each: neighbours belong to slabs that have nothing to do with each other. */
static struct {
	_Alignas(CACHE_LINE) struct lock lock;
} locks[NR_LOCKS] = { [0 ... NR_LOCKS - 1] = { { 0, RANK_DWORD } } };

static struct lock *lock_of(const struct dword *p)
{
	return &locks[((uintptr_t)p / CACHE_LINE) % NR_LOCKS].lock;
}

/* Releases the lock. */
static bool cas_and_release(struct lock *lock, struct dword *p, struct dword expect,
			    struct dword update)
{
	bool same;

	same = load_relaxed(&p->lo) == expect.lo && load_relaxed(&p->hi) == expect.hi;
	if (same) {
		/*
		 * Releases: what lo points at is read by who reads lo without the lock (acquire).
		 */
		store_release(&p->lo, update.lo);
		store_release(&p->hi, update.hi);
	}
	lock_release(lock);
	fence_seq_cst(); /* the instruction that this stands for is one */
	return same;
}

bool dword_cas_locked(struct dword *p, struct dword expect, struct dword update)
{
	struct lock *lock = lock_of(p);

	lock_acquire(lock);
	return cas_and_release(lock, p, expect, update);
}

bool dword_try_cas_locked(struct dword *p, struct dword expect, struct dword update)
{
	struct lock *lock = lock_of(p);

	return lock_try(lock) && cas_and_release(lock, p, expect, update);
}

void dword_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int i = 0; !ARCH_HAS_DWCAS && i < NR_LOCKS; i++)
		act(&locks[i].lock);
}
