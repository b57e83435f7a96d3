/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/rcupdate.h - RCU: that of liburcu, with the kernel's names
 *
 * The flavour is that whose header the program has included before; if none, <urcu-bp.h>
 * (-lurcu-bp), whose readers need not register. Other flavours: each thread of readers calls
 * rcu_register_thread(). A kernel tree's own header where its folder follows.
 *
 * Programs that include this have bound that RCU before their module_init(), for kfree_rcu() and
 * SLAB_TYPESAFE_BY_RCU.
 */
#ifndef USLAB_LINUX_RCUPDATE_H
#define USLAB_LINUX_RCUPDATE_H

#if __has_include_next(<linux/rcupdate.h>)
#include_next <linux/rcupdate.h>
#else

#ifndef _URCU_CALL_RCU_H
#if !__has_include(<urcu-bp.h>)
#error "uslab: <linux/rcupdate.h> needs liburcu (Debian's liburcu-dev)"
#endif
#include <urcu-bp.h>
#endif

#include <stdio.h>
#include <stdlib.h>

#include <linux/compiler.h>
#include <linux/types.h>

#include <uslab/rcu.h>

/* A second flavour: who reads under that one would lose what kfree_rcu() frees. */
__attribute__((constructor(101))) static void uslab_bind_rcu(void)
{
	const struct uslab_rcu_ops ops = { call_rcu, synchronize_rcu, rcu_barrier };

	if (!uslab_set_rcu(&ops))
		return;
	fputs("uslab: <linux/rcupdate.h>: another RCU is bound already\n", stderr);
	abort();
}

#define RCU_INIT_POINTER(p, value) ((void)((p) = (value)))
#define RCU_POINTER_INITIALIZER(p, value) .p = (value)

/* The pointer alone, not to be followed; and where a lock keeps it from changing. */
#define rcu_access_pointer(p) READ_ONCE(p)
#define rcu_dereference_protected(p, condition) ((void)(condition), (p))
#define rcu_dereference_check(p, condition) rcu_dereference(p)
#define rcu_dereference_raw(p) rcu_dereference(p)
#define rcu_replace_pointer(p, value, condition)                                   \
	(__extension__({                                                           \
		__typeof__(p) uslab_old = rcu_dereference_protected(p, condition); \
                                                                                   \
		rcu_assign_pointer(p, value);                                      \
		uslab_old;                                                         \
	}))

#define rcu_read_lock_held() rcu_read_ongoing()
#define rcu_read_lock_bh() rcu_read_lock()
#define rcu_read_unlock_bh() rcu_read_unlock()
#define rcu_dereference_bh(p) rcu_dereference(p)
#define synchronize_rcu_expedited() synchronize_rcu()
#define init_rcu_head(head) ((void)(head))
#define destroy_rcu_head(head) ((void)(head))

#endif
#endif /* USLAB_LINUX_RCUPDATE_H */
