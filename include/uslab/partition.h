/* SPDX-License-Identifier: MIT */
/*
 * uslab/partition.h - calls of kmalloc() and its relatives that say where and of what type they are
 *
 * For a program that defines USLAB_KMALLOC_PARTITION before it includes <uslab/slab.h>, which then
 * includes this. The functions become macros that mean the same. With USLAB_CONF=kmalloc.partition
 * each call has a row of caches of its own, with a chance of 15 in 16 that it is not that of
 * another, and hits stay inline. Why: docs/adr/0051.
 *
 * The code location is the address of two words of data, which each call in the program's text has.
 * A call in an inline function is one place, or one for each file that has a copy.
 *
 * The type is what the compiler infers from the arguments: Clang 22 or later, with
 * -falloc-token-max=16, from sizeof in the size: types with pointers have rows 8 to 15, others 0 to
 * 7. Where the compiler cannot, all have token 0, the unknown type; USLAB_HAVE_ALLOC_TOKEN is 0. A
 * program may define these before it includes this, as constant expressions from 0 to 15:
 *	USLAB_ALLOC_TOKEN(...)	of a size, as it is written in the call
 *	USLAB_TYPE_TOKEN(type)	of the type, or expression of it, that kmalloc_obj() and its kin are
 *				given; else USLAB_ALLOC_TOKEN(sizeof(type))
 *
 * In C a function that is inline and not static must not have data of its own: it should be static,
 * or call (kmalloc_node)(size, flags, NUMA_NO_NODE). In C++ the macros are for function bodies;
 * elsewhere names in parentheses, (kmalloc)(size, flags), are the functions, without a site.
 */
#ifndef USLAB_PARTITION_H
#define USLAB_PARTITION_H

/* The last one: <uslab/slab.h> was included before the program asked for this. */
#if !defined(USLAB_KMALLOC_PARTITION) || !defined(USLAB_FASTPATH_H) || defined(USLAB_BY_TYPE)
#error "define USLAB_KMALLOC_PARTITION and include <uslab/slab.h>, which includes this"
#endif

#ifdef USLAB_ALLOC_TOKEN
#define USLAB_HAVE_ALLOC_TOKEN 1
#elif defined(__has_builtin)
#if __has_builtin(__builtin_infer_alloc_token)
#define USLAB_ALLOC_TOKEN(...) __builtin_infer_alloc_token(__VA_ARGS__)
#define USLAB_HAVE_ALLOC_TOKEN 1
#endif
#endif
#ifndef USLAB_ALLOC_TOKEN
#define USLAB_ALLOC_TOKEN(...) 0ul
#define USLAB_HAVE_ALLOC_TOKEN 0
#endif

#ifndef USLAB_TYPE_TOKEN
#define USLAB_TYPE_TOKEN(type) USLAB_ALLOC_TOKEN(sizeof(type))
#endif

/* The site that this is. Clang's token of an unknown type is no constant. */
#define USLAB_SITE_OF(type_token)                                                             \
	(__extension__({                                                                      \
		static struct uslab_kmalloc_site uslab_site = {                               \
			uslab_kmalloc_no_row, __builtin_constant_p(type_token)                \
						      ? USLAB_CAST(unsigned long, type_token) \
						      : 0                                     \
		};                                                                            \
		&uslab_site;                                                                  \
	}))
#define USLAB_SITE(...) USLAB_SITE_OF(USLAB_ALLOC_TOKEN(__VA_ARGS__))

