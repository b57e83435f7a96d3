/* SPDX-License-Identifier: MIT */
/*
 * uslab/kmalloc.h - kmalloc's relatives: for any context, by rows, node, count and type; include
 * <uslab/slab.h> instead
 *
 * Most are inline forms of what <uslab/slab.h> and <uslab/fastpath.h> declare. All may be called
 * from any thread, and by signal handlers as kmalloc() may, but where it says more. Products that
 * overflow are NULL.
 */
#ifndef USLAB_KMALLOC_H
#define USLAB_KMALLOC_H

#ifndef USLAB_SLAB_H
#error "include <uslab/slab.h>, which includes this"
#endif

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

/* ---- in the name of another function ---- */

/*
 * kmalloc_node() for a function that allocates in another one's name: reports, tracks and tools
 * name caller, an address in the program.
 */
USLAB_API void *uslab_kmalloc_caller(size_t size, gfp_t flags, int node, const void *caller)
	__attribute__((__malloc__, __alloc_size__(1), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));

/* ---- in any context ---- */

/**
 * kmalloc_nolock - size bytes of a kmalloc cache, in any context (kernel: since 6.18)
 * @size:  at most KMALLOC_MAX_CACHE_SIZE bytes, else NULL; 0: ZERO_SIZE_PTR
 * @flags: __GFP_ZERO, __GFP_ACCOUNT (without effect here), or 0. With others: NULL, and a line on
 *         standard error the first time
 * @node:  tried first; NUMA_NO_NODE: the CPU's
 *
 * Never waits for a lock of the library: not for one that the calling thread holds (it is in a
 * signal handler, which interrupted the library), nor for another thread's. Makes no system call.
 * Takes what the CPU holds, or an object or pages that are free now and not locked; once more of
 * the next larger size. NULL says that there was none: to try again at once is no use.
 * Alignment as kmalloc(). kfree_nolock(), kfree() and kfree_rcu() free it, and ksize(), krealloc()
 * take it. Any thread, any signal handler; errno stays.
 */
USLAB_API void *kmalloc_nolock(size_t size, gfp_t flags, int node)
	__attribute__((__malloc__, __alloc_size__(1),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;
/* The same: the node is an argument of both. */
USLAB_API void *kmalloc_nolock_node(size_t size, gfp_t flags, int node)
	__attribute__((__malloc__, __alloc_size__(1),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;

/**
 * kfree_nolock - frees what kmalloc_nolock() or kmalloc() returned, in any context
 * @p: NULL and ZERO_SIZE_PTR are ignored
 *
 * Never waits, as kmalloc_nolock(). What cannot be freed so is freed later: by the next call of
 * this thread that is no hit (kmalloc(), kfree() and all others), by its next call of these
 * functions outside of the library, or by the next kmem_cache_shrink(), kmem_cache_destroy() or
 * uslab_trim() of any thread. So are reports of wrong pointers. The first free that has to wait
 * so makes up to two system calls. Any thread, any signal handler; errno stays.
 */
USLAB_API void kfree_nolock(const void *p);

/*
 * ---- rows of kmalloc's caches (kernel: since 6.6 by code location, since 7.2 by type) ----
 *
 * With USLAB_CONF=kmalloc.partition there are 16 caches for each size, kmalloc-64 and
 * kmalloc-part-01-64 to kmalloc-part-15-64. They are made when they are needed. What the functions
 * here do in the name of a site other code has by <uslab/partition.h>, which <uslab/slab.h>
 * includes if USLAB_KMALLOC_PARTITION is defined.
 */

/**
 * struct uslab_kmalloc_site - a place in a program where memory is allocated; static, one for each
 * @row:   the library's, for hits: set by the first call; uslab_kmalloc_no_row until then
 * @token: of the type that is allocated, as the compiler numbers types: 0 to 15, or any if those
 *         above count by their upper 4 bits; 0: unknown
 */
struct uslab_kmalloc_site {
	struct kmem_cache **row;
	unsigned long token;
};

/* A row whose handles always miss. */
USLAB_API extern struct kmem_cache *uslab_kmalloc_no_row[16];

/*
 * kmalloc_node(), kvmalloc_node_align(), krealloc_node_align() and kvrealloc_node_align() of a
 * site: with kmalloc.partition=random its address is the code location, with typed its token is the
 * type, else it is without effect. site NULL: by the caller's address, and of unknown type. A
 * request with __GFP_RECLAIMABLE has no rows.
 */
USLAB_API void *uslab_kmalloc_at(size_t size, gfp_t flags, int node,
				 struct uslab_kmalloc_site *site)
	__attribute__((__malloc__, __alloc_size__(1), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));
USLAB_API void *uslab_kvmalloc_at(size_t size, size_t align, gfp_t flags, int node,
				  struct uslab_kmalloc_site *site)
	__attribute__((__malloc__, __alloc_size__(1), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));
USLAB_API void *uslab_krealloc_at(const void *p, size_t new_size, size_t align, gfp_t flags,
				  int node, struct uslab_kmalloc_site *site)
	__attribute__((__alloc_size__(2),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;
USLAB_API void *uslab_kvrealloc_at(const void *p, size_t new_size, size_t align, gfp_t flags,
				   int node, struct uslab_kmalloc_site *site)
	__attribute__((__alloc_size__(2),
		       __assume_aligned__(ARCH_KMALLOC_MINALIGN))) USLAB_MUST_CHECK;

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
	USLAB_CAST(__typeof__(type) *, USLAB_BY_TYPE(alloc, type, sizeof(type), (flags)))
#define USLAB_OBJS(alloc, type, n, flags) \
	USLAB_CAST(__typeof__(type) *,    \
		   USLAB_BY_TYPE(alloc, type, uslab_product((n), sizeof(type)), (flags)))
#define USLAB_FLEX(alloc, type, member, n, flags)                                                 \
	(__extension__({                                                                          \
		size_t uslab_n = (n);                                                             \
		__typeof__(type) *uslab_flex = USLAB_CAST(                                        \
			__typeof__(type) *,                                                       \
			USLAB_BY_TYPE(                                                            \
				alloc, type,                                                      \
				uslab_sum(sizeof(type),                                           \
					  uslab_product(uslab_n, sizeof(uslab_flex->member[0]))), \
				(flags)));                                                        \
                                                                                                  \
		if (uslab_flex)                                                                   \
			USLAB_SET_COUNTER(uslab_flex->member, uslab_n);                           \
		uslab_flex;                                                                       \
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
