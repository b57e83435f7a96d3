/* SPDX-License-Identifier: MIT */
/*
 * engine/limit.c - how many pages a cache may have
 *
 * Data:       see limit.h.
 * Invariants: see limit.h.
 * Locks:      see limit.h.
 * Flow:       see limit.h.
 */
#include "engine/limit.h"

struct engine_limit engine_limits[USLAB_NR_HANDLES];

bool engine_limit_is_met(const struct engine *e)
{
	const struct engine_limit *l = &engine_limits[e->id];
	const struct slab_layout *layout = load_acquire(&e->layout); /* pairs with debug/attach.c */
	unsigned long most = load_relaxed(&l->most);

	return most && load_relaxed(&l->pages) + (1ul << layout->min_order) > most;
}
