/* SPDX-License-Identifier: MIT */
/*
 * malloc/slow.c - the slow paths of malloc and free
 *
 * Why:        docs/adr/0083.
 * Data:       none.
 * Invariants: a pointer that is freed is the start of a live block; else it is reported, and
 *             nothing is freed.
 * Locks:      none of its own.
 * Flow:       called by malloc/; calls debug.c, cache/, debug/pages/pages.c, early.c, and
 *             page/run.c where page runs have no debug flags. Nested calls are served by
 *             page/reserve.c, and their frees are deferred: page/nested.h.
 */
#include <errno.h>
#include <string.h>

#include "cache/control/control.h"
#include "cache/group/group.h"
#include "cache/instrument/instrument.h"
#include "cache/object.h"
#include "cache/pressure.h"
#include "cache/reclaim/ahead.h"
#include "debug/pages/pages.h"
#include "engine/place.h"
#include "front/array.h"
#include "front/percpu.h"
#include "malloc/hot.h"
#include "malloc/sampling.h"
#include "os/process/die.h"
#include "page/nested.h"
#include "page/page.h"
#include "page/reserve.h"

/* Of a class that has objects. */
static struct cache *cache_of_class(unsigned int class)
{
	return cache_of(percpu_handle(class));
}

/* Likewise of one that may have none so far. NULL: out of memory. */
static struct cache *usable_cache(unsigned int class)
{
	struct cache *c = cache_of(load_acquire(&malloc_made[class])); /* pairs: cache_create() */

	return likely(c) ? c : malloc_make_class(class);
}

/* Number of the cache that owns the page of p; 0: none. */
static unsigned int class_at(const void *p)
{
	return page_in_arena(p) ? page_map.class[page_index(p)] : 0;
}

/* The heap that the page of p belongs to; NULL: none. */
static const struct engine_heap *heap_at(const void *p)
{
	const struct page *page = page_head_of(p);

	return page && page->type == PAGE_HEAP ? page->heap : NULL;
}

static always_inline void *class_alloc(struct cache *c, unsigned int class, size_t size,
				       const void *caller)
{
	const unsigned char number = (unsigned char)class;
	uint32_t sample;
	void *p;

	if (unlikely(group_current))
		return malloc_group_alloc(class, size, caller);
	if (unlikely(load_relaxed(&control.sample_mean)) && !sampling_passes(size)) {
		sample = sampling_decide(c, size);
		if (sample)
			return cache_alloc_sampled(c, MAX(size, 1ul), caller, MALLOC_GFP, sample);
	}
	/* smaller sizes have missed already, and the front tries once more */
	if (size >= load_relaxed(&malloc_hot.size_limit) && malloc_hot.page_limit &&
	    arch_malloc_pop(malloc_hot.base, &number, malloc_hot.rseq, &p))
		return p;
	return cache_alloc_for(c, MALLOC_GFP, NUMA_NO_NODE, MAX(size, 1ul), caller);
}

void *malloc_class_alloc(unsigned int class, size_t size, const void *caller)
{
	struct cache *c = usable_cache(class);

	return likely(c) ? class_alloc(c, class, size, caller) : NULL;
}

/*
 * Over a heap without a front a block of this size, or whole pages if it is too large; else an
 * object, from watch.c if the cache has watch bits.
 */
static void *alloc_small(size_t size, const void *caller)
{
	unsigned int class = malloc_class_of(size);
	struct cache *c = usable_cache(class);

	if (unlikely(!c))
		return NULL;
	if (unlikely(cache_heap_of(c) && size <= cache_heap_of(c)->max_size &&
		     !load_acquire(&c->watch)))
		return cache_heap_alloc(cache_heap_of(c), MAX(size, 1ul), MALLOC_ALIGN, MALLOC_GFP,
					NUMA_NO_NODE);
	return class_alloc(c, class, size, caller);
}

