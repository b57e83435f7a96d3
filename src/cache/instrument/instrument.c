/* SPDX-License-Identifier: MIT */
/*
 * cache/instrument/instrument.c - tools that are notified of each object: tracers, valgrind,
 * sanitizers
 *
 * Data:       whether a tracer is attached, as of the last poll.
 * Invariants: see instrument.h.
 * Locks:      cache_lock to put watch bits on all caches.
 * Flow:       see instrument.h; calls os/instrument/probe.c, os/instrument/memcheck.c.
 *
 * Tools see live objects: they are notified of an object after it is allocated, and before it is
 * freed. They are notified of a wrong free as well: valgrind reports it first, and then the library
 * does.
 *
 * Not hidden from either tool are free objects of type-stable caches (SLAB_TYPESAFE_BY_RCU), which
 * may be read, and of heaps, whose free blocks and headers lie among them. Not hidden from
 * AddressSanitizer are those with a constructor, which some engines call for an object that is
 * still free. Neither tool is notified of debug and guarded objects.
 */
#include "cache/instrument/instrument.h"

#include <string.h>

#include "base/atomic.h"
#include "cache/internal.h"

static bool valgrind = true;
static bool asan = true;

bool instrument_listening;

static bool set_flag(bool *flag, const char *value)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return false;
	*flag = *value == '1';
	return true;
}

bool instrument_set_valgrind(const char *value)
{
	return set_flag(&valgrind, value);
}

bool instrument_set_asan(const char *value)
{
	return set_flag(&asan, value);
}

void instrument_init(void)
{
	os_memcheck_init(valgrind, asan);
	/* tools should show the name that the program gave the cache */
	if (os_memcheck_on)
		cache_defaults.no_merge = true;
	os_memcheck_add_roots(page_map.base, page_map.limit << PAGE_SHIFT);
}

void instrument_created_locked(struct cache *c)
{
	if (unlikely(os_memcheck_on)) {
		os_memcheck_pool_create(c, instrument_gap(c->engine.ops, c->engine.object_size),
					c->engine.ctor != NULL);
		cache_watch_locked(c, WATCH_TOOL, true);
	}
	if (unlikely(load_relaxed(&instrument_listening)))
		cache_watch_locked(c, WATCH_PROBES, true);
}

void instrument_destroyed_locked(struct cache *c)
{
	if (unlikely(os_memcheck_on))
		os_memcheck_pool_destroy(c);
}

/* ---- probes ---------------------------------------------------------------------------------- */

static cold void probe_alloc(const struct cache *c, const struct os_probe_alloc *a)
{
	if (cache_is_by_size(c))
		os_probe_kmalloc(a);
	else
		os_probe_kmem_cache_alloc(a, c->name);
}

static cold void probe_free(const struct cache *c, const void *obj, const void *caller)
{
	if (cache_is_by_size(c))
		os_probe_kfree(caller, obj);
	else
		os_probe_kmem_cache_free(caller, obj, c->name);
}

/* A tracer was attached or detached; several threads may find that out at once. */
void instrument_listen(void)
{
	struct list_head *pos;
	bool on;

	lock_acquire(&cache_lock);
	on = os_probe_objects();
	list_for_each(pos, &cache_list)
		cache_watch_locked(list_entry(pos, struct cache, list), WATCH_PROBES, on);
	store_relaxed(&instrument_listening, on);
	cache_unlock();
}

/* ---- tools ----------------------------------------------------------------------------------- */

/* A block of a heap; its bytes are its own, and its cache only chose the heap. */
static bool is_block(const struct cache *c, const struct page *page)
{
	return cache_heap_of(c) && page && page->type == PAGE_HEAP;
}

/* Not debug and guarded objects: the library itself checks these, and reads their bytes. */
static bool is_notified_of(const struct page *page)
{
	return page && (page->type != PAGE_SLAB || page->layout->kind == LAYOUT_PLAIN);
}

