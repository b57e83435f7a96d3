/* SPDX-License-Identifier: MIT */
/*
 * uslab/mempool.h - memory pools: some elements are kept, so that allocations do not fail
 *
 * The kernel has these names in <linux/mempool.h>. A pool keeps min_nr elements that were
 * allocated beforehand. mempool_alloc() takes one of them where its allocation function fails;
 * mempool_free() puts elements back until min_nr are kept, and gives the others to its free
 * function. So whoever may wait gets an element as soon as one of min_nr others frees theirs.
 *
 * Any thread may call all of these for the same pool, but while it is made or ended. Signal
 * handlers may call those that allocate and free elements, if the pool's own functions may be
 * called by them; the others not. One that interrupted this library where it holds a lock never
 * waits: it gets NULL where it would have to, and frees are deferred until its thread has left that
 * call. A child of fork() may go on using every pool; elements that threads of the parent have stay
 * with these.
 *
 * Sizes are in bytes. Why it is as it is: docs/adr/0041.
 */
#ifndef USLAB_MEMPOOL_H
#define USLAB_MEMPOOL_H

#include <uslab/slab.h>

#ifdef __cplusplus
#pragma GCC diagnostic push /* as in fastpath.h */
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An element, or NULL. pool_data: what the pool was made with. */
typedef void *(mempool_alloc_t)(gfp_t flags, void *pool_data);
typedef void(mempool_free_t)(void *element, void *pool_data);

struct uslab_mempool_kind; /* of the allocation functions below */

/* For programs to embed, and to read; all zero: no pool yet. */
typedef struct mempool {
	int min_nr;	 /* elements that are kept for who cannot get others; atomic */
	int curr_nr;	 /* that are kept now; atomic */
	void **elements; /* these, the last one is taken first */
	void *pool_data;
	mempool_alloc_t *alloc;
	mempool_free_t *free;
	struct {
		unsigned int threads; /* that wait for elements */
		unsigned int several; /* of these: for several at once */
		unsigned int wakeups; /* so far */
	} wait;
	const struct uslab_mempool_kind *kind; /* NULL: functions of the program */
} mempool_t;

/* Is there a pool? In memory that was all zero before. */
USLAB_INLINE bool mempool_initialized(mempool_t *pool)
{
	return __atomic_load_n(&pool->elements, __ATOMIC_RELAXED) != NULL;
}

/* Are as many elements kept as there should be? True a moment ago. */
USLAB_INLINE bool mempool_is_saturated(mempool_t *pool)
{
	return __atomic_load_n(&pool->curr_nr, __ATOMIC_RELAXED) >=
	       __atomic_load_n(&pool->min_nr, __ATOMIC_RELAXED);
}

/* ---- pools ---- */

/**
 * mempool_init_node - makes a pool in memory of the caller
 * @min_nr: 0 or more elements, which are allocated now
 * @alloc_fn: returns NULL if it can give none; must not wait for elements of the same pool. It is
 *          called with flags without __GFP_DIRECT_RECLAIM and __GFP_IO first
 * @free_fn: takes what alloc_fn returned
 * @flags, @node: of the elements and of the table of them; node NUMA_NO_NODE: any
 *
 * Returns 0; -ENOMEM; -EINVAL: min_nr is negative, a function is NULL, or alloc_fn is
 * mempool_alloc_slab() of a cache with a constructor, whose objects a pool would overwrite. Then
 * nothing is left to free. Contents of elements are undefined, whatever the flags say.
 */
USLAB_API int mempool_init_node(mempool_t *pool, int min_nr, mempool_alloc_t *alloc_fn,
				mempool_free_t *free_fn, void *pool_data, gfp_t flags,
				int node) USLAB_MUST_CHECK;

USLAB_MUST_CHECK USLAB_INLINE int mempool_init(mempool_t *pool, int min_nr,
					       mempool_alloc_t *alloc_fn, mempool_free_t *free_fn,
					       void *pool_data)
{
	return mempool_init_node(pool, min_nr, alloc_fn, free_fn, pool_data, GFP_KERNEL,
				 NUMA_NO_NODE);
}

