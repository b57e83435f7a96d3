/* SPDX-License-Identifier: MIT */
/*
 * os/rcu/item.h - what waits for a grace period is linked through this
 *
 * Data:       struct os_rcu_item, in what waits.
 * Invariants: see os/rcu/rcu.h.
 * Locks:      see os/rcu/rcu.h.
 * Flow:       included by os/rcu/rcu.h and page/page.h.
 */
#ifndef OS_RCU_ITEM_H
#define OS_RCU_ITEM_H

struct os_rcu_item {
	struct os_rcu_item *next;
};

#endif /* OS_RCU_ITEM_H */
