/* SPDX-License-Identifier: MIT */
/*
 * cache/reclaim/shrinker.c - shrinkers: functions of the program that count objects and free some
 *
 * Data:       a list of entries, each for a shrinker that is registered; its serial number, the
 *             threads that are in it, and for each node how many objects it owes: that were to be
 *             looked at, and were not.
 * Invariants: serials rise along the list, so a walk goes on behind the last one that it called,
 *             whatever came or went meanwhile. An entry that is off the list, and in which no
 *             thread is, is its remover's.
 * Locks:      cache_lock for the list and to enter an entry; functions run without it. What is owed
 *             is atomic: a thread takes all of it, and adds what is left over.
 * Flow:       see shrinker.h.
 *
 * How many objects are looked at follows the documentation of the kernel's shrinkers: freeable /
 * 2^priority * 4 / seeks, or half of all where seeks is 0, at most twice as many as there are, in
 * batches; less than a batch is owed to the next call.
 */
#include "cache/reclaim/shrinker.h"

#include <errno.h>
#include <limits.h>

#include "base/bits.h"
#include "cache/callback.h"
#include "cache/internal.h"
#include "engine/nodes.h"
#include "page/meta.h"

#define BATCH 128ul

struct entry {
	struct list_head list;
	struct shrinker *shrinker;
	uint64_t serial;
	uintptr_t running; /* atomic */
	unsigned int nr_nodes;
	unsigned long owed[]; /* by node; atomic */
};

static struct list_head entries = { &entries, &entries };
static uint64_t serials;

struct shrinker_counters shrinker_counters;

static size_t entry_bytes(unsigned int nr_nodes)
{
	return sizeof(struct entry) + nr_nodes * sizeof(unsigned long);
}

/* ---- the list ---- */

static struct entry *find_locked(const struct shrinker *s)
{
	struct list_head *pos;

	list_for_each(pos, &entries)
		if (list_entry(pos, struct entry, list)->shrinker == s)
			return list_entry(pos, struct entry, list);
	return NULL;
}

static struct entry *next_locked(uint64_t after)
{
	struct list_head *pos;

	list_for_each(pos, &entries)
		if (list_entry(pos, struct entry, list)->serial > after)
			return list_entry(pos, struct entry, list);
	return NULL;
}

int shrinker_add(struct shrinker *s)
{
	unsigned int nr_nodes = s->flags & SHRINKER_NUMA_AWARE ? engine_nr_nodes() : 1;
	struct entry *e;

	if (!s->count_objects || !s->scan_objects)
		return -EINVAL;
	e = meta_alloc(entry_bytes(nr_nodes));
	if (!e)
		return -ENOMEM;
	e->shrinker = s;
	e->nr_nodes = nr_nodes;
	lock_acquire(&cache_lock);
	if (find_locked(s)) {
		cache_unlock();
		meta_free(e, entry_bytes(nr_nodes));
		return -EEXIST;
	}
	e->serial = ++serials;
	list_add_tail(&e->list, &entries);
	store_relaxed(&shrinker_counters.registered, shrinker_counters.registered + 1);
	s->flags |= SHRINKER_REGISTERED;
	cache_unlock();
	return 0;
}

bool shrinker_remove(struct shrinker *s)
{
	struct entry *e;

	lock_acquire(&cache_lock);
	e = find_locked(s);
	if (e) {
		list_del(&e->list);
		store_relaxed(&shrinker_counters.registered, shrinker_counters.registered - 1);
		s->flags &= ~SHRINKER_REGISTERED;
	}
	cache_unlock();
	if (!e)
		return false;
	callback_wait(&e->running);
	meta_free(e, entry_bytes(e->nr_nodes));
	return true;
}

/* ---- one shrinker ---- */

static unsigned long wanted(const struct shrinker *s, unsigned long freeable, unsigned int priority)
{
	if (s->seeks <= 0)
		return freeable / 2;
	return (freeable >> priority) * 4 / (unsigned int)s->seeks;
}

/* Has up to nr objects looked at. Returns how many were; *freed is added to. */
static unsigned long scan(struct shrinker *s, struct shrink_control *sc, unsigned long nr,
			  unsigned long freeable, unsigned long *freed)
{
	unsigned long batch = s->batch > 0 ? (unsigned long)s->batch : BATCH;
	unsigned long scanned = 0;

	while (nr - scanned >= batch || (nr > scanned && nr - scanned >= freeable)) {
		unsigned long got;

		sc->nr_to_scan = MIN(batch, nr - scanned);
		sc->nr_scanned = sc->nr_to_scan;
		got = s->scan_objects(s, sc);
		if (got == SHRINK_STOP)
			break;
		*freed += got;
		if (!sc->nr_scanned) /* or this would have no end */
			break;
		scanned += MIN(sc->nr_scanned, nr - scanned);
	}
	return scanned;
}

static unsigned long run_on_node(struct entry *e, gfp_t gfp, unsigned int node,
				 unsigned int priority)
{
	struct shrink_control sc = { .gfp_mask = gfp, .nid = (int)node };
	struct shrinker *s = e->shrinker;
	unsigned long freeable = s->count_objects(s, &sc);
	unsigned long freed = 0;
	unsigned long owed;
	unsigned long want;
	unsigned long done;

	if (!freeable || freeable > LONG_MAX / 4) /* SHRINK_EMPTY, and what cannot be */
		return 0;
	owed = xchg(&e->owed[node], 0);
	want = wanted(s, freeable, priority);
	done = scan(s, &sc, MIN((owed >> priority) + want, 2 * freeable), freeable, &freed);
	owed += want;
	fetch_add(&e->owed[node], MIN(owed - MIN(owed, done), 2 * freeable));
	fetch_add(&shrinker_counters.scanned, done);
	fetch_add(&shrinker_counters.freed, freed);
	return freed;
}

/* ---- all ---- */

bool shrinkers_may_run(gfp_t gfp)
{
	/* without the lock: one that comes just now is too late */
	return gfp & __GFP_DIRECT_RECLAIM && !callback_inside &&
	       load_relaxed(&shrinker_counters.registered);
}

unsigned long shrinkers_run(gfp_t gfp, unsigned int priority)
{
	unsigned long freed = 0;
	uint64_t last = 0;
	struct entry *e;

	if (!shrinkers_may_run(gfp))
		return 0;
	lock_acquire(&cache_lock);
	while ((e = next_locked(last))) {
		last = e->serial;
		callback_enter_locked(&e->running);
		for (unsigned int node = 0; node < e->nr_nodes; node++)
			freed += run_on_node(e, gfp, node, priority);
		callback_leave(&e->running);
		lock_acquire(&cache_lock);
	}
	cache_unlock();
	return freed;
}

void shrinkers_forked(void)
{
	struct list_head *pos;

	list_for_each(pos, &entries)
		callback_forked(&list_entry(pos, struct entry, list)->running);
}