/*
 * Frees the elements that a pool of mempool_init() keeps, and the table of them. Elements that are
 * out must have come back, and nobody may wait. Nothing if the memory is all zero, and if called
 * again.
 */
USLAB_API void mempool_exit(mempool_t *pool);

/* The same in memory of its own, which mempool_destroy() frees; NULL where that fails. */
USLAB_API mempool_t *mempool_create_node(int min_nr, mempool_alloc_t *alloc_fn,
					 mempool_free_t *free_fn, void *pool_data, gfp_t flags,
					 int node) USLAB_MUST_CHECK;

USLAB_MUST_CHECK USLAB_INLINE mempool_t *mempool_create(int min_nr, mempool_alloc_t *alloc_fn,
							mempool_free_t *free_fn, void *pool_data)
{
	return mempool_create_node(min_nr, alloc_fn, free_fn, pool_data, GFP_KERNEL, NUMA_NO_NODE);
}

/* NULL is ignored. */
USLAB_API void mempool_destroy(mempool_t *pool);

/**
 * mempool_resize - changes how many elements are kept
 *
 * Others may use the pool meanwhile. What is too much is freed. What is missing is allocated, or,
 * if there is no memory for it now, kept of what comes back. Returns 0; -EINVAL: min_nr is
 * negative; -ENOMEM: no memory for the table, and nothing changed.
 */
USLAB_API int mempool_resize(mempool_t *pool, int min_nr) USLAB_MUST_CHECK;

/* ---- elements ---- */

/**
 * mempool_alloc - an element of the pool's allocation function, or else a kept one
 *
 * With __GFP_DIRECT_RECLAIM (GFP_KERNEL, GFP_NOIO, ...) it does not return NULL, but waits until an
 * element is freed; it tries the allocation function every five seconds, too. Without it
 * (GFP_NOWAIT, GFP_ATOMIC) NULL says that there is none. Who waits first need not get the first
 * element. __GFP_ZERO is not supported, as in the kernel: it is ignored, and said so once.
 */
USLAB_API void *mempool_alloc(mempool_t *pool, gfp_t flags) USLAB_MUST_CHECK;

/* A kept element, or NULL; does not call the allocation function, and does not wait. */
USLAB_API void *mempool_alloc_preallocated(mempool_t *pool) USLAB_MUST_CHECK;

/**
 * mempool_alloc_bulk - fills the empty slots of an array, as mempool_alloc() with GFP_KERNEL
 * @elements:  count slots; NULL: empty
 * @allocated: how many are not empty; only a hint
 *
 * Kept elements are taken all at once, so that threads that each have some of what they need do not
 * wait for one another. Returns 0; -EINVAL: count is greater than min_nr, and nothing was done;
 * -ENOMEM: a signal handler that cannot wait, and slots are still empty.
 */
USLAB_API int mempool_alloc_bulk(mempool_t *pool, void **elements, unsigned int count,
				 unsigned int allocated);

/* Gives an element back; NULL is ignored. Wakes who waits. */
USLAB_API void mempool_free(void *element, mempool_t *pool);

/*
 * Gives elements back as far as the pool keeps them, from the first one on, and makes these slots
 * NULL. Returns how many; the others are left for the caller to free. None may be NULL.
 */
USLAB_API unsigned int mempool_free_bulk(mempool_t *pool, void **elements, unsigned int count);

/*
 * ---- allocation functions for pools ----
 *
 * pool_data: a cache (slab); a size (kmalloc, kvmalloc); an order, of 2^order pages of 4096 bytes
 * (pages). There is no struct page here: an element of mempool_alloc_pages() is the address of the
 * first byte, a multiple of its size, and not NULL; an order above KMALLOC_MAX_ORDER gives NULL.
 */
USLAB_API void *mempool_alloc_slab(gfp_t flags, void *pool_data);
USLAB_API void mempool_free_slab(void *element, void *pool_data);
USLAB_API void *mempool_kmalloc(gfp_t flags, void *pool_data);
USLAB_API void mempool_kfree(void *element, void *pool_data);
USLAB_API void *mempool_kvmalloc(gfp_t flags, void *pool_data);
USLAB_API void mempool_kvfree(void *element, void *pool_data);
USLAB_API void *mempool_alloc_pages(gfp_t flags, void *pool_data);
USLAB_API void mempool_free_pages(void *element, void *pool_data);

