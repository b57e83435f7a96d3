/* SPDX-License-Identifier: MIT */
/*
 * uslab/fastpath.h - the inline hit paths; include <uslab/slab.h> instead
 *
 * A hit is a pop or a push on the CPU's own array (<uslab/arch/...>); everything else is a call.
 * Without rseq in libc's interface (glibc < 2.35, other CPUs, USLAB_NO_RSEQ) every call goes out
 * of line, with the same results. What a miss does, file by file: docs/ARCHITECTURE.md, "Six
 * walks".
 */
#ifndef USLAB_FASTPATH_H
#define USLAB_FASTPATH_H

#ifndef USLAB_SLAB_H
#error "include <uslab/slab.h>, which includes this"
#endif

#include <uslab/arch/rseq.h>

#ifdef __cplusplus
/* C's casts: a program's warnings are for its own code, also where this is no -isystem. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if USLAB_HAVE_RSEQ && !defined(USLAB_INSIDE)
/*
 * The kernel may read the descriptor of a sequence long after that has run, and kills the program
 * when the descriptor is unmapped. So an object file with sequences (a plug-in that includes this)
 * must stay loaded: its constructor pins it, once, before any of its code can have run a sequence
 * and been unloaded. Weak: a file that uses only constants from here need not be linked with the
 * library. Why: docs/adr/0022.
 */
#pragma weak uslab_pin_object
extern char uslab_is_pinned __attribute__((__weak__, __visibility__("hidden")));
char uslab_is_pinned; /* one per program, library or plug-in */

static __attribute__((__constructor__, __used__)) void uslab_pin_this(void)
{
	if (uslab_is_pinned || !uslab_pin_object)
		return;
	uslab_is_pinned = 1;
	uslab_pin_object(&uslab_is_pinned);
}
#endif

/*
 * Always inline: reports name the caller of the functions called here, which should be the
 * program's function.
 */
#define USLAB_INLINE static inline __attribute__((__always_inline__))
/* An attribute of the inline functions for the compiler. */
#define USLAB_ALIGNED __attribute__((__assume_aligned__(ARCH_KMALLOC_MINALIGN)))
#define USLAB_SIZED(arguments) __attribute__((__malloc__, __alloc_size__ arguments)) USLAB_ALIGNED

/*
 * uslab_known_size - returns p, and lets the compiler know that it has size bytes
 *
 * A pointer from a sequence has no size for __builtin_object_size(): only results of functions with
 * alloc_size do. With _FORTIFY_SOURCE hit and miss end with one such call (Clang takes only one),
 * of a function in the program that returns its argument: four instructions; else there is nothing.
 * Weak and never inlined: the compiler would see that it does nothing, and drop it.
 */
#if USLAB_HAVE_RSEQ && !defined(USLAB_INSIDE) && defined(_FORTIFY_SOURCE)
#if _FORTIFY_SOURCE > 0
#define USLAB_KNOWN_SIZE 1
#endif
#endif
#ifdef USLAB_KNOWN_SIZE
#ifdef __clang__
#define USLAB_OPAQUE __attribute__((__weak__, __visibility__("hidden"), __noinline__))
#else
#define USLAB_OPAQUE __attribute__((__weak__, __visibility__("hidden"), __noipa__))
#endif
USLAB_OPAQUE void *uslab_known_size(void *p, size_t size)
	__attribute__((__alloc_size__(2), __assume_aligned__(ARCH_KMALLOC_MINALIGN)));
USLAB_OPAQUE void *uslab_known_size(void *p, size_t size)
{
	(void)size;
	return p;
}
#else
#define uslab_known_size(p, size) (p)
#endif

/*
 * One object, or NULL. __GFP_ZERO clears kmem_cache_size() bytes of it, those of a constructor
 * among them.
 */
USLAB_ALIGNED USLAB_INLINE void *kmem_cache_alloc(struct kmem_cache *s, gfp_t flags)
{
#if USLAB_HAVE_RSEQ
	void *obj = NULL; /* GCC's -Og warns else */

	if (!(flags & (__GFP_ZERO | __GFP_ACCOUNT)) &&
	    __builtin_expect(uslab_rseq_take(s, uslab_rseq_offset, &obj), 1))
		return obj;
#endif
	return uslab_cache_alloc(s, flags);
}

/*
 * Frees an object of this cache. obj must not be NULL. An object that is free already is reported
 * and ignored, as long as it has the mark of a free object: not if the program has written to it
 * since, nor if it is back in its slab and has 8 bytes, or keeps its bytes while it is free (a
 * constructor) with no spare bytes behind them. A pointer into an object, or to one of another
 * cache, is noticed only when the array is full. docs/debugging.md says which modes notice more.
 */
USLAB_INLINE void kmem_cache_free(struct kmem_cache *s, void *obj)
{
#if USLAB_HAVE_RSEQ
	if (__builtin_expect(uslab_rseq_give(s, obj, uslab_rseq_offset), 1))
		return;
#endif
	uslab_cache_free(s, obj);
}

/**
 * kmem_cache_alloc_bulk - nr objects into p[], all or none
 *
 * The objects, and their order, are those of as many single calls; it takes about half their time
 * from some 8 objects on, and for fewer no more. p[] may be written to beyond what is returned.
 * Returns nr, or 0 when out of memory (nothing is allocated then) or nr is 0 or more than
 * INT32_MAX.
 */
