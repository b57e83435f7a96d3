/* SPDX-License-Identifier: MIT */
/*
 * rust/uslab-sys/src/shim.c - the inline hit paths of <uslab/slab.h> as functions, for Rust to call
 *
 * Also the layout of what C and Rust share, as the C compiler has it, for tests to compare.
 * Why: docs/adr/0054.
 */
#include <stddef.h>

#include <uslab/alloc_tag.h>
#include <uslab/mempool.h>
#include <uslab/rcu.h>
#include <uslab/slab.h>

void *uslab_rust_alloc(struct kmem_cache *s, gfp_t flags);
void uslab_rust_free(struct kmem_cache *s, void *obj);
int uslab_rust_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t nr, void **p);
void uslab_rust_free_bulk(struct kmem_cache *s, size_t nr, void **p);

void *uslab_rust_alloc(struct kmem_cache *s, gfp_t flags)
{
	return kmem_cache_alloc(s, flags);
}

void uslab_rust_free(struct kmem_cache *s, void *obj)
{
	kmem_cache_free(s, obj);
}

int uslab_rust_alloc_bulk(struct kmem_cache *s, gfp_t flags, size_t nr, void **p)
{
	return kmem_cache_alloc_bulk(s, flags, nr, p);
}

void uslab_rust_free_bulk(struct kmem_cache *s, size_t nr, void **p)
{
	kmem_cache_free_bulk(s, nr, p);
}

/* In the order of layout() in src/tests.rs. */
extern const size_t uslab_rust_layout[];
const size_t uslab_rust_layout[] = {
	sizeof(struct kmem_cache_args),
	offsetof(struct kmem_cache_args, use_freeptr_offset),
	offsetof(struct kmem_cache_args, ctor),
	offsetof(struct kmem_cache_args, sheaf_capacity),
	offsetof(struct kmem_cache_args, engine),
	offsetof(struct kmem_cache_args, capacity),
	offsetof(struct kmem_cache_args, dtor),
	offsetof(struct kmem_cache_args, reclaim_arg),
	sizeof(struct kmem_cache_statistics),
	offsetof(struct kmem_cache_statistics, objects),
	offsetof(struct kmem_cache_statistics, slab_bytes),
	offsetof(struct kmem_cache_statistics, defrag_refused),
	sizeof(mempool_t),
	offsetof(mempool_t, elements),
	offsetof(mempool_t, wait),
	offsetof(mempool_t, kind),
	sizeof(struct rcu_head),
	sizeof(struct uslab_rcu_ops),
	sizeof(kmem_buckets),
	sizeof(struct uslab_kmalloc_site),
	offsetof(struct uslab_kmalloc_site, token),
	sizeof(uslab_kmalloc_no_row),
	sizeof(struct alloc_tag),
	offsetof(struct alloc_tag, function),
	offsetof(struct alloc_tag, line),
	offsetof(struct alloc_tag, site),
	sizeof(struct alloc_tag_counters),
	offsetof(struct alloc_tag_counters, calls),
	sizeof(struct uslab_alloc_tags),
	offsetof(struct uslab_alloc_tags, end),
	offsetof(struct uslab_alloc_tags, next),
};
