/* SPDX-License-Identifier: MIT */
/*
 * uslab/alloc_hooks.h - the functions of <uslab/slab.h> that allocate, with tags; include
 * <uslab/alloc_tag.h> instead
 *
 * Macros of the functions' names: a call that is to have no tag has its name in parentheses. Those
 * that return what may have a tag already (krealloc()) keep it. Those of <uslab/kstring.h> and
 * <uslab/mempool.h> are there.
 */
#ifndef USLAB_ALLOC_HOOKS_H
#define USLAB_ALLOC_HOOKS_H

/* The function; of a program that has them with its row (<uslab/partition.h>). */
#ifdef USLAB_KMALLOC_PARTITION
#define USLAB_WITH_ROW(function, ...) uslab_row_##function(__VA_ARGS__)
#else
#define USLAB_WITH_ROW(function, ...) (function)(__VA_ARGS__)
#endif

/* ---- counted for the tag of alloc_tag_save() ---- */

#define kmem_cache_alloc_noprof(...) USLAB_CURRENT_OF(kmem_cache_alloc, __VA_ARGS__)
#define kmem_cache_alloc_node_noprof(...) USLAB_CURRENT_OF(kmem_cache_alloc_node, __VA_ARGS__)
#define kmem_cache_alloc_lru_noprof(...) USLAB_CURRENT_OF(kmem_cache_alloc_lru, __VA_ARGS__)
#define kmem_cache_zalloc_noprof(...) USLAB_CURRENT_OF(kmem_cache_zalloc, __VA_ARGS__)
#define kmem_cache_alloc_from_sheaf_noprof(...) \
	USLAB_CURRENT_OF(kmem_cache_alloc_from_sheaf, __VA_ARGS__)
#define kmem_cache_alloc_bulk_noprof(...) USLAB_COUNTED_BULK(NULL, __VA_ARGS__)
#define kmem_cache_alloc_array_noprof(...) USLAB_COUNTED_ARRAY(NULL, __VA_ARGS__)

#define kmalloc_noprof(...) USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kmalloc, __VA_ARGS__))
#define kzalloc_noprof(...) USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kzalloc, __VA_ARGS__))
#define kmalloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kmalloc_node, __VA_ARGS__))
#define kzalloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kzalloc_node, __VA_ARGS__))
#define kmalloc_array_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kmalloc_array, __VA_ARGS__))
#define kcalloc_noprof(...) USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kcalloc, __VA_ARGS__))
#define kmalloc_array_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kmalloc_array_node, __VA_ARGS__))
#define kcalloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kcalloc_node, __VA_ARGS__))
#define kmalloc_track_caller_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, (kmalloc_track_caller)(__VA_ARGS__))
#define kmalloc_node_track_caller_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, (kmalloc_node_track_caller)(__VA_ARGS__))
#define kmem_buckets_alloc_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, (kmem_buckets_alloc)(__VA_ARGS__))
#define kmem_buckets_valloc_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, (kmem_buckets_valloc)(__VA_ARGS__))
#define kmem_buckets_alloc_track_caller_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, (kmem_buckets_alloc_track_caller)(__VA_ARGS__))
#define kvmalloc_noprof(...) USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvmalloc, __VA_ARGS__))
#define kvzalloc_noprof(...) USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvzalloc, __VA_ARGS__))
#define kvmalloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvmalloc_node, __VA_ARGS__))
#define kvzalloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvzalloc_node, __VA_ARGS__))
#define kvmalloc_array_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvmalloc_array, __VA_ARGS__))
#define kvcalloc_noprof(...) USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvcalloc, __VA_ARGS__))
#define kvmalloc_array_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvmalloc_array_node, __VA_ARGS__))
#define kvcalloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvcalloc_node, __VA_ARGS__))
#define kvmalloc_node_align_noprof(...) \
	USLAB_COUNTED(NULL, NULL, false, USLAB_WITH_ROW(kvmalloc_node_align, __VA_ARGS__))
#define krealloc_noprof(...) USLAB_COUNTED(NULL, NULL, true, USLAB_WITH_ROW(krealloc, __VA_ARGS__))
#define krealloc_array_noprof(...) \
	USLAB_COUNTED(NULL, NULL, true, USLAB_WITH_ROW(krealloc_array, __VA_ARGS__))
#define krealloc_node_noprof(...) \
	USLAB_COUNTED(NULL, NULL, true, USLAB_WITH_ROW(krealloc_node, __VA_ARGS__))
#define krealloc_node_align_noprof(...) \
	USLAB_COUNTED(NULL, NULL, true, USLAB_WITH_ROW(krealloc_node_align, __VA_ARGS__))
