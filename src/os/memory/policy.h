/* SPDX-License-Identifier: MIT */
/*
 * os/memory/policy.h - a thread's memory policy: from which node its objects come (spec 0.4)
 *
 * Data:       mode, mask and cursor of each thread (TLS); all zero is the default, the local node.
 * Invariants: modes but OS_POLICY_DEFAULT and OS_POLICY_LOCAL have a node in the mask.
 * Locks:      none: a thread's own.
 * Flow:       called by api/policy_api.c, engine/nodes.c, engine/slab/refill.c and
 *             engine/slob/heap.c (for each new slab or page) and front/queues.c (for each object).
 *
 * Threads and machines with one node never come here: callers look at os_topology.nr_nodes first,
 * so that no hit path touches TLS.
 */
#ifndef OS_POLICY_H
#define OS_POLICY_H

#include "base/compiler.h"

/* Values of set_mempolicy(2). */
enum os_policy_mode {
	OS_POLICY_DEFAULT = 0,
	OS_POLICY_PREFERRED = 1,
	OS_POLICY_BIND = 2,
	OS_POLICY_INTERLEAVE = 3,
	OS_POLICY_LOCAL = 4,
	OS_POLICY_PREFERRED_MANY = 5,
};

/*
 * Sets this thread's policy. nodes: bit n of word n / 64 is node n; nr_nodes bits. Nodes that this
 * machine does not have count for nothing. 0; -EINVAL: no such mode, a mask where none is taken, or
 * none where one is needed (PREFERRED without one is LOCAL).
 */
int os_policy_set(int mode, const unsigned long *nodes, unsigned int nr_nodes);

/* The node for the next object or slab of this thread, which runs on node local. */
unsigned int os_policy_node(unsigned int local);

#endif /* OS_POLICY_H */
