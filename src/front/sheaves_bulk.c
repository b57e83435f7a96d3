/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_bulk.c - many objects at once: whole parts of sheaves, then slabs (spec A3, A4)
 *
 * Why:        docs/adr/0049.
 * Data:       none of its own.
 * Invariants: see front/sheaves.h.
 * Locks:      sheaf_lock of the running CPU, tried once for each sheaf. None while objects come
 *             from slabs or go there.
 * Flow:       called by sheaves.c; calls sheaves_barn.c, the front below.
 *
 * No sheaf is filled or flushed for a bulk call: what the CPU and the barn do not have, or have no
 * space for, moves between the caller's array and the slabs, so that pointers are copied once.
 */
#include <string.h>

#include "base/bits.h"
#include "front/sheaves.h"

/* ---- alloc ----------------------------------------------------------------------------------- */

/* main has objects. false: neither the CPU nor the barn has any. */
static bool find_objects_locked(struct front *f, struct sheaves_at *at)
{
	struct kmem_cache_cpu *c = at->c;
	struct sheaf *sheaf = c->main;

	if (sheaf_has_objects(sheaf))
		return true;
	if (sheaf_has_objects(c->spare)) {
		store_relaxed(&c->main, c->spare);
		store_relaxed(&c->spare, sheaf);
		return true;
	}
	sheaf = barn_exchange_empty(sheaves_barn(f, at->node), sheaf);
	sheaves_count(f, sheaf ? BARN_GET : BARN_GET_FAIL, 1);
	if (sheaf)
		store_relaxed(&c->main, sheaf);
	return sheaf;
}

static unsigned int pop_many(struct front *f, unsigned int nr, void **p)
{
	struct sheaves_at at;
	unsigned int n = 0;

	if (!sheaves_enter(f, &at))
		return 0;
	while (n < nr && find_objects_locked(f, &at)) {
		struct sheaf *main = at.c->main;
		unsigned int take = MIN(nr - n, main->nr);

		store_relaxed(&main->nr, main->nr - take);
		memcpy(p + n, main->obj + main->nr, take * sizeof(*p));
		n += take;
	}
	sheaves_leave(&at);
	sheaves_count(f, sheaves_of(f)->era->alloc, n);
	return n;
}

unsigned int sheaves_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	const struct sheaves_era *era = sheaves_of(f)->era;
	unsigned int n = pop_many(f, nr, p);
	unsigned int more;

	if (n == nr)
		return n;
	more = era->below->alloc_bulk(f, gfp, nr - n, p + n);
	if (era->counts_slow)
		sheaves_count(f, ALLOC_SLOWPATH, more);
	return n + more;
}

/* ---- free ------------------------------------------------------------------------------------ */

/* main has space. false: neither the CPU nor the barn has any. */
static bool find_space_locked(struct front *f, struct sheaves_at *at)
{
	struct barn *barn = sheaves_barn(f, at->node);
	struct kmem_cache_cpu *c = at->c;
	struct sheaf *sheaf = c->main;

	if (sheaf_has_space(sheaf))
		return true;
	if (sheaf && sheaf_has_space(c->spare)) {
		store_relaxed(&c->main, c->spare);
		store_relaxed(&c->spare, sheaf);
		return true;
	}
	if (sheaf && c->spare) {
		enum barn_answer answer = barn_exchange_full(barn, &sheaf);

		sheaves_count(f, answer == BARN_DONE ? BARN_PUT : BARN_PUT_FAIL,
			      answer != BARN_NONE);
		if (answer != BARN_DONE)
			return false;
	} else {
		sheaf = barn_get_empty(barn);
		if (!sheaf)
			return false;
		if (!c->spare)
			store_relaxed(&c->spare, c->main);
	}
	store_relaxed(&c->main, sheaf);
	return true;
}

/*
 * Moves those of other nodes than the CPU's to the end of p. Returns how many are of this node.
 */
static unsigned int sort_out_remote(unsigned int node, unsigned int nr, void **p)
{
	unsigned int here = 0;

	if (os_topology.nr_nodes == 1)
		return nr;
	for (unsigned int i = 0; i < nr; i++) {
		void *obj = p[i];

		if (sheaves_is_remote(obj, node))
			continue;
		p[i] = p[here];
		p[here++] = obj;
	}
	return here;
}

/* Those of p that go into the sheaves come first in it then; returns how many. */
static unsigned int push_many(struct front *f, unsigned int nr, void **p)
{
	struct sheaves_at at;
	unsigned int n = 0;

	if (!sheaves_enter(f, &at))
		return 0;
	nr = sort_out_remote(at.node, nr, p);
	while (n < nr && find_space_locked(f, &at)) {
		struct sheaf *main = at.c->main;
		unsigned int take = MIN(nr - n, main->capacity - main->nr);

		memcpy(main->obj + main->nr, p + n, take * sizeof(*p));
		store_relaxed(&main->nr, main->nr + take);
		n += take;
	}
	sheaves_leave(&at);
	sheaves_count(f, sheaves_of(f)->era->free, n);
	return n;
}

void sheaves_free_bulk(struct front *f, unsigned int nr, void **p)
{
	unsigned int n = push_many(f, nr, p);

	if (n < nr)
		sheaves_below(f)->free_bulk(f, nr - n, p + n);
}
