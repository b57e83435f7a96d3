/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/gfp_types.h - flags of allocations: those of <uslab/gfp.h>, and further names
 */
#ifndef USLAB_LINUX_GFP_TYPES_H
#define USLAB_LINUX_GFP_TYPES_H

#include <linux/types.h>

#include <uslab/gfp.h>

#define __GFP_BITS_SHIFT 28
#define __GFP_BITS_MASK ((1u << __GFP_BITS_SHIFT) - 1)

/* Those that choose a zone in the kernel. */
#define GFP_ZONEMASK (__GFP_DMA | __GFP_HIGHMEM | __GFP_DMA32 | __GFP_MOVABLE)

#define GFP_HIGHUSER (GFP_USER | __GFP_HIGHMEM)
#define GFP_HIGHUSER_MOVABLE (GFP_HIGHUSER | __GFP_MOVABLE)

#endif /* USLAB_LINUX_GFP_TYPES_H */