void malloc_poll_mailbox(void)
{
	if (unlikely(!load_relaxed(&malloc_hot.size_limit)))
		malloc_rearm_if_closed();
	control_poll();
	instrument_poll();
}

/* Is there a limit, which such a block may have failed for? Else caches would not help. */
static bool limit_allows(size_t size)
{
	unsigned long limit = load_relaxed(&limit_counters.limit);

	return limit != LIMIT_NONE && size >> PAGE_SHIFT < limit;
}

void *malloc_run(size_t size, size_t align, bool *zeroed, const void *caller)
{
	struct pressure t = { .wanted = MALLOC_GFP, .size = size, .is_malloc = true };
	void *p;

	instrument_enter();
	array_limit_reap_for_run(size);
	p = pages_alloc(size, size, align, NUMA_NO_NODE, zeroed, caller);
	while (unlikely(!p) && limit_allows(size) && pressure_again(&t))
		p = pages_alloc(size, size, align, NUMA_NO_NODE, zeroed, caller);
	if (unlikely(!p) && !limit_allows(size))
		pressure_refused(&t);
	instrument_leave();
	if (unlikely(group_current) && p && !malloc_group_add_run(p, size)) {
		pages_free(p, caller);
		return NULL;
	}
	if (instrument_is_on() && p)
		instrument_block_alloc(p,
				       (struct instrument_block){ size, pages_size(p), MALLOC_GFP,
								  NUMA_NO_NODE, caller });
	return p;
}

static bool free_run(void *p, const void *caller)
{
	bool known;

	if (!malloc_ready())
		return false;
	if (instrument_is_on() && pages_size(p))
		instrument_block_free(p, pages_size(p), caller);
	group_drop(NULL, p);
	instrument_enter();
	known = pages_free(p, caller);
	instrument_leave();
	return known;
}

/* While threads are in groups: the first hit of one that is in none; then malloc_hot_group(). */
static noinline bool hit_outside_groups(size_t size, void **result)
{
	if (!load_relaxed(&groups_entered) || !malloc_hot.page_limit || group_current ||
	    size > MALLOC_MAX_TABLE || load_relaxed(&control.sample_mean) || instrument_pending())
		return false;
	group_use_numbers(GROUP_NONE, group_numbers_outside);
	return malloc_hot_pop(size, result);
}

/* A tool waits, but what threads hit while some are in groups polls nothing. */
static void poll_if_closed(void)
{
	if (unlikely(load_relaxed(&groups_entered) && !load_relaxed(&malloc_hot.group_limit)) &&
	    lock_is_plain() && malloc_ready())
		malloc_poll_mailbox();
}

/*
 * While a tool samples, every malloc() comes here, so this is its hit path then. Only if size_limit
 * is CONTROL_SAMPLING: it is 0 without rseq, while threads are in groups, and after a tool has
 * written a command.
 */
static always_inline bool hit_while_sampling(size_t size, void **result)
{
	unsigned long limit = load_relaxed(&malloc_hot.size_limit);

	if (likely(limit > CONTROL_SAMPLING))
		return false;
	if (!limit) {
		poll_if_closed();
		return hit_outside_groups(size, result);
	}
	if (size > MALLOC_MAX_TABLE || !sampling_passes(size))
		return false;
	if (likely(malloc_hot_pop(size, result)))
		return true;
	/* it is counted again where it gets its object */
	sampling_thread.left += SAMPLING_BYTES(size);
	return false;
}

void *malloc_any(size_t size, bool *zeroed, const void *caller)
{
	void *p = NULL;

	*zeroed = false;
	if (hit_while_sampling(size, &p))
		return p;
	if (unlikely(size > PTRDIFF_MAX))
		return NULL;
	if (unlikely(!malloc_usable())) {
		*zeroed = true;
		return malloc_unstarted(size, MALLOC_ALIGN);
	}
	if (reclaim_nested_call(MALLOC_GFP))
		return reserve_alloc(size, MALLOC_ALIGN);
	malloc_poll_mailbox();
	if (size <= MALLOC_MAX_SMALL)
		return alloc_small(size, caller);
	return malloc_run(size, 0, zeroed, caller);
}