static enum os_memcheck_hide hide(const struct cache *c, const struct page *page)
{
	if (page->type == PAGE_HEAP || load_relaxed(&c->engine.flags) & SLAB_TYPESAFE_BY_RCU)
		return OS_HIDE_FROM_NOBODY;
	return c->engine.ctor ? OS_HIDE_FROM_VALGRIND : OS_HIDE_FROM_ALL;
}

void instrument_open(struct cache *c, void *obj)
{
	const struct page *page = page_head_of(obj);

	if (unlikely(os_memcheck_on) && !is_block(c, page) && is_notified_of(page))
		os_memcheck_forget(obj, load_relaxed(&c->engine.object_size));
}

static cold void notify_alloc(struct cache *c, void *obj, size_t size, bool zeroed)
{
	const struct page *page = page_head_of(obj);
	size_t full = load_relaxed(&c->engine.object_size);

	if (!size || c->engine.ctor)
		size = full;
	os_sanitizer_take(obj, size, full, zeroed || hide(c, page) != OS_HIDE_FROM_ALL);
	if (!is_notified_of(page))
		return;
	if (is_block(c, page))
		os_memcheck_block_alloc(obj, size, size, zeroed);
	else
		os_memcheck_pool_alloc(c, obj, size, full, zeroed);
}

void instrument_alloc(struct cache *c, void *obj, size_t size, gfp_t gfp, int node,
		      const void *caller)
{
	if (unlikely(os_memcheck_on))
		notify_alloc(c, obj, size, gfp & __GFP_ZERO);
	if (unlikely(os_probe_objects()))
		probe_alloc(c, &(struct os_probe_alloc){
				       .call_site = caller,
				       .ptr = obj,
				       .bytes_req = size ? size : c->engine.object_size,
				       .bytes_alloc = c->engine.size,
				       .gfp_flags = gfp,
				       .node = node,
				       .accounted = c->flags & SLAB_ACCOUNT || gfp & __GFP_ACCOUNT,
			       });
}

/* An address in no page leads to a report, or the end of the program. */
static cold void notify_free(struct cache *c, void *obj)
{
	const struct page *page = page_head_of(obj);

	if (page)
		os_sanitizer_give(obj, load_relaxed(&c->engine.object_size),
				  hide(c, page) == OS_HIDE_FROM_ALL);
	if (is_notified_of(page))
		os_memcheck_pool_free(c, obj, load_relaxed(&c->engine.object_size), hide(c, page));
}

void instrument_free(struct cache *c, void *obj, const void *caller)
{
	if (unlikely(os_memcheck_on))
		notify_free(c, obj);
	if (unlikely(os_probe_objects()))
		probe_free(c, obj, caller);
}

static cold void notify_size(const void *obj, size_t usable)
{
	const struct page *page = page_head_of(obj);

	if (page && !is_notified_of(page))
		return;
	if (page && page->type == PAGE_SLAB)
		os_memcheck_pool_whole(container_of(page->engine, struct cache, engine),
				       (void *)obj, usable);
	else
		os_memcheck_block_whole((void *)obj, usable);
}

void instrument_block_size(const void *obj, size_t usable)
{
	if (unlikely(os_memcheck_on))
		notify_size(obj, usable);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

void instrument_block_alloc_slow(void *p, const struct instrument_block *block)
{
	if (os_memcheck_on) {
		os_sanitizer_take(p, block->size, block->usable, block->gfp & __GFP_ZERO);
		os_memcheck_block_alloc(p, block->size, block->usable, block->gfp & __GFP_ZERO);
	}
	os_probe_kmalloc(&(struct os_probe_alloc){
		.call_site = block->caller,
		.ptr = p,
		.bytes_req = block->size,
		.bytes_alloc = block->usable,
		.gfp_flags = block->gfp,
		.node = block->node,
		.accounted = block->gfp & __GFP_ACCOUNT,
	});
}

void instrument_block_free_slow(void *p, size_t usable, const void *caller)
{
	if (os_memcheck_on) {
		os_sanitizer_give(p, usable, true);
		os_memcheck_block_free(p, usable);
	}
	os_probe_kfree(caller, p);
}
