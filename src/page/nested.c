/* SPDX-License-Identifier: MIT */
/*
 * page/nested.c - calls from a signal handler that interrupted this library
 *
 * Data:       deferred: lists of deferred frees, newest first; how many wait, and how many were
 *             lost, are counters of the reserve.
 * Invariants: an entry is a block of the reserve; the thread that takes it off the list owns its
 *             object.
 * Locks:      none. A list: the push (release) pairs with the exchange in take_all() (acquire),
 *             which takes the whole list, so that no entry is looked at by two, and no entry can
 *             come back to its place unseen (ABA).
 * Flow:       see page/nested.h.
 *
 * The list is of the process, so that frees are not lost when their thread ends. The flag
 * LOCK_DEFERRED is of the thread, so that no other thread has to check.
 */
#include "page/nested.h"

#include "base/atomic.h"
#include "os/rcu/rcu.h"
#include "page/buddy.h"
#include "page/reserve.h"

struct deferred {
	struct deferred *next;
	nested_give give;
	void *owner;
	void *p;
	const void *caller;
};

BUILD_ASSERT(sizeof(struct deferred) <= 1ul << RESERVE_MIN_SHIFT);

static struct deferred *lists[2];
#define NESTED (&lists[0]) /* of nested calls */
#define TRIED (&lists[1])  /* of calls that only try, with NULL as owner */

cold bool nested_look(void)
{
	if (lock_is_inside())
		return true;
	lock_clear_flags(LOCK_DEFERRED);
	nested_settle();
	return false;
}

static void push_entry(struct deferred **list, struct deferred *d)
{
	d->next = load_relaxed(list);
	while (!__atomic_compare_exchange_n(list, &d->next, d, 0, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED)) {}
}

static struct deferred *take_all(struct deferred **list)
{
	return load_relaxed(list) ? __atomic_exchange_n(list, NULL, __ATOMIC_ACQUIRE) : NULL;
}

static bool defer(struct deferred **list, struct deferred what)
{
	struct deferred *d = reserve_alloc(sizeof(*d), sizeof(void *));

	if (!d) {
		fetch_add(&reserve_counters.lost, 1);
		return false;
	}
	*d = what;
	fetch_add(&reserve_counters.waiting, 1);
	push_entry(list, d);
	lock_set_flags(LOCK_DEFERRED);
	return true;
}

bool nested_defer(nested_give give, void *owner, void *p, const void *caller)
{
	return defer(NESTED, (struct deferred){ NULL, give, owner, p, caller });
}

bool nested_defer_tried(nested_give give, void *p, const void *caller)
{
	return defer(TRIED, (struct deferred){ NULL, give, NULL, p, caller });
}

/* An entry that is on no list goes; what it said is the result. */
static struct deferred drop(struct deferred *d)
{
	struct deferred one = *d;

	reserve_free(d);
	fetch_sub(&reserve_counters.waiting, 1);
	return one;
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

static void settle(struct deferred **list)
{
	struct deferred *d = oldest_first(take_all(list));

	while (d) {
		struct deferred one = drop(d);

		d = one.next;
		one.give(one.owner, one.p, one.caller);
	}
}

/*
 * A signal may come between two entries: what its handler defers is on the list, which these have
 * left.
 */
void nested_settle(void)
{
	os_rcu_submit();
	settle(NESTED);
	settle(TRIED);
	buddy_replenish();
}

/* Puts a list that was taken back; mostly nobody has deferred anything meanwhile. */
static void put_back(struct deferred **list, struct deferred *taken)
{
	struct deferred *none = NULL;

	if (!taken ||
	    __atomic_compare_exchange_n(list, &none, taken, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	while (taken) {
		struct deferred *next = taken->next;

		push_entry(list, taken);
		taken = next;
	}
}

void nested_retry(nested_try give, unsigned int max)
{
	struct deferred *d = take_all(TRIED);
	struct deferred *again = NULL;

	for (; d && max; max--) {
		struct deferred *next = d->next;

		if (give(d->p, d->caller)) {
			drop(d);
		} else {
			d->next = again;
			again = d;
		}
		d = next;
	}
	put_back(TRIED, d);
	put_back(TRIED, again);
}

unsigned long nested_waiting(void)
{
	return load_relaxed(&reserve_counters.waiting);
}

unsigned long nested_lost(void)
{
	return load_relaxed(&reserve_counters.lost);
}