#define kvrealloc_noprof(...) \
	USLAB_COUNTED(NULL, NULL, true, USLAB_WITH_ROW(kvrealloc, __VA_ARGS__))
#define kvrealloc_node_align_noprof(...) \
	USLAB_COUNTED(NULL, NULL, true, USLAB_WITH_ROW(kvrealloc_node_align, __VA_ARGS__))

/* ---- counted for a tag of the call ---- */

#ifdef USLAB_MEM_ALLOC_PROFILING
#define kmem_cache_alloc(...) USLAB_TAGGED_OF(kmem_cache_alloc, __VA_ARGS__)
#define kmem_cache_alloc_node(...) USLAB_TAGGED_OF(kmem_cache_alloc_node, __VA_ARGS__)
#define kmem_cache_alloc_lru(...) USLAB_TAGGED_OF(kmem_cache_alloc_lru, __VA_ARGS__)
#define kmem_cache_zalloc(...) USLAB_TAGGED_OF(kmem_cache_zalloc, __VA_ARGS__)
#define kmem_cache_alloc_from_sheaf(...) USLAB_TAGGED_OF(kmem_cache_alloc_from_sheaf, __VA_ARGS__)
#define kmem_cache_alloc_bulk(...) USLAB_TAGGED_BULK(__VA_ARGS__)
#define kmem_cache_alloc_array(...) USLAB_TAGGED_ARRAY(__VA_ARGS__)

#define kmalloc(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kmalloc, __VA_ARGS__))
#define kzalloc(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kzalloc, __VA_ARGS__))
#define kmalloc_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kmalloc_node, __VA_ARGS__))
#define kzalloc_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kzalloc_node, __VA_ARGS__))
#define kmalloc_array(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kmalloc_array, __VA_ARGS__))
#define kcalloc(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kcalloc, __VA_ARGS__))
#define kmalloc_array_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kmalloc_array_node, __VA_ARGS__))
#define kcalloc_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kcalloc_node, __VA_ARGS__))
#define kmalloc_track_caller(...) USLAB_TAGGED(false, (kmalloc_track_caller)(__VA_ARGS__))
#define kmalloc_node_track_caller(...) USLAB_TAGGED(false, (kmalloc_node_track_caller)(__VA_ARGS__))
#define kmem_buckets_alloc(...) USLAB_TAGGED(false, (kmem_buckets_alloc)(__VA_ARGS__))
#define kmem_buckets_valloc(...) USLAB_TAGGED(false, (kmem_buckets_valloc)(__VA_ARGS__))
#define kmem_buckets_alloc_track_caller(...) \
	USLAB_TAGGED(false, (kmem_buckets_alloc_track_caller)(__VA_ARGS__))
#define kvmalloc(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvmalloc, __VA_ARGS__))
#define kvzalloc(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvzalloc, __VA_ARGS__))
#define kvmalloc_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvmalloc_node, __VA_ARGS__))
#define kvzalloc_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvzalloc_node, __VA_ARGS__))
#define kvmalloc_array(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvmalloc_array, __VA_ARGS__))
#define kvcalloc(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvcalloc, __VA_ARGS__))
#define kvmalloc_array_node(...) \
	USLAB_TAGGED(false, USLAB_WITH_ROW(kvmalloc_array_node, __VA_ARGS__))
#define kvcalloc_node(...) USLAB_TAGGED(false, USLAB_WITH_ROW(kvcalloc_node, __VA_ARGS__))
#define kvmalloc_node_align(...) \
	USLAB_TAGGED(false, USLAB_WITH_ROW(kvmalloc_node_align, __VA_ARGS__))
#define krealloc(...) USLAB_TAGGED(true, USLAB_WITH_ROW(krealloc, __VA_ARGS__))
#define krealloc_array(...) USLAB_TAGGED(true, USLAB_WITH_ROW(krealloc_array, __VA_ARGS__))
#define krealloc_node(...) USLAB_TAGGED(true, USLAB_WITH_ROW(krealloc_node, __VA_ARGS__))
#define krealloc_node_align(...) \
	USLAB_TAGGED(true, USLAB_WITH_ROW(krealloc_node_align, __VA_ARGS__))
#define kvrealloc(...) USLAB_TAGGED(true, USLAB_WITH_ROW(kvrealloc, __VA_ARGS__))
#define kvrealloc_node_align(...) \
	USLAB_TAGGED(true, USLAB_WITH_ROW(kvrealloc_node_align, __VA_ARGS__))
#endif

#endif /* USLAB_ALLOC_HOOKS_H */
