/* SPDX-License-Identifier: MIT */
/*
 * os/rcu/rcu.c - what waits for a grace period of the program's RCU
 *
 * Why:        docs/adr/0045.
 * Data:       ops; chains, one for each kind; unsubmitted.
 * Invariants: see rcu.h. Items are released in the order in which their grace periods ended, so
 *             that once `released` has reached what `added` was, all of those before are gone.
 * Locks:      chain.lock (RANK_RCU). ops: the release in os_rcu_bind() pairs with the acquire in
 *             os_rcu_is_bound().
 * Flow:       see rcu.h; called back by the RCU.
 *
 * While a grace period is under way, items gather for the next one: a thread that frees much calls
 * the RCU once for each grace period, and an item waits for two of them at most. A child of fork()
 * whose RCU forgets what the parent asked it for never releases what waited then.
 */
#include "os/rcu/rcu.h"

#include <errno.h>

#include <uslab/rcu.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/lock/lock.h"
#include "os/lock/wait.h"

/* To sleep for so long: another thread is about to do something. */
#define POLL_MS 1
static const unsigned int never;

struct chain {
	struct lock lock;
	bool under_way;		     /* a grace period, for flight */
	struct os_rcu_item *waiting; /* newest first */
	struct os_rcu_item *flight;  /* NULL when they are being released */
	unsigned long added;	     /* items so far */
	unsigned long released;	     /* of these, items that are gone */
	os_rcu_release release;
	_Alignas(16) char head[USLAB_RCU_HEAD_BYTES]; /* the RCU's, while under_way */
};

#define CHAIN                               \
	{                                   \
		.lock = LOCK_INIT(RANK_RCU) \
	}

static struct chain chains[OS_RCU_KINDS] = { CHAIN, CHAIN, CHAIN, CHAIN, CHAIN };
static struct uslab_rcu_ops ops;
static struct lock bind_lock = LOCK_INIT(RANK_RCU);
static bool bound;
static bool unsubmitted; /* os_rcu_submit() may have something to do; atomic */

/*
 * fork waits for threads that are about to call the RCU, or release what it gave back: a child
 * would wait for them for ever. calling: how often this thread is one; at most what it adds to
 * callers.
 */
static unsigned int callers; /* atomic */
static unsigned int forking; /* atomic; who sees it does not begin */
static __thread unsigned int calling __attribute__((tls_model("initial-exec")));

/* This thread is in a function of the RCU, which may hold locks that call() takes. */
static __thread bool in_rcu __attribute__((tls_model("initial-exec")));

BUILD_ASSERT(OS_RCU_KINDS == 5);
BUILD_ASSERT(sizeof(struct rcu_head) <= USLAB_RCU_HEAD_BYTES);

/* ---- the RCU ---- */

int os_rcu_bind(const struct uslab_rcu_ops *wanted)
{
	int ret = 0;

	lock_acquire(&bind_lock);
	if (!bound) {
		ops = *wanted;
		store_release(&bound, true); /* pairs with os_rcu_is_bound() */
	} else if (ops.call != wanted->call || ops.synchronize != wanted->synchronize ||
		   ops.barrier != wanted->barrier) {
		ret = -EBUSY;
	}
	lock_release(&bind_lock);
	return ret;
}

bool os_rcu_is_bound(void)
{
	return load_acquire(&bound); /* pairs with os_rcu_bind() */
}

void os_rcu_synchronize(void)
{
	in_rcu = true;
	ops.synchronize();
	in_rcu = false;
}

static void wait_for_calls(void)
{
	in_rcu = true;
	ops.barrier();
	in_rcu = false;
}

/* ---- fork ---- */

static void enter(void)
{
	calling++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_fetch_add(&callers, 1, __ATOMIC_SEQ_CST);
}

static void leave(void)
{
	__atomic_fetch_sub(&callers, 1, __ATOMIC_SEQ_CST);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	calling--;
}

/* Either side sees the other: enter() comes before the load, the addition before the loop. */
static bool try_enter(void)
{
	enter();
	if (likely(!__atomic_load_n(&forking, __ATOMIC_SEQ_CST)))
		return true;
	leave();
	return false;
}

/* For who has to go on: waits for a fork, unless that waits for this thread. */
static void enter_again(void)
{
	if (calling)
		enter();
	else
		while (!try_enter())
			os_wait(&never, 0, POLL_MS);
}

void os_rcu_fork_prepare(void)
{
	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&callers, __ATOMIC_SEQ_CST) > calling)
		os_wait(&never, 0, POLL_MS);
}

void os_rcu_fork_parent(void)
{
	fetch_sub(&forking, 1);
}

void os_rcu_fork_child(void)
{
	store_relaxed(&forking, 0);
	store_relaxed(&callers, calling);
}

