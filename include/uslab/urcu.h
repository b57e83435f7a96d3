/* SPDX-License-Identifier: MIT */
/*
 * uslab/urcu.h - libuslab_rcu: binds liburcu to the library, see <uslab/rcu.h>
 *
 * Include the header of the flavour that the program's readers use before this one: <urcu.h>,
 * <urcu-bp.h>, <urcu-qsbr.h> or another. Link with -luslab_rcu (pkg-config: uslab_rcu)
 * and that flavour. libuslab_rcu is there if liburcu was when uslab was built; it needs no flavour
 * by itself.
 */
#ifndef USLAB_URCU_H
#define USLAB_URCU_H

#include <uslab/rcu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rcu_flavor_struct; /* of <urcu/flavor.h> */

/**
 * uslab_set_urcu - binds a flavour of liburcu, for the life of the process
 * @flavor: &rcu_flavor, which is that of the header
 *
 * Has the flavour make its thread for call_rcu(), so that signal handlers may free memory after
 * this. Returns as uslab_set_rcu() does. Threads that use the library need not be registered with
 * liburcu, but for those that are readers. Not for signal handlers.
 *
 * fork: what waits for a grace period is freed in a child only if the program calls liburcu's
 * call_rcu_before_fork(), call_rcu_after_fork_parent() and call_rcu_after_fork_child() around
 * fork(), as liburcu asks for; else it stays allocated there.
 */
USLAB_API int uslab_set_urcu(const struct rcu_flavor_struct *flavor);

#ifdef __cplusplus
}
#endif

#endif /* USLAB_URCU_H */
