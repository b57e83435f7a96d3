/* SPDX-License-Identifier: MIT */
/*
 * os/lock/lock.h - a small mutex (spin, then futex) with a rank
 *
 * Why:        docs/adr/0018, docs/adr/0048.
 * Data:       struct lock, 8 bytes, all zero is unlocked (rank 0: unranked, tests only). For each
 *             thread which locks it holds or waits for, the last one last.
 * Invariants: debug builds: a thread takes locks in strictly descending rank (floor order:
 *             cache 60 > front 50 > engine 40 > page 30 > os 10); equal ranks never nest.
 *             Exceptions: lock_fork_prepare(), which takes all of one rank in list order, and
 *             lock_try_beside(). The lock that was taken last is released first.
 * Locks:      this is it. unlock releases (store_release), lock acquires.
 * Flow:       used by every floor; calls futex(2). Preserves errno.
 *
 * A signal handler may interrupt a thread that holds a lock, and call us: to wait for that
 * lock would be to wait for ever. So each thread counts its locks, from before it takes one
 * until after it has released it, and whoever may be called by a handler asks
 * lock_is_inside() first: page/nested.h.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include "base/compiler.h"

enum lock_rank {
	RANK_NONE = 0,
	RANK_OS = 10,
	RANK_DWORD = 12,   /* os/cpu/dword.c */
	RANK_RCU = 13,	   /* os/rcu/rcu.c: what waits for a grace period */
	RANK_STOCK = 14,   /* cache/group/charge.c: slow steps on a CPU's stock */
	RANK_REPORT = 15,  /* debug/report/report_text.c: the text of a report */
	RANK_BLOCKS = 20,  /* debug/pages/blocks.c */
	RANK_META = 25,	   /* page/meta.c */
	RANK_STACKS = 26,  /* debug/stacks.c */
	RANK_KFENCE = 27,  /* debug/kfence/kfence.c */
	RANK_ARENA = 28,   /* page/arena.c growth */
	RANK_SITES = 29,   /* cache/profile/sites.c */
	RANK_PAGE = 30,	   /* buddy zone */
	RANK_LARGE = 31,   /* page/large.c table */
	RANK_PURGE = 32,   /* page/buddy.c: a block is off its list to be purged */
	RANK_PCP = 34,	   /* page/pcp.c, page/pcp_runs.c: free pages that a CPU keeps */
	RANK_ENGINE = 40,  /* node list_lock */
	RANK_LANE = 47,	   /* front/depot.c: what one CPU puts there */
	RANK_DEPOT = 48,   /* front/depot.c: all lanes */
	RANK_GROWTH = 49,  /* front/array_limit.c */
	RANK_CPU = 50,	   /* generic per-CPU lock */
	RANK_CPUSLAB = 52, /* front/cpuslab.c: slow paths of a cache on a CPU */
	RANK_LENT = 55,	   /* cache/lent_list.c */
	RANK_GRACE = 57,   /* cache/grace/batch.c */
	RANK_GROUPS = 58,  /* cache/group/group.c: the table of groups */
	RANK_CHARGED = 59, /* cache/group/array.c: who empties arrays of other CPUs */
	RANK_CACHE = 60,   /* cache registry */
	RANK_POOL = 62,	   /* cache/mempool/elements.c; nothing is called under it */
};

struct lock {
	uint32_t word; /* 0 free, 1 held, 2 held with waiters; futex */
	uint32_t rank;
};

/* No compound literal: GCC 11 would miss initializers beside it. */
#define LOCK_INIT(r)   \
	{              \
		0, (r) \
	}

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
/* Debug builds only: dies if this thread may only try locks. */
void lock_check_wait(const struct lock *l);

#ifdef USLAB_DEBUG_BUILD
#define LOCK_RANKS 1
#else
#define LOCK_RANKS 0
#endif

/* ---- what a thread holds ---- */

#define LOCK_MAX_HELD 32u /* a power of two; there are fewer ranks */

/* flags: why a thread that holds no lock is to be treated as one that does. */
#define LOCK_FORKING 1u /* it forks, and holds all locks if there are other threads */
#define LOCK_DYING 2u	/* it ends the program, and what its locks guarded may be half done */
/* It forked inside a call: no thread of this process will release locks that others held. */
#define LOCK_FORKED_INSIDE 4u
#define LOCK_APART 8u /* it holds, or waits for, the lock that is taken apart from the order */
/* No such reason: it has deferred work, to be done when it holds no lock. */
#define LOCK_DEFERRED 16u
#define LOCK_NOTIFYING 32u /* it runs the program's report hook, in the middle of a call of ours */
#define LOCK_TRYING 64u	   /* it is between lock_tries_begin() and lock_tries_end() */
/*
 * No such reason either, and it may stay set for a while: a child of fork() may lack the library's
 * own thread (cache/control/thread.c).
 */
#define LOCK_FORKED 128u

struct lock_thread {
	union {
		struct {
			uint32_t nr; /* balanced: a handler leaves it as it was */
			/* apart: a handler may set one in the middle of a change of nr */
			uint32_t flags;
		};
		uint64_t any;
	};
	struct lock *held[LOCK_MAX_HELD];
	struct lock *apart;
};

