/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/debug.c - debug flags of caches: at creation, and switched on live ones
 *
 * Why:        docs/adr/0012.
 * Data:       none of its own.
 * Invariants: WATCH_DEBUG <=> one of the flags F Z P U T is set, and then the front is closed.
 *             engine.debug is set before WATCH_ROUTE, WATCH_ROUTE before the first object that is
 *             not plain; neither is ever undone. Checked by cache_check_all().
 * Locks:      cache_lock for everything here; alloc and free go on meanwhile.
 * Flow:       called by api/debug_api.c, api/init.c, cache/ and malloc/init.c; calls debug/, the
 *             front's drain, switch.c.
 *
 * Three kinds of objects of one cache live side by side: plain ones (of the engine), debug objects
 * and guarded ones. The page of an object says which it is, so that any thread can free it at any
 * time:
 *
 *     engine->ops->flush()    that of debug_attach(), which looks at each page
 *     cache_free_for()        looks at the page if WATCH_ROUTE is set (watch.c)
 *     malloc's free, kfree    find class byte 0 and miss, then as above
 *     kmem_cache_free()       an inline hit does not look: see "off"
 *
 * On, in this order. In brackets: what a thread may do that read the state before, and why that is
 * right.
 *  1. debug_attach(): the ops that sort. [Calls the engine's own flush, with objects that it held
 *     before it loaded the ops: there are only plain ones yet.]
 *  2. debug_set_flags(): makes layouts. No later step can fail.
 *  3. WATCH_ROUTE and WATCH_PAST_FRONT: from now on threads route frees by page, and take plain
 *     objects past the front. [Saw 0: uses the front, frees an object that it got before it read
 *     the bits, and so before step 5: a plain one.]
 *  4. front_close(): the front is emptied, inline hits miss. [Is in the front still: gives what it
 *     holds to the engine, since the front is closed; or leaves plain objects in a depot or
 *     in a CPU's slab, which count as held there until the next drain.]
 *  5. WATCH_DEBUG: new objects come from debug slabs. No inline hit is left that could take one
 *     into an array. (Where a CPU cannot be fenced, one is: then as in "off".)
 * Off:
 *  1. WATCH_DEBUG is cleared. [Saw it set: takes one more debug object.]
 *  2. front_open(), then WATCH_PAST_FRONT is cleared: hits begin. Debug objects that are live now
 *     are freed later: by address, or past an inline hit, straight to their slab; by the inline
 *     kmem_cache_free() into the CPU's array, as if they were plain. There such an object is in use
 *     for its slab, may be allocated again, and is freed to its slab when the front flushes it. Not
 *     where marks lie behind the objects (cache_marks_behind()): such a front stays closed.
 *  3. debug_set_flags(0): no more checks. Slabs are freed when their last objects are.
 *
 * A cache over a heap without a front (cache_heap_of()) has blocks instead of objects; under
 * WATCH_DEBUG its callers go through watch.c as well, and a block freed meanwhile still goes to the
 * heap, by its page.
 */
#include "cache/debug/failslab.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "debug/pages/blocks.h"
#include "os/time/clock.h"
#include "os/process/die.h"

/* ---- since when users are stored ---- */

enum tracking { TRACKING_NONE, TRACKING_SAMPLED, TRACKING_ALL };

static enum tracking tracking_of(const struct cache *c)
{
	if (c->flags & SLAB_STORE_USER)
		return TRACKING_ALL;
	return c->watch & WATCH_SAMPLE ? TRACKING_SAMPLED : TRACKING_NONE;
}

/* The last step of any switch: all newer objects are tracked so. */
static void note_tracking(struct cache *c, enum tracking before)
{
	enum tracking now = tracking_of(c);

	if (c->engine.debug && now != before)
		store_relaxed(&c->engine.debug->tracking_since,
			      now == TRACKING_NONE ? 0 : os_clock_ms());
}

/* ---- debug flags ---- */

static void store_debug_flags(struct cache *c, slab_flags_t debug_flags)
{
	store_relaxed(&c->flags, (c->flags & ~CACHE_DEBUG_FLAGS) | debug_flags);
}

/* Debug slabs for these debug flags; *debug flags: without those that option O drops. */
static int make_slabs(struct cache *c, slab_flags_t *debug_flags, bool no_higher_order)
{
	int ret = debug_attach(&c->engine, cache_is_by_address(c), cache_defaults.hardened);

	if (!ret)
		ret = debug_set_flags(&c->engine, *debug_flags & DEBUG_SLAB_FLAGS, no_higher_order);
	if (ret)
		return ret;
	cache_watch_locked(c, WATCH_ROUTE, true);
	*debug_flags = (*debug_flags & ~DEBUG_SLAB_FLAGS) | c->engine.debug->flags;
	return 0;
}

/*
 * Flags of the debug slabs while no debug flag is set: sampling may need U. The layout exists: it
 * cannot fail.
 */
static void idle_slabs(struct cache *c)
{
	if (c->engine.debug)
		debug_set_flags(&c->engine, c->watch & WATCH_SAMPLE ? SLAB_STORE_USER : 0, false);
}

static int set_debug_flags(struct cache *c, slab_flags_t debug_flags, bool no_higher_order)
{
	enum tracking before = tracking_of(c);

	if (debug_flags & DEBUG_SLAB_FLAGS) {
		int ret = make_slabs(c, &debug_flags, no_higher_order);

		if (ret)
			return ret;
	}
	store_debug_flags(c, debug_flags);
	cache_watch_locked(c, WATCH_DEBUG, debug_flags & DEBUG_SLAB_FLAGS);
	if (!(debug_flags & DEBUG_SLAB_FLAGS))
		idle_slabs(c);
	failslab_watch_locked(c);
	note_tracking(c, before);
	return 0;
}

int cache_start_debug(struct cache *c, slab_flags_t debug_flags)
{
	int ret = set_debug_flags(c, debug_flags & CACHE_DEBUG_FLAGS, cache_no_higher_order());

	if (!ret && tracking_of(c) == TRACKING_ALL)
		store_relaxed(&c->engine.debug->tracking_since, DEBUG_SINCE_EVER);
	return ret;
}

int cache_set_debug_locked(struct cache *c, slab_flags_t flags)
{
	return set_debug_flags(c, flags & CACHE_DEBUG_FLAGS, false);
}

int cache_set_debug(struct cache *c, slab_flags_t flags)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = cache_set_debug_locked(c, flags);
	cache_unlock();
	return ret;
}

