/* SPDX-License-Identifier: MIT */
/*
 * os/lock.h - a small mutex (spin, then futex) with a rank
 *
 * Data:       struct lock, 8 bytes, all zero is unlocked (rank 0: unranked, tests only).
 * Invariants: debug builds: a thread takes locks in strictly descending rank (floor order:
 *             cache 60 > front 50 > engine 40 > page 30 > os 10); equal ranks never nest.
 *             Exception: lock_fork_prepare(), which takes all of one rank in list order.
 * Locks:      this is it. unlock releases (store_release), lock acquires.
 * Flow:       used by page/ and above; calls futex(2). Preserves errno.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include "base/compiler.h"

enum lock_rank {
	RANK_NONE = 0,
	RANK_OS = 10,
	RANK_REPORT = 15,  /* debug/text.c: the text of a report */
	RANK_BLOCKS = 20,  /* debug/blocks.c */
	RANK_META = 25,	   /* page/meta.c */
	RANK_STACKS = 26,  /* debug/stacks.c */
	RANK_KFENCE = 27,  /* debug/kfence.c */
	RANK_ARENA = 28,   /* page/arena.c growth */
	RANK_PAGE = 30,	   /* buddy zone */
	RANK_LARGE = 31,   /* page/large.c table */
	RANK_PURGE = 32,   /* page/buddy.c: a block is off its list to be purged */
	RANK_ENGINE = 40,  /* node list_lock */
	RANK_DEPOT = 48,   /* front/depot.c */
	RANK_CPU = 50,	   /* generic per-CPU lock */
	RANK_CPUSLAB = 52, /* front/cpuslab.c: slow paths of a cache on a CPU */
	RANK_CACHE = 60,   /* cache registry */
};

struct lock {
	uint32_t word; /* 0 free, 1 held, 2 held with waiters; futex */
	uint32_t rank;
};

#define LOCK_INIT(r) ((struct lock){ 0, (r) })

static inline void lock_init(struct lock *l, enum lock_rank rank)
{
	l->word = 0;
	l->rank = rank;
}

void lock_acquire_slow(struct lock *l);
void lock_release_slow(struct lock *l);
/* Debug builds only: rank bookkeeping. Empty otherwise. */
void lock_rank_enter(const struct lock *l);
void lock_rank_exit(const struct lock *l);

#ifdef USLAB_DEBUG_BUILD
#define LOCK_RANKS 1
#else
#define LOCK_RANKS 0
#endif

static inline bool lock_try(struct lock *l)
{
	uint32_t free_word = 0;

	if (!__atomic_compare_exchange_n(&l->word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	if (LOCK_RANKS)
		lock_rank_enter(l);
	return true;
}

static inline void lock_acquire(struct lock *l)
{
	uint32_t free_word = 0;

	if (LOCK_RANKS)
		lock_rank_enter(l);
	if (unlikely(!__atomic_compare_exchange_n(&l->word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
						  __ATOMIC_RELAXED)))
		lock_acquire_slow(l);
}

static inline void lock_release(struct lock *l)
{
	if (LOCK_RANKS)
		lock_rank_exit(l);
	if (unlikely(__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2))
		lock_release_slow(l);
}

/* For fork: takes a lock without the rank check / makes it free in the child. */
void lock_fork_prepare(struct lock *l);
void lock_fork_parent(struct lock *l);
void lock_fork_child(struct lock *l);

#endif /* OS_LOCK_H */