USLAB_MUST_CHECK USLAB_INLINE int kmem_cache_alloc_bulk(struct kmem_cache *s, gfp_t flags,
							size_t nr, void **p)
{
	size_t n = 0;

	if (__builtin_expect(nr - 1 > 1, 1)) { /* none, or more than two */
#if USLAB_HAVE_RSEQ
		if (nr && !(flags & (__GFP_ZERO | __GFP_ACCOUNT))) {
			n = uslab_rseq_take_run(s, uslab_rseq_offset, nr, p);
			if (__builtin_expect(n == nr, 1))
				return (int)nr;
		}
#endif
		return uslab_cache_alloc_bulk(s, flags, nr, p, n);
	}
	/* One and two by single calls: the sequence for several takes as long to set up. */
	if (!(p[0] = kmem_cache_alloc(s, flags)))
		return 0;
	if (nr == 2 && __builtin_expect(!(p[1] = kmem_cache_alloc(s, flags)), 0)) {
		n = 1; /* it tries again, or frees the first */
		return uslab_cache_alloc_bulk(s, flags, nr, p, n);
	}
	return (int)nr;
}

/*
 * Frees nr objects, likewise at once. s == NULL: from any caches that kfree() knows, and kmallocs
 * of all sizes, NULL among them. The last one in p[] is the first to be allocated again, if the
 * cache is LIFO, and as long as a CPU's array has space for all. May permute p[].
 */
USLAB_INLINE void kmem_cache_free_bulk(struct kmem_cache *s, size_t nr, void **p)
{
	size_t n = 0;

	if (!s || __builtin_expect(nr - 1 > 1, 1)) {
#if USLAB_HAVE_RSEQ
		if (s && nr) {
			n = uslab_rseq_give_run(s, uslab_rseq_offset, nr, p);
			if (__builtin_expect(n == nr, 1))
				return;
		}
#endif
		uslab_cache_free_bulk(s, nr - n, p + n);
		return;
	}
	kmem_cache_free(s, p[0]); /* one and two, likewise */
	if (nr == 2)
		kmem_cache_free(s, p[1]);
}
#define kfree_bulk(nr, p) kmem_cache_free_bulk(NULL, (nr), (p))

USLAB_ALIGNED USLAB_INLINE void *kmem_cache_zalloc(struct kmem_cache *s, gfp_t flags)
{
	return kmem_cache_alloc(s, flags | __GFP_ZERO);
}

/* The kernel's index of the kmalloc cache for size, 1..KMALLOC_MAX_CACHE_SIZE. */
static inline unsigned int uslab_kmalloc_index(size_t size)
{
	if (size <= 8)
		return 3;
	if (size > 64 && size <= 96)
		return 1;
	if (size > 128 && size <= 192)
		return 2;
	return 64u - (unsigned int)__builtin_clzl(size - 1);
}

/* size bytes, see uslab_kmalloc(). Inline where the compiler knows size and flags. */
USLAB_SIZED((1)) USLAB_INLINE void *kmalloc(size_t size, gfp_t flags)
{
#if USLAB_HAVE_RSEQ
	if (__builtin_constant_p(size) && __builtin_constant_p(flags) && size > 0 &&
	    size <= KMALLOC_MAX_CACHE_SIZE &&
	    !(flags & (__GFP_DMA | __GFP_RECLAIMABLE | __GFP_ACCOUNT | __GFP_ZERO))) {
		char *handle = (char *)uslab_kmalloc_handles + uslab_kmalloc_index(size) * 8;
		void *obj = NULL;

		if (__builtin_expect(uslab_rseq_pop(handle, uslab_rseq_offset, &obj), 1))
			/* clears the mark: it is not free any more */
			__builtin_memset((char *)obj + USLAB_MARK_OFFSET, 0, 4);
		else
			obj = uslab_kmalloc(size, flags);
		return uslab_known_size(obj, size);
	}
#endif
	return uslab_kmalloc(size, flags);
}

USLAB_SIZED((1)) USLAB_INLINE void *kzalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags | __GFP_ZERO);
}

USLAB_SIZED((1)) USLAB_INLINE void *kzalloc_node(size_t size, gfp_t flags, int node)
{
	return kmalloc_node(size, flags | __GFP_ZERO, node);
}

/* n * size bytes, NULL if the product overflows. */
USLAB_SIZED((1, 2)) USLAB_INLINE void *kmalloc_array(size_t n, size_t size, gfp_t flags)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return uslab_kmalloc(bytes, flags);
}

USLAB_SIZED((1, 2)) USLAB_INLINE void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	return kmalloc_array(n, size, flags | __GFP_ZERO);
}

/* krealloc to new_n * new_size bytes, NULL (p stays valid) if the product overflows. */
__attribute__((__alloc_size__(2, 3))) USLAB_MUST_CHECK USLAB_INLINE void *
krealloc_array(const void *p, size_t new_n, size_t new_size, gfp_t flags)
{
	size_t bytes;

	if (__builtin_mul_overflow(new_n, new_size, &bytes))
		return NULL;
	return krealloc(p, bytes, flags);
}

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif /* USLAB_FASTPATH_H */
