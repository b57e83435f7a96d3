/* SPDX-License-Identifier: MIT */
/*
 * uslab/linux/linux/uslab_types_begin.h - a kernel tree's types that are ours have other names
 *
 * Up to <linux/uslab_types_end.h>. Included by <linux/types.h> alone, once: no guard.
 */
#pragma push_macro("gfp_t")
#pragma push_macro("GFP_KERNEL")
#pragma push_macro("GFP_ATOMIC")
#pragma push_macro("__GFP_HIGHMEM")
#pragma push_macro("__GFP_HIGH")
#undef GFP_KERNEL
#undef GFP_ATOMIC
#undef __GFP_HIGHMEM
#undef __GFP_HIGH
#define gfp_t uslab_tree_gfp_t
#define atomic64_t uslab_tree_atomic64_t
#define atomic_long_t uslab_tree_atomic_long_t
#define GFP_KERNEL USLAB_TREE_GFP_KERNEL
#define GFP_ATOMIC USLAB_TREE_GFP_ATOMIC
#define __GFP_HIGHMEM USLAB_TREE_GFP_HIGHMEM
#define __GFP_HIGH USLAB_TREE_GFP_HIGH
