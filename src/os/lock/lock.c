/* SPDX-License-Identifier: MIT */
/*
 * os/lock/lock.c - the mutex's slow paths, its ranks, and fork
 *
 * Data:       lock_thread: what this thread holds; ranks: of which ranks, one bit
 *             for each (debug builds).
 * Invariants: an entry of held[] with WAITING is not held yet. word is 2 whenever a thread sleeps
 *             on it; a thread that has slept takes the lock as 2, since it cannot know whether
 *             others still sleep. Ranks: see os/lock/lock.h.
 * Locks:      this is it. The acquiring exchanges here and in lock_acquire() pair with the
 *             releasing exchange in lock_release().
 * Flow:       see lock.h; calls futex(2).
 */
#include <linux/futex.h>

#include "arch/cpu.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "os/lock/lock.h"
#include "os/sys.h"

/*
 * About 4 us on today's CPUs: longer than any critical section without a system call, shorter than
 * going to sleep and being woken.
 */
#define SPIN_PAUSES 100

#define WAITING 1ul /* or'ed to an entry of held[] */

/* initial-exec: an access must never allocate, as dynamic TLS may on a thread's first one. */
__thread struct lock_thread lock_thread __attribute__((tls_model("initial-exec")));
static __thread uint64_t ranks __attribute__((tls_model("initial-exec")));
static __thread unsigned int forks_inside __attribute__((tls_model("initial-exec")));

