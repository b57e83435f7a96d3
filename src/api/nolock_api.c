/* SPDX-License-Identifier: MIT */
/*
 * api/nolock_api.c - public functions for any context (<uslab/slab.h>)
 *
 * Why:        docs/adr/0048.
 * Data:       said, that a refusal has been said.
 * Invariants: errno is the same before and after.
 * Locks:      none: see cache/kmalloc/nolock.c.
 * Flow:       called by programs; calls cache/kmalloc/nolock.c.
 */
#include "api/api.h"
#include "base/atomic.h"
#include "os/cpu/cpu.h"
#include "os/process/say.h"

#define ALLOWED (__GFP_ZERO | __GFP_ACCOUNT)

/* By write(2), of which a program that asks for the wrong thing has one. */
static cold void refuse(gfp_t flags)
{
	static int said;

	if (!xchg(&said, 1))
		os_say("kmalloc_nolock: flags 0x%x: only __GFP_ZERO and __GFP_ACCOUNT are allowed",
		       flags & ~ALLOWED);
}

static void *alloc(size_t size, gfp_t flags, int node, const void *caller)
{
	if (unlikely(flags & ~ALLOWED)) {
		refuse(flags);
		return NULL;
	}
	if (unlikely(!size))
		return ZERO_SIZE_PTR;
	if (unlikely(size > KMALLOC_MAX_CACHE_SIZE || !api_is_ready()))
		return NULL;
	if (node >= (int)os_topology.nr_nodes)
		node = NUMA_NO_NODE; /* spec 5.10: as for any cache */
	return kmalloc_try_alloc(size, flags, node, caller);
}

USLAB_API void *kmalloc_nolock(size_t size, gfp_t flags, int node)
{
	return alloc(size, flags, node, __builtin_return_address(0));
}

USLAB_API void *kmalloc_nolock_node(size_t size, gfp_t flags, int node)
{
	return alloc(size, flags, node, __builtin_return_address(0));
}

USLAB_API void kfree_nolock(const void *p)
{
	kmalloc_try_free(p, __builtin_return_address(0));
}
