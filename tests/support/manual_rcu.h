/* SPDX-License-Identifier: MIT */
/*
 * support/manual_rcu.h - an RCU whose grace periods end when the test says so, or wants to wait
 *
 * For tests of one thread, which has no readers but itself.
 */
#ifndef SUPPORT_MANUAL_RCU_H
#define SUPPORT_MANUAL_RCU_H

#include <stdlib.h>
#include <string.h>
#include <uslab/rcu.h>

#include "os/rcu/rcu.h"

#define RCU_MAX_CALLS 64

static struct {
	struct {
		struct rcu_head *head;
		void (*func)(struct rcu_head *head);
	} asked[RCU_MAX_CALLS];
	unsigned int nr; /* grace periods that are under way */
	unsigned int calls;
	unsigned int synchronized;
	unsigned int barriers;
} rcu;

static inline void rcu_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	if (rcu.nr == RCU_MAX_CALLS)
		abort();
	memset(head, 0xa5, USLAB_RCU_HEAD_BYTES); /* all of it is ours */
	rcu.asked[rcu.nr].head = head;
	rcu.asked[rcu.nr++].func = func;
	rcu.calls++;
}

/* Those that are under way end. What is asked for meanwhile is not among them. */
static inline void rcu_grace(void)
{
	unsigned int nr = rcu.nr;

	for (unsigned int i = 0; i < nr; i++)
		rcu.asked[i].func(rcu.asked[i].head);
	memmove(rcu.asked, rcu.asked + nr, (rcu.nr - nr) * sizeof(rcu.asked[0]));
	rcu.nr -= nr;
}

static inline void rcu_synchronize(void)
{
	rcu.synchronized++;
	rcu_grace();
}

static inline void rcu_wait(void)
{
	rcu.barriers++;
	rcu_grace();
}

static const struct uslab_rcu_ops manual_rcu = { rcu_call, rcu_synchronize, rcu_wait };

static inline void rcu_call_at_once(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	func(head);
}

static inline void rcu_never(void)
{
}

/* For tests that use type-safe caches and have no readers: what is submitted is freed at once. */
static inline void rcu_bind_at_once(void)
{
	static const struct uslab_rcu_ops ops = { rcu_call_at_once, rcu_never, rcu_never };

	if (os_rcu_bind(&ops))
		abort();
}

#endif /* SUPPORT_MANUAL_RCU_H */