USLAB_MUST_CHECK USLAB_INLINE int mempool_init_slab_pool(mempool_t *pool, int min_nr,
							 struct kmem_cache *s)
{
	return mempool_init(pool, min_nr, mempool_alloc_slab, mempool_free_slab, s);
}

USLAB_MUST_CHECK USLAB_INLINE mempool_t *mempool_create_slab_pool(int min_nr, struct kmem_cache *s)
{
	return mempool_create(min_nr, mempool_alloc_slab, mempool_free_slab, s);
}

USLAB_MUST_CHECK USLAB_INLINE int mempool_init_kmalloc_pool(mempool_t *pool, int min_nr,
							    size_t size)
{
	return mempool_init(pool, min_nr, mempool_kmalloc, mempool_kfree, (void *)size);
}

USLAB_MUST_CHECK USLAB_INLINE mempool_t *mempool_create_kmalloc_pool(int min_nr, size_t size)
{
	return mempool_create(min_nr, mempool_kmalloc, mempool_kfree, (void *)size);
}

USLAB_MUST_CHECK USLAB_INLINE int mempool_init_kvmalloc_pool(mempool_t *pool, int min_nr,
							     size_t size)
{
	return mempool_init(pool, min_nr, mempool_kvmalloc, mempool_kvfree, (void *)size);
}

USLAB_MUST_CHECK USLAB_INLINE mempool_t *mempool_create_kvmalloc_pool(int min_nr, size_t size)
{
	return mempool_create(min_nr, mempool_kvmalloc, mempool_kvfree, (void *)size);
}

USLAB_MUST_CHECK USLAB_INLINE int mempool_init_page_pool(mempool_t *pool, int min_nr, int order)
{
	return mempool_init(pool, min_nr, mempool_alloc_pages, mempool_free_pages,
			    (void *)(long)order);
}

USLAB_MUST_CHECK USLAB_INLINE mempool_t *mempool_create_page_pool(int min_nr, int order)
{
	return mempool_create(min_nr, mempool_alloc_pages, mempool_free_pages, (void *)(long)order);
}

/*
 * ---- with tags, see <uslab/alloc_tag.h> ----
 *
 * Elements of the functions above are counted for who gets them first; one that is kept when it is
 * freed stays counted. What the macros call; signal handlers may call the first.
 */
struct alloc_tag;
USLAB_API void uslab_alloc_tag_add_elements(struct alloc_tag *tag, const mempool_t *pool, size_t nr,
					    void *const *elements);
USLAB_API void uslab_alloc_tag_add_pool(struct alloc_tag *tag, const mempool_t *pool);

#ifdef __cplusplus
}
#endif

#ifdef USLAB_MEM_ALLOC_PROFILING
/* names: a tag, the pool, what the call returns */
#define USLAB_TAGGED_ELEMENT(id, pool, call) \
	USLAB_TAGGED_ELEMENT1(USLAB_CAT(uslab_tag_, id), USLAB_CAT(uslab_p_, id), pool, call)
#define USLAB_TAGGED_ELEMENT1(tag, p, pool, call)                          \
	__extension__({                                                    \
		DEFINE_ALLOC_TAG(tag);                                     \
		void *p = (call);                                          \
		if (p && mem_alloc_profiling_enabled())                    \
			uslab_alloc_tag_add_elements(&tag, (pool), 1, &p); \
		p;                                                         \
	})
#define USLAB_TAGGED_ELEMENTS(id, pool, nr, p, call)                                            \
	USLAB_TAGGED_ELEMENTS1(USLAB_CAT(uslab_tag_, id), USLAB_CAT(uslab_r_, id), pool, nr, p, \
			       call)
#define USLAB_TAGGED_ELEMENTS1(tag, ret, pool, nr, p, call)                    \
	__extension__({                                                        \
		DEFINE_ALLOC_TAG(tag);                                         \
		int ret = (call);                                              \
		if (!ret && mem_alloc_profiling_enabled())                     \
			uslab_alloc_tag_add_elements(&tag, (pool), (nr), (p)); \
		ret;                                                           \
	})