static bool try_now(struct lock *l)
{
	uint32_t word = 0;

	/* acquire: pairs with lock_release() */
	return __atomic_compare_exchange_n(&l->word, &word, 1, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* Takes a lock that becomes free soon. */
static bool try_spin(struct lock *l)
{
	unsigned int i;

	/* With one CPU the owner cannot run while we spin. */
	if (load_relaxed(&os_topology.nr_cpus) <= 1)
		return false;
	for (i = 0; i < SPIN_PAUSES; i++) {
		uint32_t word = load_relaxed(&l->word);

		if (word == 0 && try_now(l))
			return true;
		/* Others sleep already: queue up behind them rather than go on spinning. */
		if (word == 2)
			return false;
		arch_pause();
	}
	return false;
}

/*
 * Forked inside, this thread has no others beside it, and waits for nothing in its handler. So that
 * has returned, and what was interrupted goes on: it would sleep for ever.
 */
static void sleep_on(struct lock *l)
{
	if (unlikely(lock_thread.flags & LOCK_FORKED_INSIDE))
		os_die_fmt("a fork in a signal handler: its child returned from the handler, and "
			   "needs a lock that another thread of the parent held");
	/* Returns at once if word is no longer 2; every reason to return is a retry. */
	os_syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static void wait_for(struct lock *l)
{
	if (try_now(l) || try_spin(l))
		return;
	/* acquire: pairs with lock_release(), which wakes one sleeper when it finds the 2. */
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		sleep_on(l);
}

/* A handler that ends the program while we wait must not release what is another thread's. */
cold void lock_acquire_slow(struct lock *l)
{
	struct lock **entry = &lock_thread.held[(lock_thread.nr - 1) % LOCK_MAX_HELD];

	store_relaxed(entry, (struct lock *)((uintptr_t)l | WAITING));
	wait_for(l);
	store_relaxed(entry, l);
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
	not_above = ranks & ((2ull << l->rank) - 1);
	if (not_above)
		os_die_fmt("lock of rank %u taken while rank %u is held", l->rank,
			   63u - (unsigned int)__builtin_clzll(not_above));
	ranks |= 1ull << l->rank;
}

static void lock_rank_leave(const struct lock *l)
{
	if (!LOCK_RANKS || l->rank == RANK_NONE)
		return;
	if (!(ranks & (1ull << l->rank)))
		os_die_fmt("lock of rank %u released by a thread that does not hold one", l->rank);
	ranks &= ~(1ull << l->rank);
}

void lock_rank_exit(const struct lock *l)
{
	lock_rank_leave(l);
	ASSERT(lock_thread.held[(lock_thread.nr - 1) % LOCK_MAX_HELD] == l);
}

void lock_check_wait(const struct lock *l)
{
	if (LOCK_RANKS && lock_thread.flags & LOCK_TRYING)
		os_die_fmt("lock of rank %u taken by a call that may only try", l->rank);
}

static void release(struct lock *l)
{
	/* release: pairs with lock_acquire() */
	if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2)
		lock_release_slow(l);
}

/* ---- calls from inside ---- */

static bool is_mine(const struct lock *l)
{
	const struct lock_thread *t = &lock_thread;

	if (t->flags & LOCK_FORKING || ((uintptr_t)t->apart & ~WAITING) == (uintptr_t)l)
		return true;
	for (uint32_t i = 0; i < t->nr && i < LOCK_MAX_HELD; i++)
		if (((uintptr_t)t->held[i] & ~WAITING) == (uintptr_t)l)
			return true;
	return false;
}

bool lock_take_inside(struct lock *l)
{
	if (is_mine(l))
		return false;
	lock_count(l);
	wait_for(l);
	return true;
}

void lock_leave_inside(struct lock *l)
{
	release(l);
	lock_discount();
}

struct lock_tries lock_tries_begin(void)
{
	struct lock_tries t = { .ranks = ranks };

	t.outer = !(lock_set_flags(LOCK_TRYING) & LOCK_TRYING);
	ranks = 0;
	return t;
}

void lock_tries_end(struct lock_tries t)
{
	ranks = t.ranks;
	if (t.outer)
		lock_clear_flags(LOCK_TRYING);
}

/*
 * A handler that comes here while we wait, and takes it and releases it, leaves us
 * uncounted until it is ours.
 */
void lock_acquire_apart(struct lock *l)
{
	struct lock_thread *t = &lock_thread;

	lock_set_flags(LOCK_APART);
	store_relaxed(&t->apart, (struct lock *)((uintptr_t)l | WAITING));
	lock_rank_enter(l);
	wait_for(l);
	lock_set_flags(LOCK_APART);
	store_relaxed(&t->apart, l);
}

void lock_release_apart(struct lock *l)
{
	struct lock_thread *t = &lock_thread;

	lock_rank_leave(l);
	store_relaxed(&t->apart, NULL);
	release(l);
	lock_clear_flags(LOCK_APART);
}

/*
 * Of the lock that is taken or released just now the entry may be wrong, for an instruction or two.
 */
void lock_abandon(void)
{
	struct lock_thread *t = &lock_thread;

	lock_set_flags(LOCK_DYING);
	while (t->nr && !(t->flags & LOCK_FORKING)) {
		struct lock *l = t->held[(t->nr - 1) % LOCK_MAX_HELD];

		if (!((uintptr_t)l & WAITING) && load_relaxed(&l->word))
			release(l);
		lock_discount();
	}
	if (t->apart && !((uintptr_t)t->apart & WAITING))
		lock_release_apart(t->apart);
	ranks = 0;
}

/* ---- fork ---- */

bool lock_fork_enter(void)
{
	if (lock_is_inside()) {
		forks_inside++;
		return false;
	}
	lock_set_flags(LOCK_FORKING);
	return true;
}

bool lock_fork_is_inside(void)
{
	return forks_inside;
}

void lock_fork_leave(void)
{
	if (forks_inside)
		forks_inside--;
	else
		lock_clear_flags(LOCK_FORKING);
}

void lock_forked_inside(void)
{
	lock_set_flags(LOCK_FORKED_INSIDE);
}

void lock_fork_prepare(struct lock *l)
{
	wait_for(l);
}

void lock_fork_parent(struct lock *l)
{
	release(l);
}

void lock_fork_child(struct lock *l)
{
	/* The parent's sleepers do not exist here: nobody to wake, nobody to order against. */
	store_relaxed(&l->word, 0);
}
