/* SPDX-License-Identifier: MIT */
/*
 * api/rcu_api.c - public functions of RCU (<uslab/rcu.h>)
 *
 * Data:       none.
 * Invariants: see os/rcu/rcu.h and cache/grace/grace.h.
 * Locks:      none.
 * Flow:       called by programs, among them libuslab_rcu; calls cache/grace/ and os/rcu/.
 */
#include <errno.h>

#include <uslab/rcu.h>

#include "api/api.h"
#include "cache/grace/grace.h"

USLAB_API int uslab_set_rcu(const struct uslab_rcu_ops *ops)
{
	int ret = api_init();

	if (ret)
		return ret;
	if (!ops || !ops->call || !ops->synchronize || !ops->barrier)
		return -EINVAL;
	ret = os_rcu_bind(ops);
	if (!ret) {
		grace_hand_over_sheaves(NULL);
		grace_hand_over();
	}
	return ret;
}

USLAB_API void kvfree_call_rcu(struct rcu_head *head, void *ptr)
{
	grace_free(head, ptr, __builtin_return_address(0));
}

USLAB_API void kvfree_rcu_barrier(void)
{
	grace_wait(NULL);
}

USLAB_API void kvfree_rcu_barrier_on_cache(struct kmem_cache *s)
{
	grace_wait(cache_of(s));
}
