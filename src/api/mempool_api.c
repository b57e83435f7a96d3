/* SPDX-License-Identifier: MIT */
/*
 * api/mempool_api.c - public functions on memory pools (<uslab/mempool.h>)
 *
 * Why:        docs/adr/0041.
 * Data:       none.
 * Invariants: the pool's functions are called with no lock held.
 * Locks:      none.
 * Flow:       called by programs; calls mempool_kinds.c, resize_api.c, cache/kmalloc/kmalloc.c,
 *             cache/mempool/, os/lock/wait.c, page/nested.c, and the pool's functions.
 */
#include <errno.h>
#include <string.h>

#include "api/mempool.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/mempool/check.h"
#include "cache/mempool/elements.h"
#include "os/lock/wait.h"
#include "os/process/say.h"
#include "page/nested.h"

#define WAIT_MS 5000 /* between two tries of who waits (spec 5.12) */

static void *allocate(const mempool_t *pool, gfp_t flags, const void *caller)
{
	return pool->kind ? pool->kind->alloc(flags, pool->pool_data, caller)
			  : pool->alloc(flags, pool->pool_data);
}

static void release(const mempool_t *pool, void *element, const void *caller)
{
	if (pool->kind)
		pool->kind->free(element, pool->pool_data, caller);
	else
		pool->free(element, pool->pool_data);
}

/* ---- pools ---- */

static void **make_table(int min_nr, gfp_t flags, int node, const void *caller)
{
	return api_kvmalloc((size_t)MAX(min_nr, 1) * sizeof(void *), 0, flags, node, caller);
}

/* Allocates what is missing. false: there is no memory for all of it. */
static bool fill(mempool_t *pool, gfp_t flags, const void *caller)
{
	while (!mempool_is_saturated(pool)) {
		void *element = allocate(pool, flags, caller);

		if (!element)
			return false;
		if (elements_give(pool, element, ELEMENTS_LOOK_NONE) == ELEMENTS_KEPT)
			continue;
		release(pool, element, caller); /* others have filled it */
	}
	return true;
}

static void free_surplus(mempool_t *pool, const void *caller)
{
	void *element;

	while ((element = elements_take_surplus(pool)))
		release(pool, element, caller);
}

static bool is_constructed(const mempool_t *pool)
{
	return pool->alloc == mempool_alloc_slab && cache_of(pool->pool_data)->engine.ctor;
}

/* What it keeps is freed; again: nothing. */
static void end(mempool_t *pool, const void *caller)
{
	void **none = NULL;

	if (!mempool_initialized(pool))
		return;
	nested_settle(); /* elements that handlers freed are to come back */
	elements_resize(pool, 0, &none);
	free_surplus(pool, caller);
	kmalloc_free(pool->elements, caller);
	pool->elements = NULL;
}

/* pool has its functions and min_nr. Else nothing is left to free. */
static int start(mempool_t *pool, gfp_t flags, int node, const void *caller)
{
	if (pool->min_nr < 0 || !pool->alloc || !pool->free)
		return -EINVAL;
	if (is_constructed(pool)) {
		os_say("mempool_init(): objects of %s have a constructor, and a pool overwrites "
		       "them",
		       cache_of(pool->pool_data)->name);
		return -EINVAL;
	}
	pool->kind = api_mempool_kind(pool->alloc, pool->free);
	pool->elements = make_table(pool->min_nr, flags, node, caller);
	if (!pool->elements)
		return -ENOMEM;
	if (fill(pool, flags & ~__GFP_ZERO, caller))
		return 0;
	end(pool, caller);
	return -ENOMEM;
}

USLAB_API int mempool_init_node(mempool_t *pool, int min_nr, mempool_alloc_t *alloc_fn,
				mempool_free_t *free_fn, void *pool_data, gfp_t flags, int node)
{
	*pool = (mempool_t){
		.min_nr = min_nr, .pool_data = pool_data, .alloc = alloc_fn, .free = free_fn
	};
	return start(pool, flags, node, __builtin_return_address(0));
}

USLAB_API void mempool_exit(mempool_t *pool)
{
	end(pool, __builtin_return_address(0));
}

USLAB_API mempool_t *mempool_create_node(int min_nr, mempool_alloc_t *alloc_fn,
					 mempool_free_t *free_fn, void *pool_data, gfp_t flags,
					 int node)
{
	const void *caller = __builtin_return_address(0);
	mempool_t *pool = api_kmalloc(sizeof(*pool), flags, node, caller);

	if (!pool)
		return NULL;
	*pool = (mempool_t){
		.min_nr = min_nr, .pool_data = pool_data, .alloc = alloc_fn, .free = free_fn
	};
	if (!start(pool, flags, node, caller))
		return pool;
	kmalloc_free(pool, caller);
	return NULL;
}

USLAB_API void mempool_destroy(mempool_t *pool)
{
	const void *caller = __builtin_return_address(0);

	if (!pool)
		return;
	end(pool, caller);
	kmalloc_free(pool, caller);
}