/*
 * What most misses are: a size of the table, its hits are open, and its cache has an array. false:
 * another case. Commands and tracers are polled where the cache is.
 */
static always_inline bool miss_plain(size_t size, const void *caller, void **result)
{
	struct cache *c;

	if (unlikely(load_relaxed(&malloc_hot.size_limit) <= MAX(size, CONTROL_SAMPLING + 0ul)) ||
	    unlikely(!lock_is_plain()) || unlikely(group_current))
		return false;
	/* pairs: cache_create() */
	c = cache_of(load_acquire(&malloc_made[malloc_hot_table(malloc_hot.base)[size]]));
	if (unlikely(!c) || unlikely(cache_heap_of(c)))
		return false;
	if (likely(!cache_is_watched(c, WATCH_ALLOC))) {
		*result = array_alloc_missed(&c->front);
		if (likely(*result)) {
			cache_unmark(c, *result);
			return true;
		}
	}
	*result = cache_alloc_for(c, MALLOC_GFP, NUMA_NO_NODE, MAX(size, 1ul), caller);
	return true;
}

/* Is no tool, tracer or group to be notified of page runs, and may this thread take locks? */
static always_inline bool runs_are_plain(void)
{
	return likely(lock_is_plain()) && likely(!groups_are_known()) &&
	       likely(!instrument_pending()) && likely(!os_memcheck_on);
}

static noinline void *malloc_missed(size_t size, const void *caller)
{
	bool zeroed;
	void *p;

	if (likely(miss_plain(size, caller, &p))) {
		if (unlikely(!p))
			errno = ENOMEM;
		return p;
	}
	if (hit_while_sampling(size, &p))
		return p;
	if (likely(!group_current) || !malloc_group_hit(size, &p))
		p = malloc_any(size, &zeroed, caller);
	if (unlikely(!p))
		errno = ENOMEM;
	return p;
}

/*
 * A page run that the CPU keeps, where nobody is to be notified. While depots hold large objects
 * the slow path reaps them for each page run: array_limit_reap_for_run().
 */
static noinline void *malloc_missed_run(size_t size, const void *caller)
{
	void *p = NULL;

	if (likely(load_relaxed(&malloc_hot.size_limit) > CONTROL_SAMPLING) && runs_are_plain() &&
	    likely(!blocks_debug_flags()) && likely(!load_relaxed(&array_limit_large)))
		p = run_alloc_kept(size);
	return likely(p) ? p : malloc_missed(size, caller);
}

void *malloc_slow(size_t size, const void *caller)
{
	void *p;

	if (likely(malloc_hot_group(size, &p)))
		return p;
	return size > MALLOC_MAX_SMALL ? malloc_missed_run(size, caller)
				       : malloc_missed(size, caller);
}

static uint64_t check_of_class(unsigned int class, unsigned long table)
{
	return load_relaxed((uint64_t *)(page_windows() + table) + class);
}

/*
 * By the test of free()'s hit path: true: an object of c starts at p. false: not known. If hardened
 * there are no magics, and the result is always false: cache_is_in_use() must be checked then.
 */
static always_inline bool starts_surely(const struct cache *c, unsigned int class, const void *p)
{
	uint64_t mask = check_of_class(class, USLAB_WINDOW_MASKS);
	uint64_t magic = check_of_class(class, USLAB_WINDOW_MAGICS);
	uint64_t offset = (uintptr_t)p & mask;

	return likely(offset * magic < magic) && likely(offset + c->engine.object_size <= mask + 1);
}

static bool starts_object(const struct cache *c, unsigned int class, const void *p)
{
	const struct page *slab;

	if (starts_surely(c, class, p))
		return true;
	slab = page_slab_of(p);
	return slab && engine_starts_object(slab, p);
}

