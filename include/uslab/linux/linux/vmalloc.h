/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/vmalloc.h - blocks in whole pages: here as kvmalloc(), aligned to a page
 *
 * There are no mappings to make: vmap() and its like are not here. vfree() may be called where
 * kfree() may, and is the same.
 */
#ifndef USLAB_LINUX_VMALLOC_H
#define USLAB_LINUX_VMALLOC_H

#include <linux/gfp.h>
#include <linux/overflow.h>

#define USLAB_VMALLOC(size, flags, node) kvmalloc_node_align(size, 4096, flags, node)

static inline void *__vmalloc(unsigned long size, gfp_t flags)
{
	return USLAB_VMALLOC(size, flags, NUMA_NO_NODE);
}

static inline void *vmalloc(unsigned long size)
{
	return __vmalloc(size, GFP_KERNEL);
}

static inline void *vzalloc(unsigned long size)
{
	return __vmalloc(size, GFP_KERNEL | __GFP_ZERO);
}

/* For the user as well: the same. */
static inline void *vmalloc_user(unsigned long size)
{
	return vzalloc(size);
}

static inline void *vmalloc_node(unsigned long size, int node)
{
	return USLAB_VMALLOC(size, GFP_KERNEL, node);
}

static inline void *vzalloc_node(unsigned long size, int node)
{
	return USLAB_VMALLOC(size, GFP_KERNEL | __GFP_ZERO, node);
}

static inline void *__vmalloc_array(size_t n, size_t size, gfp_t flags)
{
	return __vmalloc(uslab_product(n, size), flags);
}

static inline void *vmalloc_array(size_t n, size_t size)
{
	return __vmalloc_array(n, size, GFP_KERNEL);
}

static inline void *__vcalloc(size_t n, size_t size, gfp_t flags)
{
	return __vmalloc_array(n, size, flags | __GFP_ZERO);
}

static inline void *vcalloc(size_t n, size_t size)
{
	return __vcalloc(n, size, GFP_KERNEL);
}

/* NULL is ignored. */
static inline void vfree(const void *p)
{
	kvfree(p);
}

#endif /* USLAB_LINUX_VMALLOC_H */
