/* SPDX-License-Identifier: MIT */
/*
 * cache/pressure.c - makes room when memory is short: calls the program back (libumem: reclaim,
 * nofail; the kernel: shrinkers), and shrinks caches
 *
 * Why:        docs/adr/0047, docs/adr/0063.
 * Data:       the reclaim callbacks of caches; the hook that is asked before memory is refused.
 * Invariants: a callback is in the list from the creation of its cache to the start of its
 *             destruction; running counts the threads that are in it.
 * Locks:      cache_lock guards list and hook. Callbacks run without it, or any other.
 * Flow:       called by cache/, api/manage_api.c and malloc/slow.c; calls shrink.c,
 *             reclaim/shrinker.c.
 *
 * A walk calls each callback once: it takes a number, and looks from the start of the list, after
 * each call, for one that no walk of that number or a later one has called. So callbacks may create
 * and destroy caches.
 */
#include "cache/pressure.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/callback.h"
#include "cache/reclaim/shrinker.h"
#include "engine/limit.h"
#include "page/meta.h"

struct reclaimer {
	struct list_head list;
	const struct cache *cache;
	void (*reclaim)(void *arg);
	void *arg;
	uint64_t walk;	   /* the last one that called it */
	uintptr_t running; /* atomic */
};

static struct list_head reclaimers = { &reclaimers, &reclaimers };
static uint64_t walks;

static struct {
	uslab_oom_hook call;
	void *arg;
	uintptr_t running; /* threads that are in it; atomic */
} hook;

/* ---- reclaim ---- */

static struct reclaimer *find_locked(const struct cache *c)
{
	struct list_head *pos;

	list_for_each(pos, &reclaimers)
		if (list_entry(pos, struct reclaimer, list)->cache == c)
			return list_entry(pos, struct reclaimer, list);
	return NULL;
}

static struct reclaimer *next_locked(const struct cache *c, uint64_t walk)
{
	struct list_head *pos;

	list_for_each(pos, &reclaimers) {
		struct reclaimer *r = list_entry(pos, struct reclaimer, list);

		if (r->walk < walk && (!c || r->cache == c))
			return r;
	}
	return NULL;
}

void pressure_reclaim(const struct cache *c)
{
	struct reclaimer *r;
	uint64_t walk;

	/* without the lock: a callback that comes just now is too late */
	if (callback_inside || load_relaxed(&reclaimers.next) == &reclaimers)
		return;
	lock_acquire(&cache_lock);
	walk = ++walks;
	while ((r = next_locked(c, walk))) {
		r->walk = walk;
		callback_enter_locked(&r->running);
		r->reclaim(r->arg);
		callback_leave(&r->running);
		lock_acquire(&cache_lock);
	}
	cache_unlock();
}

int pressure_add_locked(struct cache *c, const struct cache_spec *spec)
{
	struct reclaimer *r;

	if (!spec->reclaim)
		return 0;
	r = meta_alloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct reclaimer){ .cache = c, .reclaim = spec->reclaim, .arg = spec->reclaim_arg };
	list_add(&r->list, &reclaimers);
	return 0;
}

void pressure_drop_locked(const struct cache *c)
{
	struct reclaimer *r = find_locked(c);

	if (!r)
		return;
	list_del(&r->list);
	meta_free(r, sizeof(*r));
}

void pressure_remove(const struct cache *c)
{
	struct reclaimer *r;

	lock_acquire(&cache_lock);
	r = find_locked(c);
	if (r)
		list_del(&r->list);
	cache_unlock();
	if (!r)
		return;
	callback_wait(&r->running);
	meta_free(r, sizeof(*r));
}

/* ---- the hook ---- */

void pressure_set_hook(uslab_oom_hook call, void *arg)
{
	lock_acquire(&cache_lock);
	store_relaxed(&hook.call, call);
	hook.arg = arg;
	cache_unlock();
	callback_wait(&hook.running);
}

static bool may_ask(gfp_t gfp)
{
	return load_relaxed(&hook.call) && !callback_inside && gfp & __GFP_DIRECT_RECLAIM &&
	       !(gfp & __GFP_NORETRY);
}

static bool ask(const struct pressure *p)
{
	uslab_oom_hook call;
	void *arg;
	bool again;

	lock_acquire(&cache_lock);
	call = hook.call;
	arg = hook.arg;
	if (!call) { /* removed meanwhile */
		cache_unlock();
		return false;
	}
	callback_enter_locked(&hook.running);
	again = call(p->size, p->wanted, arg);
	callback_leave(&hook.running);
	return again;
}

/* By the kernel's priorities: first few objects, then more, at last all, as long as it helps. */
static const unsigned char priorities[] = { 6, 3, 0 };
#define MOST_ROUNDS 16u

/*
 * Shrinkers free objects, then caches give their pages back: the one whose limit was met, else all.
 * Is it worth to do that once more, if the next attempt fails?
 */
static bool make_room(struct pressure *p)
{
	bool may_run = shrinkers_may_run(p->wanted);
	unsigned int round = MIN(p->round, (unsigned int)ARRAY_SIZE(priorities) - 1);
	unsigned long freed = shrinkers_run(p->wanted, priorities[round]);

	if (p->cache && engine_limit_is_met(&p->cache->engine))
		cache_shrink(p->cache);
	else
		cache_shrink_all();
	p->round++;
	return may_run && !(p->wanted & __GFP_NORETRY) && p->round < MOST_ROUNDS &&
	       (freed || p->round < ARRAY_SIZE(priorities));
}

/* It fails. */
static bool give_up(const struct pressure *p)
{
	if (p->cache && engine_limit_is_met(&p->cache->engine))
		fetch_add(&engine_limits[p->cache->engine.id].refused, 1);
	return false;
}

bool pressure_again(struct pressure *p)
{
	switch (p->state) {
	case PRESSURE_FAILED:
		if (!make_room(p))
			p->state = may_ask(p->wanted) ? PRESSURE_SHRUNK : PRESSURE_LAST;
		break;
	case PRESSURE_SHRUNK:
		if (ask(p))
			cache_shrink_all(); /* what the hook freed are objects as yet */
		else
			p->state = PRESSURE_LAST;
		break;
	default:
		return give_up(p);
	}
	p->gfp = p->state == PRESSURE_LAST ? p->wanted : p->wanted | __GFP_NOWARN;
	return true;
}

/* ---- fork ---- */

void pressure_forked(void)
{
	struct list_head *pos;

	callback_forked(&hook.running);
	list_for_each(pos, &reclaimers)
		callback_forked(&list_entry(pos, struct reclaimer, list)->running);
}
