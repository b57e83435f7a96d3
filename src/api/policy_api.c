/* SPDX-License-Identifier: MIT */
/*
 * api/policy_api.c - the public functions on memory policies (<uslab/numa.h>)
 *
 * Data:       none.
 * Invariants: the public modes are those of os/memory/policy.h.
 * Locks:      none.
 * Flow:       called by programs; calls os/memory/policy.c and cache/policy.c.
 */
#include "api/api.h"
#include "os/memory/policy.h"
#include <uslab/slab.h>

BUILD_ASSERT(USLAB_POLICY_DEFAULT == OS_POLICY_DEFAULT);
BUILD_ASSERT(USLAB_POLICY_PREFERRED == OS_POLICY_PREFERRED);
BUILD_ASSERT(USLAB_POLICY_BIND == OS_POLICY_BIND);
BUILD_ASSERT(USLAB_POLICY_INTERLEAVE == OS_POLICY_INTERLEAVE);
BUILD_ASSERT(USLAB_POLICY_LOCAL == OS_POLICY_LOCAL);
BUILD_ASSERT(USLAB_POLICY_PREFERRED_MANY == OS_POLICY_PREFERRED_MANY);

USLAB_API int uslab_set_mempolicy(int mode, const unsigned long *nodemask, unsigned int nr_nodes)
{
	int ret = api_init(); /* how many nodes there are */

	return ret ? ret : os_policy_set(mode, nodemask, nr_nodes);
}

USLAB_API int uslab_cache_set_mempolicy(struct kmem_cache *s, int mode,
					const unsigned long *nodemask, unsigned int nr_nodes)
{
	struct os_policy policy;
	int ret = os_policy_make(&policy, mode, nodemask, nr_nodes);

	return ret ? ret : cache_set_policy(cache_of(s), &policy);
}
