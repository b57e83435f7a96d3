/* SPDX-License-Identifier: MIT */
/*
 * os/lock.c - the mutex's slow paths, its ranks, and fork
 *
 * Data:       held: which ranks this thread holds, one bit for each (debug builds).
 * Invariants: word is 2 whenever a thread sleeps on it; a thread that has slept takes the lock
 *             as 2, since it cannot know whether others still sleep. Ranks: see os/lock.h.
 * Locks:      this is it. The acquiring exchanges here and in lock_acquire() pair with the
 *             releasing exchange in lock_release().
 * Flow:       called by os/lock.h, calls futex(2).
 */
#include <linux/futex.h>

#include "arch/cpu.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "os/cpu.h"
#include "os/die.h"
#include "os/lock.h"
#include "os/sys.h"

/*
 * About 4 us on today's CPUs: longer than any critical section without a system call, shorter than
 * going to sleep and being woken.
 */
#define SPIN_PAUSES 100

/* initial-exec: an access must never allocate, as dynamic TLS may on a thread's first one. */
static __thread uint64_t held __attribute__((tls_model("initial-exec")));

/* Takes a lock that becomes free soon. */
static bool try_spin(struct lock *l)
{
	unsigned int i;

	/* With one CPU the owner cannot run while we spin. */
	if (load_relaxed(&os_topology.nr_cpus) <= 1)
		return false;
	for (i = 0; i < SPIN_PAUSES; i++) {
		uint32_t word = load_relaxed(&l->word);

		/* acquire: pairs with lock_release() */
		if (word == 0 && __atomic_compare_exchange_n(&l->word, &word, 1, 0,
							     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		/* Others sleep already: queue up behind them rather than go on spinning. */
		if (word == 2)
			return false;
		arch_pause();
	}
	return false;
}

cold void lock_acquire_slow(struct lock *l)
{
	if (try_spin(l))
		return;
	/* acquire: pairs with lock_release(), which wakes one sleeper when it finds the 2. */
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		/* Returns at once if word is no longer 2; every reason to return is a retry. */
		os_syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
}

/* Context: word is 0 already; the lock may be held, even gone, by now. A stray wake is harmless. */
cold void lock_release_slow(struct lock *l)
{
	os_syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1);
}

void lock_rank_enter(const struct lock *l)
{
	uint64_t not_above;

	if (!LOCK_RANKS || l->rank == RANK_NONE)
		return;
	ASSERT(l->rank < 64);
	not_above = held & ((2ull << l->rank) - 1);
	if (not_above)
		os_die_fmt("lock of rank %u taken while rank %u is held", l->rank,
			   63u - (unsigned int)__builtin_clzll(not_above));
	held |= 1ull << l->rank;
}

void lock_rank_exit(const struct lock *l)
{
	if (!LOCK_RANKS || l->rank == RANK_NONE)
		return;
	if (!(held & (1ull << l->rank)))
		os_die_fmt("lock of rank %u released by a thread that does not hold one", l->rank);
	held &= ~(1ull << l->rank);
}

void lock_fork_prepare(struct lock *l)
{
	uint32_t free_word = 0;

	/* acquire: pairs with lock_release() */
	if (!__atomic_compare_exchange_n(&l->word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		lock_acquire_slow(l);
}

void lock_fork_parent(struct lock *l)
{
	/* release: pairs with lock_acquire() */
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		lock_release_slow(l);
}

void lock_fork_child(struct lock *l)
{
	/* The parent's sleepers do not exist here: nobody to wake, nobody to order against. */
	store_relaxed(&l->word, 0);
}