/* initial-exec: an access must never allocate, as dynamic TLS may on a thread's first one. */
extern __thread struct lock_thread lock_thread __attribute__((tls_model("initial-exec")));

/* Nothing is wanted of the caller but his work? Else lock_is_inside() says more. */
static always_inline bool lock_is_plain(void)
{
	return likely(!lock_thread.any);
}

/* In one step: a signal handler may set another flag in the middle. Return what they were. */
static always_inline uint32_t lock_set_flags(uint32_t flags)
{
	return __atomic_fetch_or(&lock_thread.flags, flags, __ATOMIC_RELAXED);
}

static always_inline uint32_t lock_clear_flags(uint32_t flags)
{
	return __atomic_fetch_and(&lock_thread.flags, ~flags, __ATOMIC_RELAXED);
}

/*
 * May this thread not wait for a lock? Then a signal handler runs, or it forks or ends the program.
 */
static inline bool lock_is_inside(void)
{
	return lock_thread.nr || lock_thread.flags & ~(LOCK_DEFERRED | LOCK_FORKED);
}

/*
 * Counted before the lock is taken, and discounted when it has been released: whenever a signal
 * comes, a lock that is held is counted.
 */
static always_inline void lock_count(struct lock *l)
{
	struct lock_thread *t = &lock_thread;
	uint32_t nr = t->nr;

	t->nr = nr + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->held[nr % LOCK_MAX_HELD] = l;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static always_inline void lock_discount(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lock_thread.nr--;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * As lock_try(), for a second lock of the rank that was taken last. Only for one under which no
 * other is taken. lock_leave_inside() releases it.
 */
static inline bool lock_try_beside(struct lock *l)
{
	uint32_t free_word = 0;

	lock_count(l);
	if (__atomic_compare_exchange_n(&l->word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	lock_discount();
	return false;
}

static inline bool lock_try(struct lock *l)
{
	if (!lock_try_beside(l))
		return false;
	if (LOCK_RANKS)
		lock_rank_enter(l);
	return true;
}

static inline void lock_acquire(struct lock *l)
{
	uint32_t free_word = 0;

	lock_count(l);
	if (LOCK_RANKS) {
		lock_check_wait(l);
		lock_rank_enter(l);
	}
	if (unlikely(!__atomic_compare_exchange_n(&l->word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
						  __ATOMIC_RELAXED)))
		lock_acquire_slow(l);
}

static inline void lock_release(struct lock *l)
{
	uint32_t word;

	if (LOCK_RANKS)
		lock_rank_exit(l);
	word = __atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE);
	lock_discount();
	if (unlikely(word == 2))
		lock_release_slow(l);
}

/*
 * For who is inside, and needs a lock all the same: takes it without the rank check, unless this
 * thread holds it. Only for a lock under which no other is taken. lock_leave_inside() releases it.
 */
bool lock_take_inside(struct lock *l);
void lock_leave_inside(struct lock *l);

/*
 * Around a call that only tries locks (lock_try()), so that it may be made in any context, whatever
 * this thread or another one holds: what it interrupted may hold locks of any rank, so ranks are
 * counted anew in between, where all other calls are inside (lock_is_inside()). They nest; the
 * result of the first belongs to the second.
 */
struct lock_tries {
	uint64_t ranks;
	bool outer; /* of those that nest */
};
struct lock_tries lock_tries_begin(void);
void lock_tries_end(struct lock_tries t);
/* May this thread change what locks guard at all? Not once it ends the program: lock_abandon(). */
static inline bool lock_may_try(void)
{
	return !(lock_thread.flags & LOCK_DYING);
}

/*
 * For one lock of the library, which may be released after others that were taken before it: the
 * text of a report is collected under a lock, and delivered when that has been released.
 */
void lock_acquire_apart(struct lock *l);
void lock_release_apart(struct lock *l);
static inline bool lock_holds_apart(const struct lock *l)
{
	return lock_thread.apart == l;
}

/*
 * Before the program is ended by a signal, for which it may have a handler: releases all
 * that this thread holds, so that other threads go on, and makes it one that waits for no
 * lock any more (LOCK_DYING).
 */
void lock_abandon(void);

/*
 * Around fork(), in the forking thread: enter, and leave in parent and child. enter:
 * false if it is inside; then hooks must take no locks, which lock_fork_is_inside() says
 * again afterwards. They nest.
 */
bool lock_fork_enter(void);
bool lock_fork_is_inside(void);
void lock_fork_leave(void);
/*
 * In the child of a fork inside, when the parent had other threads: what it interrupted may still
 * go on, and ends the process when it meets a lock that one of these held.
 */
void lock_forked_inside(void);

/* For fork: takes a lock without the rank check / makes it free in the child. */
void lock_fork_prepare(struct lock *l);
void lock_fork_parent(struct lock *l);
void lock_fork_child(struct lock *l);

#endif /* OS_LOCK_H */