#ifdef __cplusplus
#pragma GCC diagnostic push /* as in fastpath.h */
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
extern "C" {
#endif

/*
 * kmalloc() of a site. A hit loads the row and the handle in it, which was stored when its cache
 * was ready: what is read by way of it is ordered by the address. The mark of a free object is
 * where it is in all of kmalloc's caches.
 */
USLAB_SIZED((1))
USLAB_INLINE void *uslab_kmalloc_of(size_t size, gfp_t flags, struct uslab_kmalloc_site *site)
{
#if USLAB_HAVE_RSEQ
	if (__builtin_constant_p(size) && __builtin_constant_p(flags) && size > 0 &&
	    size <= KMALLOC_MAX_CACHE_SIZE &&
	    !(flags & (__GFP_DMA | __GFP_RECLAIMABLE | __GFP_ACCOUNT | __GFP_ZERO))) {
		struct kmem_cache **row = __atomic_load_n(&site->row, __ATOMIC_RELAXED);
		void *handle = __atomic_load_n(&row[uslab_kmalloc_index(size)], __ATOMIC_RELAXED);
		void *obj = NULL;

		if (__builtin_expect(uslab_rseq_pop(handle, uslab_rseq_offset, &obj), 1))
			__builtin_memset((char *)obj + USLAB_MARK_OFFSET, 0, 4);
		else
			obj = uslab_kmalloc_at(size, flags, NUMA_NO_NODE, site);
		return uslab_known_size(obj, size);
	}
#endif
	return uslab_kmalloc_at(size, flags, NUMA_NO_NODE, site);
}

/* A size that the compiler knows to be a cache's is kmalloc(), inline. */
USLAB_SIZED((1))
USLAB_INLINE void *uslab_kvmalloc_of(size_t size, gfp_t flags, struct uslab_kmalloc_site *site)
{
	if (__builtin_constant_p(size) && size <= KMALLOC_MAX_CACHE_SIZE)
		return uslab_kmalloc_of(size, flags, site);
	return uslab_kvmalloc_at(size, 1, flags, NUMA_NO_NODE, site);
}

#ifdef __cplusplus
}
#pragma GCC diagnostic pop
#endif

/* ---- kmalloc ---- */

#define uslab_row_kmalloc(size, flags) uslab_kmalloc_of((size), (flags), USLAB_SITE(size))
#define uslab_row_kzalloc(size, flags) \
	uslab_kmalloc_of((size), (flags) | __GFP_ZERO, USLAB_SITE(size))
#define uslab_row_kmalloc_array(n, size, flags) \
	uslab_kmalloc_of(uslab_product((n), (size)), (flags), USLAB_SITE(n, size))
#define uslab_row_kcalloc(n, size, flags) \
	uslab_kmalloc_of(uslab_product((n), (size)), (flags) | __GFP_ZERO, USLAB_SITE(n, size))
#define uslab_row_kmalloc_node(size, flags, node) \
	uslab_kmalloc_at((size), (flags), (node), USLAB_SITE(size))
#define uslab_row_kzalloc_node(size, flags, node) \
	uslab_kmalloc_at((size), (flags) | __GFP_ZERO, (node), USLAB_SITE(size))
#define uslab_row_kmalloc_array_node(n, size, flags, node) \
	uslab_kmalloc_at(uslab_product((n), (size)), (flags), (node), USLAB_SITE(n, size))
#define uslab_row_kcalloc_node(n, size, flags, node)                               \
	uslab_kmalloc_at(uslab_product((n), (size)), (flags) | __GFP_ZERO, (node), \
			 USLAB_SITE(n, size))

/* ---- krealloc: a block that moves goes to the row of this call ---- */

#define uslab_row_krealloc(p, size, flags) \
	uslab_krealloc_at((p), (size), 0, (flags), NUMA_NO_NODE, USLAB_SITE(size))
#define uslab_row_krealloc_array(p, n, size, flags)                                  \
	uslab_krealloc_at((p), uslab_product((n), (size)), 0, (flags), NUMA_NO_NODE, \
			  USLAB_SITE(n, size))
#define uslab_row_krealloc_node(p, size, flags, node) \
	uslab_krealloc_at((p), (size), 1, (flags), (node), USLAB_SITE(size))
#define uslab_row_krealloc_node_align(p, size, align, flags, node) \
	uslab_krealloc_at((p), (size), (align), (flags), (node), USLAB_SITE(size))

/* ---- kvmalloc ---- */

#define uslab_row_kvmalloc(size, flags) uslab_kvmalloc_of((size), (flags), USLAB_SITE(size))
#define uslab_row_kvzalloc(size, flags) \
	uslab_kvmalloc_of((size), (flags) | __GFP_ZERO, USLAB_SITE(size))
#define uslab_row_kvmalloc_array(n, size, flags) \
	uslab_kvmalloc_of(uslab_product((n), (size)), (flags), USLAB_SITE(n, size))
#define uslab_row_kvcalloc(n, size, flags) \
	uslab_kvmalloc_of(uslab_product((n), (size)), (flags) | __GFP_ZERO, USLAB_SITE(n, size))
#define uslab_row_kvmalloc_node_align(size, align, flags, node) \
	uslab_kvmalloc_at((size), (align), (flags), (node), USLAB_SITE(size))
#define uslab_row_kvmalloc_node(size, flags, node) \
	uslab_kvmalloc_at((size), 1, (flags), (node), USLAB_SITE(size))