/* ---- chains ---- */

static unsigned long count(const struct os_rcu_item *item)
{
	unsigned long nr = 0;

	for (; item; item = item->next)
		nr++;
	return nr;
}

/* Reverses a list, and counts it. */
static struct os_rcu_item *oldest_first(struct os_rcu_item *newest, unsigned long *nr)
{
	struct os_rcu_item *list = NULL;

	for (*nr = 0; newest; ++*nr) {
		struct os_rcu_item *next = newest->next;

		newest->next = list;
		list = newest;
		newest = next;
	}
	return list;
}

/* The grace period of a chain's flight is over. */
static void grace_over(struct rcu_head *head)
{
	struct chain *c = container_of(head, struct chain, head);
	struct os_rcu_item *flight;
	os_rcu_release release;
	unsigned long nr;

	enter_again();
	lock_acquire(&c->lock);
	flight = oldest_first(c->flight, &nr);
	release = c->release;
	c->flight = NULL;
	lock_release(&c->lock);
	release(flight);
	lock_acquire(&c->lock);
	c->released += nr;
	c->under_way = false;
	if (c->waiting)
		store_relaxed(&unsubmitted, true);
	lock_release(&c->lock);
	leave();
	os_rcu_submit();
}

static void submit(struct chain *c)
{
	bool begins;

	lock_acquire(&c->lock);
	begins = c->waiting && !c->under_way;
	if (begins) {
		c->under_way = true;
		c->flight = c->waiting;
		c->waiting = NULL;
	}
	lock_release(&c->lock);
	if (!begins)
		return;
	in_rcu = true;
	ops.call((struct rcu_head *)c->head, grace_over);
	in_rcu = false;
}

void os_rcu_defer(enum os_rcu_kind kind, struct os_rcu_item *item, os_rcu_release release)
{
	struct chain *c = &chains[kind];

	lock_acquire(&c->lock);
	c->release = release;
	item->next = c->waiting;
	c->waiting = item;
	c->added++;
	store_relaxed(&unsubmitted, true);
	lock_release(&c->lock);
	lock_set_flags(LOCK_DEFERRED);
}

/*
 * A thread that adds an item meanwhile sets unsubmitted after the item is there. call() may do so
 * itself, when it allocates and frees: that waits for the next round.
 */
void os_rcu_submit(void)
{
	while (load_relaxed(&unsubmitted) && os_rcu_is_bound() && !in_rcu && try_enter()) {
		store_relaxed(&unsubmitted, false);
		for (unsigned int i = 0; i < OS_RCU_KINDS; i++)
			submit(&chains[i]);
		leave();
	}
}

static bool is_released(struct chain *c, unsigned long added)
{
	bool gone;

	lock_acquire(&c->lock);
	gone = (long)(c->released - added) >= 0;
	lock_release(&c->lock);
	return gone;
}

void os_rcu_wait(enum os_rcu_kind kind)
{
	struct chain *c = &chains[kind];
	unsigned long added;

	if (!os_rcu_is_bound())
		return;
	lock_acquire(&c->lock);
	added = c->added;
	lock_release(&c->lock);
	while (!is_released(c, added)) {
		os_rcu_submit();
		wait_for_calls();
		if (!is_released(c, added))
			os_wait(&never, 0, POLL_MS);
	}
}

static bool find(const struct os_rcu_item *item,
		 bool (*is)(const struct os_rcu_item *item, const void *arg), const void *arg)
{
	while (item && !is(item, arg))
		item = item->next;
	return item;
}

bool os_rcu_find(enum os_rcu_kind kind, bool (*is)(const struct os_rcu_item *item, const void *arg),
		 const void *arg)
{
	struct chain *c = &chains[kind];
	bool found;

	lock_acquire(&c->lock);
	found = find(c->waiting, is, arg) || find(c->flight, is, arg);
	lock_release(&c->lock);
	return found;
}

bool os_rcu_releases(enum os_rcu_kind kind)
{
	struct chain *c = &chains[kind];
	bool releases;

	lock_acquire(&c->lock);
	releases = c->under_way && !c->flight;
	lock_release(&c->lock);
	return releases;
}

void os_rcu_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int i = 0; i < OS_RCU_KINDS; i++)
		act(&chains[i].lock);
	act(&bind_lock);
}

void os_rcu_check(void)
{
	for (unsigned int i = 0; i < OS_RCU_KINDS; i++) {
		struct chain *c = &chains[i];
		unsigned long nr;

		lock_acquire(&c->lock);
		nr = count(c->waiting) + count(c->flight);
		CHECK(!c->flight || c->under_way);
		/* items that are being released are in neither */
		CHECK(c->added - c->released >= nr);
		CHECK(c->under_way || c->added - c->released == nr);
		lock_release(&c->lock);
	}
}
