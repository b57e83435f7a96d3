/* SPDX-License-Identifier: MIT */
/*
 * os/memory/policy.h - memory policies: from which nodes objects come (spec 0.4)
 *
 * Why:        docs/adr/0062.
 * Data:       the policy and the cursor of each thread (TLS; all zero: it has none), and that of
 *             the process, for threads that have none. Those of caches are engine/placement.c's.
 * Invariants: modes but OS_POLICY_DEFAULT and OS_POLICY_LOCAL have a node in the mask, and none
 *             that has no memory.
 * Locks:      none: a thread's own; the process's is const once there are threads.
 * Flow:       called by api/policy_api.c, cache/, engine/, page/large.c and page/run.c, for each
 *             new slab or page, with the front queues for each object.
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

struct os_policy {
	uint64_t mask;
	int mode;
};

/* Where something may come from. */
struct os_place {
	uint64_t nodes; /* from these only, the nearest to first first; all bits: from any */
	unsigned int first;
	bool interleaved;
	bool sure; /* real pages are looked at: they have to be there */
};

#define OS_ALL_NODES (~0ull)

/*
 * Makes a policy. nodes: bit n of word n / 64 is node n; nr_nodes bits. Nodes that this machine
 * does not have, or that have no memory, count for nothing. 0; -EINVAL: no such mode, a mask where
 * none is taken, or none where one is needed (PREFERRED without one is LOCAL); -EPERM: BIND, and
 * the kernel refuses to say where pages are (os_can_bind()).
 */
int os_policy_make(struct os_policy *policy, int mode, const unsigned long *nodes,
		   unsigned int nr_nodes);
/*
 * "bind:0-3", "interleave:0:2:4-7", "local". 0; -EINVAL: no such policy; -ENODEV: it names nodes
 * that this machine does not have, or that have no memory; -EPERM: see above.
 */
int os_policy_parse(struct os_policy *policy, const char *text);

/* os_policy_make() for this thread, or for all that have none. */
int os_policy_set(int mode, const unsigned long *nodes, unsigned int nr_nodes);
void os_policy_set_process(const struct os_policy *policy);
/* That of the process is the kernel's for this thread (set_mempolicy(2), numactl). */
void os_policy_read_kernel(void);

/*
 * Where the next object or slab of this thread, which runs on node local, comes from: the cursor
 * moves on.
 */
struct os_place os_policy_place(unsigned int local);
/* The same for a policy with a cursor of its own; any number of threads. */
struct os_place os_policy_place_by(const struct os_policy *policy, uint32_t *cursor,
				   unsigned int local);
/* Without a move of the cursor: the node to begin a search with. */
unsigned int os_policy_peek(unsigned int local);
/* Does all of this thread's come from node local, on which it runs? */
bool os_policy_stays(unsigned int local);
/*
 * mbind(2) with the policy of this thread, for a mapping of real memory that nobody uses so far;
 * failure is ignored, and the kernel's own policy stays as long as no thread has one here.
 */
void os_policy_apply(void *addr, size_t size);
/* All nodes that have memory in turn, by a cursor of its own (spec 3.10: cpuset slab spreading). */
struct os_place os_policy_spread(void);
/* The node of os_policy_place(). */
unsigned int os_policy_node(unsigned int local);

#endif /* OS_POLICY_H */
