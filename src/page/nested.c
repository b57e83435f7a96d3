/* SPDX-License-Identifier: MIT */
/*
 * page/nested.c - calls from a signal handler that interrupted this library
 *
 * Data:       first, a list of deferred frees, newest first; how many were lost is a counter of the
 *             reserve.
 * Invariants: an entry is a block of the reserve; the thread that takes it off the list owns its
 *             object.
 * Locks:      none. first: the push (release) pairs with the exchange in nested_settle() (acquire),
 *             which takes the whole list, so that no entry is looked at by two.
 * Flow:       see page/nested.h.
 *
 * The list is of the process, so that frees are not lost when their thread ends. The flag
 * LOCK_DEFERRED is of the thread, so that no other thread has to check.
 */
#include "page/nested.h"

#include "base/atomic.h"
#include "os/rcu/rcu.h"
#include "page/reserve.h"

struct deferred {
	struct deferred *next;
	nested_give give;
	void *owner;
	void *p;
	const void *caller;
};

BUILD_ASSERT(sizeof(struct deferred) <= 1ul << RESERVE_MIN_SHIFT);

static struct deferred *first;
static unsigned long nr_waiting;

cold bool nested_look(void)
{
	if (lock_is_inside())
		return true;
	lock_thread.flags &= ~LOCK_DEFERRED;
	nested_settle();
	return false;
}

bool nested_defer(nested_give give, void *owner, void *p, const void *caller)
{
	struct deferred *d = reserve_alloc(sizeof(*d), sizeof(void *));

	if (!d) {
		fetch_add(&reserve_counters.lost, 1);
		return false;
	}
	*d = (struct deferred){ load_relaxed(&first), give, owner, p, caller };
	fetch_add(&nr_waiting, 1);
	while (!__atomic_compare_exchange_n(&first, &d->next, d, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED)) {}
	lock_thread.flags |= LOCK_DEFERRED;
	return true;
}

/* Reverses a list that the caller has taken. */
static struct deferred *oldest_first(struct deferred *newest)
{
	struct deferred *list = NULL;
	struct deferred *next;

	for (struct deferred *d = newest; d; d = next) {
		next = d->next;
		d->next = list;
		list = d;
	}
	return list;
}

/*
 * A signal may come between two entries: what its handler defers is on the list, which these have
 * left.
 */
void nested_settle(void)
{
	struct deferred *d;
	struct deferred *next;

	os_rcu_submit();
	if (!load_relaxed(&first))
		return;
	d = oldest_first(__atomic_exchange_n(&first, NULL, __ATOMIC_ACQUIRE));
	for (; d; d = next) {
		struct deferred one = *d;

		next = d->next;
		reserve_free(d);
		fetch_sub(&nr_waiting, 1);
		one.give(one.owner, one.p, one.caller);
	}
}

unsigned long nested_waiting(void)
{
	return load_relaxed(&nr_waiting);
}

unsigned long nested_lost(void)
{
	return load_relaxed(&reserve_counters.lost);
}
