/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/gfp.h - flags of allocations, and whole pages by their address
 *
 * There is no struct page: what returns addresses is here, alloc_pages() and its like are not.
 */
#ifndef USLAB_LINUX_GFP_H
#define USLAB_LINUX_GFP_H

#include <linux/gfp_types.h>

#include <uslab/slab.h>

/* May this request wait? An allocation never does, but a memory pool. */
static inline bool gfpflags_allow_blocking(const gfp_t flags)
{
	return flags & __GFP_DIRECT_RECLAIM;
}

/* Blocks of size bytes in whole pages, aligned to a page; NULL: as kvmalloc(). */
static inline void *alloc_pages_exact(size_t size, gfp_t flags)
{
	return kvmalloc_node_align(size, 4096, flags, NUMA_NO_NODE);
}

static inline void free_pages_exact(void *p, size_t size)
{
	(void)size;
	kvfree(p);
}

/* The address of 2^order pages of 4096 bytes, a multiple of their size; 0: as kmalloc() NULL. */
static inline unsigned long __get_free_pages(gfp_t flags, unsigned int order)
{
	size_t size = order <= KMALLOC_MAX_ORDER ? (size_t)4096 << order : USLAB_TOO_LARGE;

	return (unsigned long)kmalloc(size, flags);
}

static inline unsigned long __get_free_page(gfp_t flags)
{
	return __get_free_pages(flags, 0);
}

static inline unsigned long get_zeroed_page(gfp_t flags)
{
	return __get_free_pages(flags | __GFP_ZERO, 0);
}

/* 0 is ignored. */
static inline void free_pages(unsigned long address, unsigned int order)
{
	(void)order;
	kfree((void *)address);
}

static inline void free_page(unsigned long address)
{
	free_pages(address, 0);
}

#endif /* USLAB_LINUX_GFP_H */
