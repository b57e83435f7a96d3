/* SPDX-License-Identifier: MIT */
/*
 * cache/mark.c - where the marks of free objects are, and what else hits check
 *
 * Why:        docs/adr/0020, docs/adr/0070.
 * Data:       marks, masks and magics of window 0 (<uslab/layout.h>), written when a cache is made;
 *             where its words are, also when its frees begin to be looked at (switch.c).
 * Invariants: a mark lies where neither the engine's link nor a byte of the program's is while the
 *             object is free.
 * Locks:      cache_lock, held by the caller where _locked says so.
 * Flow:       called by check.c, create.c, switch.c, attribute.c and guard.c.
 */
#include "base/atomic.h"
#include "base/mark.h"
#include "cache/internal.h"
#include "cache/profile/sites.h"
#include "debug/kfence/kfence.h"
#include "engine/slub/slub.h"
#include "front/array.h"
#include "page/used.h"

static uint64_t *free_table(const struct cache *c, unsigned long table)
{
	return (uint64_t *)(page_windows() + table) + c->front.id;
}

/*
 * Where the engine's link is not. SLUB and slobseg place the link of objects that are freed by
 * address elsewhere, but in objects of 8 bytes there is no other place: these lose their marks when
 * they are flushed to their slab. SLAB has no links.
 */
static unsigned int mark_in_object(const struct engine *e, bool by_address)
{
	bool link_first = !engine_is(e, &slab_ops) && !e->layout->offset;

	if (e->size < sizeof(void *))
		return 0;
	return !by_address && link_first && e->size >= 2 * sizeof(void *)
		       ? sizeof(void *) + USLAB_MARK_OFFSET
		       : USLAB_MARK_OFFSET;
}

/*
 * For objects that keep their bytes while they are free: in SLUB's link, which lies behind them and
 * is not used while a front has the object; behind that if there is space.
 */
static unsigned int mark_behind(const struct engine *e)
{
	unsigned int link = e->layout->offset;

	if (!engine_is(e, &slub_ops))
		return 0;
	return e->size - link >= 2 * sizeof(void *)
		       ? link + (unsigned int)sizeof(void *) + USLAB_MARK_OFFSET
		       : link + USLAB_MARK_OFFSET;
}

static unsigned int mark_offset(const struct engine *e, bool by_address)
{
	if (e->ops->heap || used_are_kept() || os_memcheck_on)
		return 0;
	if (e->layout->key)
		return e->layout->key - (unsigned int)sizeof(uint32_t);
	return e->ctor || e->flags & SLAB_TYPESAFE_BY_RCU ? mark_behind(e)
							  : mark_in_object(e, by_address);
}

bool cache_marks_behind(const struct cache *c)
{
	return c->engine.mark && c->engine.mark + 4 > c->engine.object_size;
}

/*
 * The inline hit paths need a place in the object where nothing else lies. kmalloc() has its own,
 * constant one, and frees by address read no bytes of objects whose class has no magic. Guarded
 * objects may end where their page does. Hardened caches have no inline hit path.
 */
static int64_t mark_of_hits(const struct cache *c)
{
	if (cache_is_by_size(c) && !used_are_kept() && c->engine.size >= sizeof(void *))
		return USLAB_MARK_OFFSET;
	if (c->engine.layout->key) /* they are never guarded */
		return (int64_t)c->engine.mark;
	if (cache_is_by_size(c) || !c->engine.mark || (cache_marks_behind(c) && kfence_is_on()))
		return USLAB_MARK_NONE;
	return (int64_t)c->engine.mark;
}

/*
 * Nor have those whose frees look at each object (watched); but their fronts work. Nor do those get
 * one again that have had debug or guarded objects meanwhile, where the mark is no byte of theirs.
 */
static bool are_elsewhere(const struct cache *c, bool watched)
{
	return load_relaxed(percpu_mark(c->front.id)) == USLAB_MARK_NONE ||
	       (watched && !cache_is_by_address(c)) || (c->engine.debug && cache_marks_behind(c));
}

void cache_place_mark_locked(struct cache *c)
{
	bool watched = uslab_mem_profiling_on || c->watch & WATCH_GROUPS;

	c->engine.mark = mark_offset(&c->engine, cache_is_by_size(c));
	store_relaxed(percpu_mark(c->front.id), mark_of_hits(c));
	percpu_set(c->front.id, PERCPU_ELSEWHERE, are_elsewhere(c, watched));
	percpu_set(c->front.id, PERCPU_KEYED, c->engine.layout->key);
	if (c->engine.layout->key)
		front_stop_keyed_words(c->front.id);
}

bool cache_words_are_right(const struct cache *c, bool watched)
{
	return !percpu_rseq || !front_has_arrays(&c->front) ||
	       percpu_has(c->front.id, PERCPU_ELSEWHERE) == are_elsewhere(c, watched);
}

int cache_move_words_locked(struct cache *c, bool watched)
{
	return front_place_words(&c->front, are_elsewhere(c, watched));
}

/* 0: no free is a hit, each is checked out of line: only there the colours of slabs are known. */
static uint64_t start_magic(const struct cache *c)
{
	const struct engine *e = &c->engine;

	if (e->mark != USLAB_MARK_OFFSET || c->front.ops != &front_array_ops ||
	    e->layout->colour_off)
		return 0;
	return UINT64_MAX / e->size + 1;
}

/* Without a mask no run of frees is a hit, without a magic no single one. */
static void set_frees(struct cache *c, uint64_t mask, uint64_t magic)
{
	if (c->front.id >= USLAB_ID_FIRST_FREE)
		return;
	store_relaxed(free_table(c, USLAB_WINDOW_MASKS), mask);
	store_relaxed(free_table(c, USLAB_WINDOW_MAGICS), magic);
}

void cache_stop_frees_locked(struct cache *c)
{
	set_frees(c, 0, 0);
}

void cache_check_frees_locked(struct cache *c)
{
	if (c->watch & (WATCH_TAGS | WATCH_GROUPS))
		cache_stop_frees_locked(c);
	else
		set_frees(c, (PAGE_SIZE << c->engine.layout->order) - 1, start_magic(c));
}
