/* SPDX-License-Identifier: MIT */
/*
 * uslab/kmalloc.h - kmalloc's relatives by node, count and type; include <uslab/slab.h> instead
 *
 * Inline forms of what <uslab/slab.h> and <uslab/fastpath.h> declare. All may be called from any
 * thread, and by signal handlers as kmalloc() may. Products that overflow are NULL.
 */
#ifndef USLAB_KMALLOC_H
#define USLAB_KMALLOC_H

#ifdef __cplusplus
extern "C" {
#endif

/* More than can be allocated; GCC warns of a call that may ask for more than this. */
#define USLAB_TOO_LARGE (SIZE_MAX / 2)

/* n * size; USLAB_TOO_LARGE if that overflows. */
static inline size_t uslab_product(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? USLAB_TOO_LARGE : bytes;
}

/* a + b, at most USLAB_TOO_LARGE. a is the size of a type. */
static inline size_t uslab_sum(size_t a, size_t b)
{
	return b > USLAB_TOO_LARGE - a ? USLAB_TOO_LARGE : a + b;
}

/* ---- by node, and by count on a node ---- */

USLAB_SIZED((1, 2))
USLAB_INLINE void *kmalloc_array_node(size_t n, size_t size, gfp_t flags, int node)
{
	return kmalloc_node(uslab_product(n, size), flags, node);
}

USLAB_SIZED((1, 2)) USLAB_INLINE void *kcalloc_node(size_t n, size_t size, gfp_t flags, int node)
{
	return kmalloc_array_node(n, size, flags | __GFP_ZERO, node);
}

__attribute__((__alloc_size__(2))) USLAB_MUST_CHECK USLAB_INLINE void *
krealloc_node(const void *p, size_t new_size, gfp_t flags, int node)
{
	return krealloc_node_align(p, new_size, 1, flags, node);
}

/* ---- in the name of the caller's caller: for functions that only pass memory on ---- */

USLAB_SIZED((1))
USLAB_INLINE void *kmalloc_node_track_caller(size_t size, gfp_t flags, int node)
{
	return uslab_kmalloc_caller(size, flags, node, __builtin_return_address(0));
}

USLAB_SIZED((1)) USLAB_INLINE void *kmalloc_track_caller(size_t size, gfp_t flags)
{
	return uslab_kmalloc_caller(size, flags, NUMA_NO_NODE, __builtin_return_address(0));
}

USLAB_SIZED((2))
USLAB_INLINE void *kmem_buckets_alloc_track_caller(kmem_buckets *b, size_t size, gfp_t flags)
{
	return uslab_kmalloc_buckets(b, size, flags, __builtin_return_address(0));
}

/* ---- kvmalloc ---- */

USLAB_SIZED((1)) USLAB_INLINE void *kvmalloc_node(size_t size, gfp_t flags, int node)
{
	return kvmalloc_node_align(size, 1, flags, node);
}

/* A size that the compiler knows to be a cache's is kmalloc(), inline. */
USLAB_SIZED((1)) USLAB_INLINE void *kvmalloc(size_t size, gfp_t flags)
{
	if (__builtin_constant_p(size) && size <= KMALLOC_MAX_CACHE_SIZE)
		return kmalloc(size, flags);
	return kvmalloc_node_align(size, 1, flags, NUMA_NO_NODE);
}

USLAB_SIZED((1)) USLAB_INLINE void *kvzalloc(size_t size, gfp_t flags)
{
	return kvmalloc(size, flags | __GFP_ZERO);
}

USLAB_SIZED((1)) USLAB_INLINE void *kvzalloc_node(size_t size, gfp_t flags, int node)
{
	return kvmalloc_node(size, flags | __GFP_ZERO, node);
}

USLAB_SIZED((1, 2))
USLAB_INLINE void *kvmalloc_array_node(size_t n, size_t size, gfp_t flags, int node)
{
	return kvmalloc_node(uslab_product(n, size), flags, node);
}

USLAB_SIZED((1, 2)) USLAB_INLINE void *kvmalloc_array(size_t n, size_t size, gfp_t flags)
{
	return kvmalloc(uslab_product(n, size), flags);
}

USLAB_SIZED((1, 2)) USLAB_INLINE void *kvcalloc_node(size_t n, size_t size, gfp_t flags, int node)
{
	return kvmalloc_array_node(n, size, flags | __GFP_ZERO, node);
}

USLAB_SIZED((1, 2)) USLAB_INLINE void *kvcalloc(size_t n, size_t size, gfp_t flags)
{
	return kvmalloc_array(n, size, flags | __GFP_ZERO);
}

__attribute__((__alloc_size__(2))) USLAB_MUST_CHECK USLAB_INLINE void *
kvrealloc(const void *p, size_t new_size, gfp_t flags)
{
	return kvrealloc_node_align(p, new_size, 1, flags, NUMA_NO_NODE);
}

USLAB_INLINE void kvfree(const void *p)
{
	kfree(p);
}

/* Clears the whole block, of which the program used size bytes, and frees it. */
USLAB_INLINE void kvfree_sensitive(const void *p, size_t size)
{
	(void)size;
	kfree_sensitive(p);
}

/* ---- what kernel code calls and user space has no more to do for ---- */

/* Whether allocations are possible: always, see uslab(3) for what runs before the library. */
USLAB_INLINE bool slab_is_available(void)
{
	return true;
}

/* What is this pointer? As uslab_dump_obj(). */
USLAB_INLINE bool kmem_dump_obj(void *object)
{
	return uslab_dump_obj(object);
}

struct list_lru;

/* kmem_cache_alloc(): lru only matters to memory cgroups. */
USLAB_ALIGNED USLAB_INLINE void *kmem_cache_alloc_lru(struct kmem_cache *s, struct list_lru *lru,
						      gfp_t flags)
{
	(void)lru;
	return kmem_cache_alloc(s, flags);
}

/* Charges an object to a memory cgroup; there are none, so this is always done. */
USLAB_INLINE bool kmem_cache_charge(void *object, gfp_t flags)
{
	(void)object;
	(void)flags;
	return true;
}

/*
 * ---- by type ----
 *
 * The result is a pointer to the type; what is given for it is a type, or an expression that has
 * it, which is not evaluated: kmalloc_obj(struct point), kmalloc_obj(*p). The last argument, flags,
 * may be left out: GFP_KERNEL. Macros, for C99 and C++11 or later.
 *
 * _obj: one; _objs(type, n): an array of n; _flex(type, member, n): one with n elements of its last
 * member, an array without a size. If that has the attribute counted_by and the compiler tells who
 * counts it (GCC 15, Clang 21), the counter is set to n; that n fits it is not checked, as in the
 * kernel. Arguments are evaluated once.
 */
#if !defined(__cplusplus) || __cplusplus >= 201103L
#define USLAB_1ST(a, ...) a
#define USLAB_2ND(a, b, ...) b
#define USLAB_3RD(a, b, c, ...) c
#define USLAB_4TH(a, b, c, d, ...) d

/* <uslab/partition.h> has another one, which says the type. */
#ifndef USLAB_KMALLOC_PARTITION
#define USLAB_BY_TYPE(alloc, type, bytes, flags) alloc(bytes, flags)
#endif

#define USLAB_OBJ(alloc, type, flags) \
	((__typeof__(type) *)USLAB_BY_TYPE(alloc, type, sizeof(type), (flags)))
#define USLAB_OBJS(alloc, type, n, flags) \
	((__typeof__(type) *)USLAB_BY_TYPE(alloc, type, uslab_product((n), sizeof(type)), (flags)))
#define USLAB_FLEX(alloc, type, member, n, flags)                                         \
	(__extension__({                                                                  \
		size_t uslab_n = (n);                                                     \
		__typeof__(type) *uslab_flex = (__typeof__(type) *)USLAB_BY_TYPE(         \
			alloc, type,                                                      \
			uslab_sum(sizeof(type),                                           \
				  uslab_product(uslab_n, sizeof(uslab_flex->member[0]))), \
			(flags));                                                         \
                                                                                          \
		if (uslab_flex)                                                           \
			USLAB_SET_COUNTER(uslab_flex->member, uslab_n);                   \
		uslab_flex;                                                               \
	}))

#ifndef __has_builtin
#define USLAB_SET_COUNTER(array, n) ((void)0)
#elif !defined(__cplusplus) && __has_builtin(__builtin_counted_by_ref)
/* The builtin is a void pointer where nobody counts. */
#define USLAB_SET_COUNTER(array, n) \
	((void)(*_Generic(__builtin_counted_by_ref(array), void * \
			  : &(size_t){ 0 }, default             \
			  : __builtin_counted_by_ref(array)) = (n)))
#else
#define USLAB_SET_COUNTER(array, n) ((void)0)
#endif

#define USLAB_OBJ_OF(alloc, ...) \
	USLAB_OBJ(alloc, USLAB_1ST(__VA_ARGS__, 0), USLAB_2ND(__VA_ARGS__, GFP_KERNEL, 0))
#define USLAB_OBJS_OF(alloc, ...)                                               \
	USLAB_OBJS(alloc, USLAB_1ST(__VA_ARGS__, 0), USLAB_2ND(__VA_ARGS__, 0), \
		   USLAB_3RD(__VA_ARGS__, GFP_KERNEL, 0))
#define USLAB_FLEX_OF(alloc, ...)                                               \
	USLAB_FLEX(alloc, USLAB_1ST(__VA_ARGS__, 0), USLAB_2ND(__VA_ARGS__, 0), \
		   USLAB_3RD(__VA_ARGS__, 0), USLAB_4TH(__VA_ARGS__, GFP_KERNEL, 0))

#define kmalloc_obj(...) USLAB_OBJ_OF(kmalloc, __VA_ARGS__)
#define kmalloc_objs(...) USLAB_OBJS_OF(kmalloc, __VA_ARGS__)
#define kmalloc_flex(...) USLAB_FLEX_OF(kmalloc, __VA_ARGS__)
#define kzalloc_obj(...) USLAB_OBJ_OF(kzalloc, __VA_ARGS__)
#define kzalloc_objs(...) USLAB_OBJS_OF(kzalloc, __VA_ARGS__)
#define kzalloc_flex(...) USLAB_FLEX_OF(kzalloc, __VA_ARGS__)
#define kvmalloc_obj(...) USLAB_OBJ_OF(kvmalloc, __VA_ARGS__)
#define kvmalloc_objs(...) USLAB_OBJS_OF(kvmalloc, __VA_ARGS__)
#define kvmalloc_flex(...) USLAB_FLEX_OF(kvmalloc, __VA_ARGS__)
#define kvzalloc_obj(...) USLAB_OBJ_OF(kvzalloc, __VA_ARGS__)
#define kvzalloc_objs(...) USLAB_OBJS_OF(kvzalloc, __VA_ARGS__)
#define kvzalloc_flex(...) USLAB_FLEX_OF(kvzalloc, __VA_ARGS__)
#endif

#ifdef __cplusplus
}

/* The four-argument form, see <uslab/slab.h>. */
static inline struct kmem_cache *kmem_cache_create(const char *name, unsigned int size,
						   const struct kmem_cache_args *args,
						   slab_flags_t flags)
{
	return kmem_cache_create_args(name, size, args, flags);
}
#endif

#endif /* USLAB_KMALLOC_H */