size_t malloc_block_size(const void *p)
{
	size_t early = early_size(p);
	const struct engine_heap *heap;
	const struct page *slab;
	const struct cache *c = NULL;
	unsigned int class;

	if (unlikely(early || !malloc_ready()))
		return early;
	class = class_at(p);
	if (likely(class)) {
		c = cache_of_class(class);
		if (likely(starts_surely(c, class, p)))
			return c->engine.object_size;
	}
	if (unlikely(!cache_is_in_use(p)))
		return 0;
	if (class)
		return starts_object(c, class, p) ? c->engine.object_size : 0;
	heap = heap_at(p);
	if (heap)
		return heap->size(p);
	slab = malloc_debug_slab(p);
	if (slab)
		return malloc_debug_size(slab, p);
	c = malloc_group_cache(p);
	if (c)
		return c->engine.object_size;
	return unlikely(reserve_owns(p)) ? reserve_size(p) : pages_size(p);
}

void malloc_bad_pointer(const struct cache_call *call, const void *p)
{
	instrument_enter();
	cache_report_pointer(call, NULL, p);
	instrument_leave();
}

/*
 * Pointers whose page class is 0: blocks of heaps, objects in debug slabs and guarded pages, which
 * report mistakes themselves, objects that threads in groups allocated, whole pages, mistakes.
 */
static void free_other(const struct cache_call *call, void *p, const void *caller)
{
	const struct engine_heap *heap = heap_at(p);
	struct page *slab = malloc_debug_slab(p);
	struct cache *charged = slab ? NULL : malloc_group_cache(p);

	if (unlikely(reserve_free(p)))
		return;
	if (heap)
		cache_heap_free(call, heap, p, caller);
	else if (slab)
		cache_free_for(container_of(slab->engine, struct cache, engine), p, caller);
	else if (charged)
		cache_free_for(charged, p, caller);
	else if (!free_run(p, caller))
		malloc_bad_pointer(call, p);
	control_poll();
}

/*
 * What most pointers of class 0 are: page runs without a record of debugging (debug/pages/). false:
 * p is something else.
 */
static always_inline bool free_plain_run(void *p)
{
	return likely(malloc_ready()) && runs_are_plain() && likely(!blocks_are_known()) &&
	       likely(page_in_arena(p)) && likely(run_free(p));
}

/* p lies in a page of that class. */
static always_inline void give_object(unsigned int class, void *p, const void *caller)
{
	struct cache *c = cache_of_class(class);

	if (starts_surely(c, class, p))
		cache_free_known(c, p, caller);
	else
		cache_free_for(c, p, caller);
}

static void give(void *call, void *p, const void *caller)
{
	free_slow_as(call, p, caller);
}

static always_inline void give_back(const struct cache_call *call, void *p, const void *caller)
{
	unsigned int class;

	if (!p || early_size(p)) /* early blocks first: nothing else may work yet */
		return;
	if (malloc_ready() && nested_call()) {
		if (!reserve_free(p))
			nested_defer(give, (void *)call, p, caller);
		return;
	}
	class = class_at(p);
	if (class)
		give_object(class, p, caller);
	else if (!free_plain_run(p))
		free_other(call, p, caller);
}

void free_slow(void *p, const void *caller)
{
	static const struct cache_call call = { "free", FIX_NOT_FREED };

	if (groups_are_known() && malloc_group_free(p, caller))
		return;
	give_back(&call, p, caller);
}

void free_slow_as(const struct cache_call *call, void *p, const void *caller)
{
	unsigned int class = malloc_ready() && !nested_call() ? class_at(p) : 0;

	if (!class)
		give_back(call, p, caller);
	else if (likely(starts_surely(cache_of_class(class), class, p)))
		cache_free_known(cache_of_class(class), p, caller);
	else if (starts_object(cache_of_class(class), class, p))
		cache_free_for(cache_of_class(class), p, caller);
	else
		malloc_bad_pointer(call, p);
}
