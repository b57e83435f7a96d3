/* SPDX-License-Identifier: MIT */
/*
 * uslab/numa.h - memory policies: from which nodes objects come; include <uslab/slab.h> instead
 *
 * Why they are as they are: docs/adr/0062. None may be called by a signal handler.
 *
 * A node that a call names (kmem_cache_alloc_node(), kmalloc_node()) goes before all policies, a
 * cache's policy before the thread's, that before the process's (USLAB_CONF=mempolicy, else that of
 * the kernel for the process at its start: numactl(8)). What has none comes from the node that the
 * thread runs on.
 */
#ifndef USLAB_NUMA_H
#define USLAB_NUMA_H

#include <uslab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Modes, with the values of set_mempolicy(2). */
#define USLAB_POLICY_DEFAULT 0	 /* none: the next policy of those above counts */
#define USLAB_POLICY_PREFERRED 1 /* the lowest node of the mask; an empty one: as LOCAL */
#define USLAB_POLICY_BIND 2 /* the node of the mask that is nearest to the thread, and no other */
#define USLAB_POLICY_INTERLEAVE 3     /* the nodes of the mask in turn */
#define USLAB_POLICY_LOCAL 4	      /* the node that the thread runs on */
#define USLAB_POLICY_PREFERRED_MANY 5 /* as BIND, but others serve when it has no memory */

/**
 * uslab_set_mempolicy - the node of this thread's objects, if a call names none
 * @mode:     USLAB_POLICY_*
 * @nodemask: bit n % 64 of word n / 64 is node n; NULL: empty
 * @nr_nodes: bits of nodemask
 *
 * With the queues front the policy holds for each object, as in the kernel's SLAB; with the others
 * for each new slab of slub and slobseg, each new page of slob, slob:1991 and slobseg:pow2, and
 * each batch that a CPU gets of slab, as in the kernel's SLUB: what CPUs and slabs have already is
 * used wherever it lies. Page runs obey it as well. Where the node has no memory the nearest one
 * that has some serves, but with BIND none outside of the mask: the call fails. A thread begins
 * without a policy; a child of fork() has that of the thread that forked. The kernel's own policy
 * is not changed. Returns 0. -EINVAL, and the policy stays: there is no such mode; DEFAULT or LOCAL
 * with a mask that is not empty; BIND, INTERLEAVE or PREFERRED_MANY with an empty mask; one of
 * these or PREFERRED with a mask that has no node of this machine with memory (others in it are
 * ignored). -EPERM: BIND, and the kernel does not let the process see where its pages are.
 * -ENOMEM: the library could not start.
 */
USLAB_API int uslab_set_mempolicy(int mode, const unsigned long *nodemask, unsigned int nr_nodes);

/**
 * uslab_cache_set_mempolicy - the same for all objects of a cache, whoever allocates them
 *
 * At any time, while others allocate and free. Nothing merges with the cache from then on.
 * INTERLEAVE counts for all threads together. What the cache has already stays where it is, but
 * with BIND all of its slabs are on nodes of the mask when the call returns, and stay there: no
 * object of it is ever elsewhere, also none that a CPU holds. Empty slabs elsewhere are given back
 * for that. A call that names another node gets the nearest of the mask, or with __GFP_THISNODE
 * NULL. Returns 0; errors as above, and nothing has changed: -EBUSY: the cache has merged with
 * others (SLAB_NO_MERGE keeps them away), or BIND, and objects in use, or in lent sheaves, lie
 * elsewhere; -EOPNOTSUPP: with the engines slob, slob:1991 and slobseg:pow2 caches share their
 * pages; -ENOMEM: no memory to store it.
 */
USLAB_API int uslab_cache_set_mempolicy(struct kmem_cache *s, int mode,
					const unsigned long *nodemask, unsigned int nr_nodes);

#ifdef __cplusplus
}
#endif

#endif /* USLAB_NUMA_H */