long cache_change_debug_locked(struct cache *c, const void *text)
{
	slab_flags_t debug_flags = c->flags & CACHE_DEBUG_FLAGS;
	int ret = cache_change_debug(text, &debug_flags);

	return ret ? ret : cache_set_debug_locked(c, debug_flags);
}

int cache_change_blocks(const char *text)
{
	slab_flags_t debug_flags = blocks_debug_flags();
	int ret = cache_change_debug(text, &debug_flags);

	if (!ret && debug_flags & ~BLOCKS_DEBUG_FLAGS)
		ret = -EOPNOTSUPP;
	return ret ? ret : blocks_switch(debug_flags);
}

void cache_start_blocks(void)
{
	if (blocks_switch(cache_debug_flags(blocks_name, 0) & BLOCKS_DEBUG_FLAGS))
		os_say("USLAB_DEBUG: no memory for the table of whole pages");
	else if (blocks_debug_flags() & SLAB_STORE_USER)
		store_relaxed(&blocks_table->tracking_since, DEBUG_SINCE_EVER);
}

int cache_set_debug_pattern(const char *pattern, const char *debug_flags)
{
	struct cache_result result;
	slab_flags_t flags = 0;
	int ret = cache_change_debug(debug_flags, &flags);

	if (ret)
		return ret;
	if (!strcmp(pattern, blocks_name)) {
		ret = cache_change_blocks(debug_flags);
		return ret ? ret : 1;
	}
	lock_acquire(&cache_lock);
	cache_each_locked(pattern, strlen(pattern) + 1, cache_change_debug_locked, debug_flags,
			  &result);
	cache_unlock();
	return cache_result_of_pattern(&result);
}

/* ---- sampling ---- */

int cache_set_sampling_locked(struct cache *c, bool on)
{
	slab_flags_t debug_flags = SLAB_STORE_USER;
	enum tracking before = tracking_of(c);
	int ret = 0;

	if (on && !cache_is_by_address(c) && c->front.ops == &front_array_ops)
		return -EOPNOTSUPP;
	if (on && !(c->watch & WATCH_DEBUG))
		ret = make_slabs(c, &debug_flags, false);
	if (ret)
		return ret;
	cache_watch_locked(c, WATCH_SAMPLE, on);
	if (!(c->watch & WATCH_DEBUG))
		idle_slabs(c);
	note_tracking(c, before);
	return 0;
}

int cache_set_sampling(struct cache *c, bool on)
{
	int ret;

	lock_acquire(&cache_lock);
	ret = cache_set_sampling_locked(c, on);
	cache_unlock();
	return ret;
}

/* ---- validation ---- */

/* Drains the front first: objects there count as in use in their slab. */
long cache_validate_locked(struct cache *c)
{
	long nr;

	if (!c->engine.debug)
		return -EINVAL;
	instrument_enter();
	cache_drain_locked(c);
	nr = (long)debug_validate(&c->engine);
	instrument_leave();
	return nr;
}

long cache_validate(struct cache *c)
{
	long ret;

	lock_acquire(&cache_lock);
	ret = cache_validate_locked(c);
	cache_unlock();
	return ret;
}
