/* SPDX-License-Identifier: MIT */
/*
 * cache/pressure.c - calls the program back when memory is short (libumem: reclaim, nofail)
 *
 * Why:        docs/adr/0047.
 * Data:       the reclaim callbacks of caches; the hook that is asked before memory is refused.
 * Invariants: a callback is in the list from the creation of its cache to the start of its
 *             destruction; running counts the threads that are in it.
 * Locks:      cache_lock guards list and hook. Callbacks run without it, or any other.
 * Flow:       called by cache/ and api/manage_api.c; calls shrink.c.
 *
 * A walk calls each callback once: it takes a number, and looks from the start of the list, after
 * each call, for one that no walk of that number or a later one has called. So callbacks may create
 * and destroy caches.
 */
#include "cache/pressure.h"

#include <errno.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "os/process/process.h"
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

/* What this thread runs: the running of a callback, or of the hook; NULL: neither. */
static __thread uintptr_t *inside __attribute__((tls_model("initial-exec")));

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

static void enter_locked(uintptr_t *running)
{
	fetch_add(running, 1);
	inside = running;
	lock_release(&cache_lock);
}

static void leave(uintptr_t *running)
{
	inside = NULL;
	__atomic_fetch_sub(running, 1, __ATOMIC_RELEASE); /* pairs with wait_for() */
}

static void wait_for(const uintptr_t *running)
{
	while (inside != running && load_acquire(running)) /* pairs with leave() */
		os_yield();
}

void pressure_reclaim(const struct cache *c)
{
	struct reclaimer *r;
	uint64_t walk;

	/* without the lock: a callback that comes just now is too late */
	if (inside || load_relaxed(&reclaimers.next) == &reclaimers)
		return;
	lock_acquire(&cache_lock);
	walk = ++walks;
	while ((r = next_locked(c, walk))) {
		r->walk = walk;
		enter_locked(&r->running);
		r->reclaim(r->arg);
		leave(&r->running);
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
	wait_for(&r->running);
	meta_free(r, sizeof(*r));
}

/* ---- the hook ---- */

void pressure_set_hook(uslab_oom_hook call, void *arg)
{
	lock_acquire(&cache_lock);
	store_relaxed(&hook.call, call);
	hook.arg = arg;
	cache_unlock();
	wait_for(&hook.running);
}

static bool may_ask(gfp_t gfp)
{
	return load_relaxed(&hook.call) && !inside && gfp & __GFP_DIRECT_RECLAIM &&
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
	enter_locked(&hook.running);
	again = call(p->size, p->wanted, arg);
	leave(&hook.running);
	return again;
}

bool pressure_again(struct pressure *p)
{
	switch (p->state) {
	case PRESSURE_FAILED:
		cache_shrink_all();
		p->state = may_ask(p->wanted) ? PRESSURE_SHRUNK : PRESSURE_LAST;
		break;
	case PRESSURE_SHRUNK:
		if (ask(p))
			cache_shrink_all(); /* what the hook freed are objects as yet */
		else
			p->state = PRESSURE_LAST;
		break;
	default:
		return false;
	}
	p->gfp = p->state == PRESSURE_LAST ? p->wanted : p->wanted | __GFP_NOWARN;
	return true;
}

/* ---- fork ---- */

void pressure_forked(void)
{
	struct list_head *pos;

	store_relaxed(&hook.running, inside == &hook.running);
	list_for_each(pos, &reclaimers) {
		struct reclaimer *r = list_entry(pos, struct reclaimer, list);

		store_relaxed(&r->running, inside == &r->running);
	}
}
