/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/mm.h - sizes of pages, and the headers of allocation
 *
 * A page has 4096 bytes, that of the library's sizes, whatever the system's has.
 */
#ifndef USLAB_LINUX_MM_H
#define USLAB_LINUX_MM_H

#include <linux/align.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/slab.h>

/* A kernel tree's headers, and some of libc's, have it as well. */
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096ul
#endif
#ifndef PAGE_SHIFT
#define PAGE_SHIFT 12
#endif
#ifndef PAGE_MASK
#define PAGE_MASK (~(PAGE_SIZE - 1))
#endif

#define PAGE_ALIGN(x) ALIGN(x, PAGE_SIZE)
#define PAGE_ALIGNED(x) IS_ALIGNED((unsigned long)(x), PAGE_SIZE)
#define offset_in_page(p) ((unsigned long)(p) & ~PAGE_MASK)

/* The order of the block of pages that has size bytes. */
static inline int get_order(unsigned long size)
{
	return size <= PAGE_SIZE ? 0 : 64 - __builtin_clzl((size - 1) >> PAGE_SHIFT);
}

#endif /* USLAB_LINUX_MM_H */