USLAB_API int mempool_resize(mempool_t *pool, int min_nr)
{
	const void *caller = __builtin_return_address(0);
	void **table = NULL;

	if (min_nr < 0)
		return -EINVAL;
	while (!elements_resize(pool, min_nr, &table)) {
		table = make_table(min_nr, GFP_KERNEL, NUMA_NO_NODE, caller);
		if (!table)
			return -ENOMEM;
	}
	kmalloc_free(table, caller);
	free_surplus(pool, caller);
	fill(pool, GFP_KERNEL, caller); /* what is missing then comes by mempool_free() */
	return 0;
}

/* ---- allocation ---- */

/* Allocates for empty slots, until that fails. false: some are empty still. */
static bool allocate_all(const mempool_t *pool, void **slots, unsigned int count, gfp_t flags,
			 const void *caller)
{
	for (unsigned int i = 0; i < count; i++)
		if (!slots[i] && !(slots[i] = allocate(pool, flags, caller)))
			return false;
	return true;
}

static void wait_for(mempool_t *pool, void **slots, unsigned int count, gfp_t flags,
		     const void *caller)
{
	unsigned int wakeups;

	elements_enter(pool, count);
	while (!elements_take(pool, slots, count, &wakeups) &&
	       !allocate_all(pool, slots, count, flags, caller))
		os_wait(&pool->wait.wakeups, wakeups, WAIT_MS);
	elements_leave(pool, count);
}

static cold void warn_of_zero(void)
{
	static int warned;

	if (!xchg(&warned, 1))
		os_say("mempool_alloc(): __GFP_ZERO is not supported, and ignored");
}

/* Fills all empty slots; false: it would have to wait, and must not. */
static bool obtain(mempool_t *pool, void **slots, unsigned int count, gfp_t flags,
		   const void *caller)
{
	if (unlikely(flags & __GFP_ZERO)) {
		warn_of_zero();
		flags &= ~__GFP_ZERO;
	}
	flags |= __GFP_NOMEMALLOC | __GFP_NORETRY | __GFP_NOWARN;
	if (likely(allocate_all(pool, slots, count, flags & ~(__GFP_DIRECT_RECLAIM | __GFP_IO),
				caller)))
		return true;
	if (nested_call())
		return false;
	if (elements_take(pool, slots, count, NULL))
		return true;
	if (!(flags & __GFP_DIRECT_RECLAIM))
		return false;
	wait_for(pool, slots, count, flags, caller);
	return true;
}

USLAB_API void *mempool_alloc(mempool_t *pool, gfp_t flags)
{
	void *element = NULL;

	obtain(pool, &element, 1, flags, __builtin_return_address(0));
	return element;
}

USLAB_API void *mempool_alloc_preallocated(mempool_t *pool)
{
	void *element = NULL;

	if (!nested_call())
		elements_take(pool, &element, 1, NULL);
	return element;
}

USLAB_API int mempool_alloc_bulk(mempool_t *pool, void **elements, unsigned int count,
				 unsigned int allocated)
{
	if (count > (unsigned int)load_relaxed(&pool->min_nr))
		return -EINVAL;
	if (allocated >= count)
		return 0;
	return obtain(pool, elements, count, GFP_KERNEL, __builtin_return_address(0)) ? 0 : -ENOMEM;
}

/* ---- free ---- */

static void give_deferred(void *owner, void *element, const void *caller);

static unsigned int how_far_to_look(const mempool_t *pool, const void *element)
{
	if (ZERO_OR_NULL_PTR(element))
		return ELEMENTS_LOOK_NONE; /* all of them are the same */
	if (cache_has_checks(element))
		return ELEMENTS_LOOK_ALL;
	return pool->kind ? ELEMENTS_LOOK_SHORT : ELEMENTS_LOOK_NONE;
}

/* Does the pool take the element back? Also true after a mistake, which was reported. */
static bool take_back(mempool_t *pool, void *element, const void *caller)
{
	enum elements_answer answer;

	if (!elements_wanted(pool) && !cache_has_checks(element))
		return false;
	if (nested_call()) {
		nested_defer(give_deferred, pool, element, caller);
		return true;
	}
	if (unlikely(element_is_free(element)))
		return true;
	answer = elements_give(pool, element, how_far_to_look(pool, element));
	if (unlikely(answer == ELEMENTS_TWICE))
		element_report_kept(element);
	return answer != ELEMENTS_ENOUGH;
}

static void give(mempool_t *pool, void *element, const void *caller)
{
	if (!take_back(pool, element, caller))
		release(pool, element, caller);
}

static void give_deferred(void *owner, void *element, const void *caller)
{
	give(owner, element, caller);
}

USLAB_API void mempool_free(void *element, mempool_t *pool)
{
	if (element)
		give(pool, element, __builtin_return_address(0));
}

USLAB_API unsigned int mempool_free_bulk(mempool_t *pool, void **elements, unsigned int count)
{
	const void *caller = __builtin_return_address(0);
	unsigned int i;

	for (i = 0; i < count && take_back(pool, elements[i], caller); i++)
		elements[i] = NULL;
	return i;
}