#define uslab_row_kvzalloc_node(size, flags, node) \
	uslab_kvmalloc_at((size), 1, (flags) | __GFP_ZERO, (node), USLAB_SITE(size))
#define uslab_row_kvmalloc_array_node(n, size, flags, node) \
	uslab_kvmalloc_at(uslab_product((n), (size)), 1, (flags), (node), USLAB_SITE(n, size))
#define uslab_row_kvcalloc_node(n, size, flags, node)                                  \
	uslab_kvmalloc_at(uslab_product((n), (size)), 1, (flags) | __GFP_ZERO, (node), \
			  USLAB_SITE(n, size))
#define uslab_row_kvrealloc(p, size, flags) \
	uslab_kvrealloc_at((p), (size), 1, (flags), NUMA_NO_NODE, USLAB_SITE(size))
#define uslab_row_kvrealloc_node_align(p, size, align, flags, node) \
	uslab_kvrealloc_at((p), (size), (align), (flags), (node), USLAB_SITE(size))

/* ---- the functions' names; with profiling <uslab/alloc_hooks.h> has them ---- */

#ifndef USLAB_MEM_ALLOC_PROFILING
#define kmalloc(...) uslab_row_kmalloc(__VA_ARGS__)
#define kzalloc(...) uslab_row_kzalloc(__VA_ARGS__)
#define kmalloc_array(...) uslab_row_kmalloc_array(__VA_ARGS__)
#define kcalloc(...) uslab_row_kcalloc(__VA_ARGS__)
#define kmalloc_node(...) uslab_row_kmalloc_node(__VA_ARGS__)
#define kzalloc_node(...) uslab_row_kzalloc_node(__VA_ARGS__)
#define kmalloc_array_node(...) uslab_row_kmalloc_array_node(__VA_ARGS__)
#define kcalloc_node(...) uslab_row_kcalloc_node(__VA_ARGS__)
#define krealloc(...) uslab_row_krealloc(__VA_ARGS__)
#define krealloc_array(...) uslab_row_krealloc_array(__VA_ARGS__)
#define krealloc_node(...) uslab_row_krealloc_node(__VA_ARGS__)
#define krealloc_node_align(...) uslab_row_krealloc_node_align(__VA_ARGS__)
#define kvmalloc(...) uslab_row_kvmalloc(__VA_ARGS__)
#define kvzalloc(...) uslab_row_kvzalloc(__VA_ARGS__)
#define kvmalloc_array(...) uslab_row_kvmalloc_array(__VA_ARGS__)
#define kvcalloc(...) uslab_row_kvcalloc(__VA_ARGS__)
#define kvmalloc_node_align(...) uslab_row_kvmalloc_node_align(__VA_ARGS__)
#define kvmalloc_node(...) uslab_row_kvmalloc_node(__VA_ARGS__)
#define kvzalloc_node(...) uslab_row_kvzalloc_node(__VA_ARGS__)
#define kvmalloc_array_node(...) uslab_row_kvmalloc_array_node(__VA_ARGS__)
#define kvcalloc_node(...) uslab_row_kvcalloc_node(__VA_ARGS__)
#define kvrealloc(...) uslab_row_kvrealloc(__VA_ARGS__)
#define kvrealloc_node_align(...) uslab_row_kvrealloc_node_align(__VA_ARGS__)
#define USLAB_OF_TYPE(...) __VA_ARGS__
#else
#define USLAB_OF_TYPE(...) USLAB_TAGGED(false, __VA_ARGS__)
#endif

/* ---- by type: kmalloc_obj() and its kin ---- */

#define USLAB_ZERO_kmalloc 0
#define USLAB_ZERO_kzalloc __GFP_ZERO
#define USLAB_ZERO_kvmalloc 0
#define USLAB_ZERO_kvzalloc __GFP_ZERO
#define USLAB_OF_kmalloc uslab_kmalloc_of
#define USLAB_OF_kzalloc uslab_kmalloc_of
#define USLAB_OF_kvmalloc uslab_kvmalloc_of
#define USLAB_OF_kvzalloc uslab_kvmalloc_of
#define USLAB_BY_TYPE(alloc, type, bytes, flags)                            \
	USLAB_OF_TYPE(USLAB_OF_##alloc(bytes, (flags) | USLAB_ZERO_##alloc, \
				       USLAB_SITE_OF(USLAB_TYPE_TOKEN(type))))

#endif /* USLAB_PARTITION_H */
