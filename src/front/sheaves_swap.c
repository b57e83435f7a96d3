/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_swap.c - another sheaf for a CPU's main one, when that is empty or full (spec
 * A3d, A4d)
 *
 * Why:        docs/adr/0049.
 * Data:       none of its own.
 * Invariants: see front/sheaves.h.
 * Locks:      sheaf_lock when called; it is released before objects or memory are asked for, and
 *             then only tried again, perhaps on another CPU.
 * Flow:       called by sheaves.c; calls sheaves_barn.c, sheaves.c.
 *
 * The order of the steps is the kernel's, and so is what each counts. That main is missing (a CPU
 * that had none so far) is an empty one in an allocation, and a full one in a free.
 */
#include "base/bits.h"
#include "front/sheaves.h"

static void exchange_main_and_spare(struct kmem_cache_cpu *c)
{
	struct sheaf *main = c->main;

	store_relaxed(&c->main, c->spare);
	store_relaxed(&c->spare, main);
}

/* ---- main is empty --------------------------------------------------------------------------- */

/* Step 8: a sheaf that was filled without the lock, to where it fits. */
static bool install_filled(struct front *f, struct sheaves_at *at, struct sheaf *filled)
{
	struct kmem_cache_cpu *c;
	struct sheaf *empty = NULL;
	unsigned int node = at->node;

	if (!sheaves_enter_with(f, at, filled)) {
		sheaves_put_full(f, node, filled);
		return false;
	}
	c = at->c;
	if (!sheaf_has_objects(c->main)) {
		empty = c->main;
		store_relaxed(&c->main, filled);
		if (!c->spare) {
			store_relaxed(&c->spare, empty);
			empty = NULL;
		}
	} else if (!sheaf_has_objects(c->spare)) {
		empty = c->spare;
		store_relaxed(&c->spare, filled);
	} else if (!sheaves_try_put_full(f, at->node, filled)) {
		sheaves_leave(at);
		sheaves_put_full(f, node, filled);
		return false;
	}
	if (empty)
		sheaves_put_empty(f, at->node, empty);
	return true;
}

bool sheaves_replace_empty(struct front *f, struct sheaves_at *at, gfp_t gfp)
{
	struct barn *barn = sheaves_barn(f, at->node);
	struct kmem_cache_cpu *c = at->c;
	struct sheaf *sheaf;

	if (sheaf_has_objects(c->spare)) {
		exchange_main_and_spare(c);
		return true;
	}
	sheaf = barn_exchange_empty(barn, c->main);
	if (sheaf) {
		store_relaxed(&c->main, sheaf);
		sheaves_count(f, BARN_GET, 1);
		return true;
	}
	sheaves_count(f, BARN_GET_FAIL, 1);
	sheaf = c->spare;
	store_relaxed(&c->spare, NULL);
	if (!sheaf)
		sheaf = barn_get_empty(barn);
	sheaves_leave(at);

	if (!sheaf)
		sheaf = sheaves_new(f);
	if (!sheaf)
		return false;
	if (!sheaves_fill(f, sheaf, gfp)) {
		sheaves_flush(f, sheaf);
		sheaves_delete(f, sheaf);
		return false;
	}
	return install_filled(f, at, sheaf);
}

/* ---- main is full ---------------------------------------------------------------------------- */

/* Step 6: an empty sheaf that was found without the lock. */
static bool install_empty(struct front *f, struct sheaves_at *at, struct sheaf *empty)
{
	struct kmem_cache_cpu *c;
	unsigned int node = at->node;

	if (!sheaves_enter_with(f, at, empty)) {
		sheaves_put_empty(f, node, empty);
		return false;
	}
	c = at->c;
	if (!c->main || !c->spare) {
		if (!c->spare)
			store_relaxed(&c->spare, c->main);
		store_relaxed(&c->main, empty);
		return true;
	}
	if (sheaf_has_space(c->main) || sheaf_has_space(c->spare)) {
		if (!sheaf_has_space(c->main))
			exchange_main_and_spare(c);
		sheaves_put_empty(f, at->node, empty);
		return true;
	}
	if (!sheaves_try_put_full(f, at->node, c->main)) {
		sheaves_leave(at);
		sheaves_put_empty(f, node, empty);
		return false;
	}
	store_relaxed(&c->main, empty);
	return true;
}

/* Step 5, without memory: main goes to the slabs. The sheaves are not locked when called. */
static bool flush_main(struct front *f, struct sheaves_at *at)
{
	void *objs[SHEAVES_BATCH];
	unsigned int n;

	while (sheaves_enter(f, at)) {
		struct sheaf *main = at->c->main;

		if (sheaf_has_space(main))
			return true;
		for (n = 0; n < SHEAVES_BATCH && sheaf_has_objects(main); n++)
			objs[n] = sheaf_pop(main);
		sheaves_leave(at);
		if (!n) /* there is no sheaf at all */
			return false;
		sheaves_count(f, SHEAF_FLUSH, n);
		sheaves_below(f)->free_bulk(f, n, objs);
	}
	return false;
}

/* Steps 2 to 4, with the lock. true: main has space. *old: a sheaf to flush and to use, or NULL. */
static bool replace_full_locked(struct front *f, struct sheaves_at *at, struct sheaf **old)
{
	struct barn *barn = sheaves_barn(f, at->node);
	struct kmem_cache_cpu *c = at->c;
	struct sheaf *sheaf;

	*old = NULL;
	if (!c->main || !c->spare) {
		sheaf = barn_get_empty(barn);
		if (!sheaf)
			return false;
		if (!c->spare)
			store_relaxed(&c->spare, c->main);
		store_relaxed(&c->main, sheaf);
		return true;
	}
	if (sheaf_has_space(c->spare)) {
		exchange_main_and_spare(c);
		return true;
	}
	sheaf = c->main;
	switch (barn_exchange_full(barn, &sheaf)) {
	case BARN_DONE:
		sheaves_count(f, BARN_PUT, 1);
		store_relaxed(&c->main, sheaf);
		return true;
	case BARN_TOO_BIG:
		sheaves_count(f, BARN_PUT_FAIL, 1);
		*old = c->spare;
		store_relaxed(&c->spare, NULL);
		break;
	default:
		break;
	}
	return false;
}

bool sheaves_replace_full(struct front *f, struct sheaves_at *at)
{
	struct sheaf *sheaf;
	bool both_full;

	if (replace_full_locked(f, at, &sheaf))
		return true;
	both_full = at->c->main && at->c->spare;
	sheaves_leave(at);
	if (sheaf)
		sheaves_flush(f, sheaf);
	else
		sheaf = sheaves_new(f);
	if (sheaf)
		return install_empty(f, at, sheaf);
	if (both_full)
		sheaves_count(f, BARN_PUT_FAIL, 1);
	return flush_main(f, at);
}
