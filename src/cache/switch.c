/* SPDX-License-Identifier: MIT */
/*
 * cache/switch.c - sets the watch bits of a live cache, and closes and opens its front with them
 *
 * Data:       none.
 * Invariants: the front is closed while a bit of WATCH_CLOSED is set.
 * Locks:      cache_lock; alloc and free go on meanwhile.
 * Flow:       called by debug.c, defrag.c, failslab.c, instrument.c, guard.c, group/, mobility.c
 *             and profile.c; calls debug_attach(), the front. debug.c has the order of the steps,
 *             and why each is right.
 */
#include "base/atomic.h"
#include "cache/internal.h"
#include "front/array_charged.h"

/* Charged arrays are hit without a look at the bits: none is left, and none comes (hit.h). */
static void set_watch(struct cache *c, unsigned int bits)
{
	store_release(&c->watch, c->watch | bits); /* pairs with the slow paths' acquire */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);   /* pairs with that of cache/group/array.c */
	if (c->watch != WATCH_GROUPS && front_has_arrays(&c->front))
		array_charged_drain(&c->front);
}

static void clear_watch(struct cache *c, unsigned int bits)
{
	store_release(&c->watch, c->watch & ~bits); /* likewise */
}

void cache_watch_locked(struct cache *c, unsigned int bit, bool on)
{
	unsigned int before = c->watch & WATCH_CLOSED;
	unsigned int after = (on ? c->watch | bit : c->watch & ~bit) & WATCH_CLOSED;

	if (after && !before) {
		set_watch(c, WATCH_PAST_FRONT);
		/* these must not take long */
		cache_verify_frees_locked(c, !(bit & (WATCH_MOVES | WATCH_ORPHAN | WATCH_OVER)));
		front_close(&c->front);
		cache_verify_frees_locked(c, false);
	}
	if (on)
		set_watch(c, bit);
	else
		clear_watch(c, bit);
	/* else an inline free of a live debug object would write a mark into its red zone */
	if (!after && before &&
	    !(c->engine.debug && cache_marks_behind(c) && percpu_is_inline(c->front.id))) {
		front_open(&c->front);
		clear_watch(c, WATCH_PAST_FRONT);
	}
}

/*
 * The words of a cache with inline hits move, or move back, while its front is closed. One whose
 * words should move, but cannot, stays closed.
 */
static void place_words(struct cache *c, bool watched)
{
	int ret;

	if (likely(cache_words_are_right(c, watched)) && !(c->watch & WATCH_WORDS))
		return;
	cache_watch_locked(c, WATCH_WORDS, true);
	ret = cache_move_words_locked(c, watched);
	if (likely(!ret) || !watched)
		cache_watch_locked(c, WATCH_WORDS, false);
}

/*
 * By address: no class has a magic then, and the front stays open. By handle: if the words are the
 * inline ones of the array front, inline frees push without a look at the object's page. All that
 * before the bit is seen: whoever sees it gives objects words, and their frees have to look.
 */
void cache_watch_frees_locked(struct cache *c, unsigned int bit, bool on)
{
	if (on) {
		place_words(c, true);
		cache_stop_frees_locked(c);
		set_watch(c, bit);
	} else {
		clear_watch(c, bit);
		place_words(c, c->watch & (WATCH_TAGS | WATCH_GROUPS));
		cache_check_frees_locked(c);
	}
}

int cache_route_locked(struct cache *c)
{
	int ret = debug_attach(&c->engine, cache_is_by_address(c), cache_defaults.hardened);

	if (!ret)
		set_watch(c, WATCH_ROUTE);
	return ret;
}
