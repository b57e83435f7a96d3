/* SPDX-License-Identifier: MIT */
/*
 * urcu/uslab_rcu.c - libuslab_rcu: a flavour of liburcu as the RCU of the library (<uslab/urcu.h>)
 *
 * Why:        docs/adr/0045.
 * Data:       the head of the first call_rcu().
 * Invariants: none: the functions of the flavour are the library's to keep.
 * Locks:      none.
 * Flow:       called by programs; calls uslab_set_rcu(), and liburcu through its table.
 *
 * No flavour is linked: the program brings its own, whose functions are in rcu_flavor.
 */
#include <errno.h>

#include <urcu/call-rcu.h>
#include <urcu/flavor.h>
#include <uslab/urcu.h>

_Static_assert(sizeof(struct rcu_head) >= 2 * sizeof(void *), "a block that waits needs two words");
_Static_assert(sizeof(struct rcu_head) <= USLAB_RCU_HEAD_BYTES, "heads of the library are larger");

static void nothing(struct rcu_head *head)
{
	(void)head;
}

/* The first call_rcu() takes locks and makes a thread: it must not be one of a signal handler. */
static void make_thread(const struct rcu_flavor_struct *flavor)
{
	static struct rcu_head first;
	static int made;

	if (!__atomic_exchange_n(&made, 1, __ATOMIC_RELAXED))
		flavor->update_call_rcu(&first, nothing);
}

USLAB_API int uslab_set_urcu(const struct rcu_flavor_struct *flavor)
{
	struct uslab_rcu_ops ops;
	int ret;

	if (!flavor)
		return -EINVAL;
	ops.call = flavor->update_call_rcu;
	ops.synchronize = flavor->update_synchronize_rcu;
	ops.barrier = flavor->barrier;
	ret = uslab_set_rcu(&ops);
	if (!ret)
		make_thread(flavor);
	return ret;
}