#define USLAB_TAGGED_INIT(id, pool, call) \
	USLAB_TAGGED_INIT1(USLAB_CAT(uslab_tag_, id), USLAB_CAT(uslab_r_, id), pool, call)
#define USLAB_TAGGED_INIT1(tag, ret, pool, call)                \
	__extension__({                                         \
		DEFINE_ALLOC_TAG(tag);                          \
		int ret = (call);                               \
		if (!ret && mem_alloc_profiling_enabled())      \
			uslab_alloc_tag_add_pool(&tag, (pool)); \
		ret;                                            \
	})
#define USLAB_TAGGED_POOL(id, call) \
	USLAB_TAGGED_POOL1(USLAB_CAT(uslab_tag_, id), USLAB_CAT(uslab_p_, id), call)
#define USLAB_TAGGED_POOL1(tag, p, call)                   \
	__extension__({                                    \
		DEFINE_ALLOC_TAG(tag);                     \
		mempool_t *p = (call);                     \
		if (p && mem_alloc_profiling_enabled())    \
			uslab_alloc_tag_add_pool(&tag, p); \
		p;                                         \
	})

/* pool and elements are evaluated twice. */
#define mempool_alloc(pool, flags) \
	USLAB_TAGGED_ELEMENT(__COUNTER__, pool, (mempool_alloc)(pool, flags))
#define mempool_alloc_preallocated(pool) \
	USLAB_TAGGED_ELEMENT(__COUNTER__, pool, (mempool_alloc_preallocated)(pool))
#define mempool_alloc_bulk(pool, elements, count, allocated)      \
	USLAB_TAGGED_ELEMENTS(__COUNTER__, pool, count, elements, \
			      (mempool_alloc_bulk)(pool, elements, count, allocated))
#define mempool_init_node(pool, ...) \
	USLAB_TAGGED_INIT(__COUNTER__, pool, (mempool_init_node)(pool, __VA_ARGS__))
#define mempool_init(pool, ...) \
	USLAB_TAGGED_INIT(__COUNTER__, pool, (mempool_init)(pool, __VA_ARGS__))
#define mempool_init_slab_pool(pool, ...) \
	USLAB_TAGGED_INIT(__COUNTER__, pool, (mempool_init_slab_pool)(pool, __VA_ARGS__))
#define mempool_init_kmalloc_pool(pool, ...) \
	USLAB_TAGGED_INIT(__COUNTER__, pool, (mempool_init_kmalloc_pool)(pool, __VA_ARGS__))
#define mempool_init_kvmalloc_pool(pool, ...) \
	USLAB_TAGGED_INIT(__COUNTER__, pool, (mempool_init_kvmalloc_pool)(pool, __VA_ARGS__))
#define mempool_init_page_pool(pool, ...) \
	USLAB_TAGGED_INIT(__COUNTER__, pool, (mempool_init_page_pool)(pool, __VA_ARGS__))
#define mempool_create_node(...) USLAB_TAGGED_POOL(__COUNTER__, (mempool_create_node)(__VA_ARGS__))
#define mempool_create(...) USLAB_TAGGED_POOL(__COUNTER__, (mempool_create)(__VA_ARGS__))
#define mempool_create_slab_pool(...) \
	USLAB_TAGGED_POOL(__COUNTER__, (mempool_create_slab_pool)(__VA_ARGS__))
#define mempool_create_kmalloc_pool(...) \
	USLAB_TAGGED_POOL(__COUNTER__, (mempool_create_kmalloc_pool)(__VA_ARGS__))
#define mempool_create_kvmalloc_pool(...) \
	USLAB_TAGGED_POOL(__COUNTER__, (mempool_create_kvmalloc_pool)(__VA_ARGS__))
#define mempool_create_page_pool(...) \
	USLAB_TAGGED_POOL(__COUNTER__, (mempool_create_page_pool)(__VA_ARGS__))
#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif /* USLAB_MEMPOOL_H */
