/* SPDX-License-Identifier: MIT */
/*
 * engine/limit.c - how many pages a cache may have, and which group its slabs are charged to
 *
 * Data:       see limit.h.
 * Invariants: see limit.h.
 * Locks:      see limit.h.
 * Flow:       see limit.h.
 */
#include "engine/limit.h"

#include "arch/cpu.h"

struct engine_limit engine_limits[USLAB_NR_HANDLES];
const struct engine_charges *engine_charges;

bool engine_limit_is_met(const struct engine *e)
{
	const struct engine_limit *l = &engine_limits[e->id];
	const struct slab_layout *layout = load_acquire(&e->layout); /* pairs with debug/attach.c */
	unsigned long most = load_relaxed(&l->most);

	return most && load_relaxed(&l->pages) + (1ul << layout->min_order) > most;
}

bool engine_set_group(struct engine *e, unsigned long group)
{
	struct engine_limit *l = &engine_limits[e->id];
	unsigned long old;
	bool empty;

	/* mostly so; in this case nobody waits */
	if (load_relaxed(&l->pages))
		return false;
	old = __atomic_exchange_n(&l->group, ENGINE_GROUP_CHANGES, __ATOMIC_SEQ_CST);
	LIMIT_INJECT(3);
	empty = !__atomic_load_n(&l->pages, __ATOMIC_SEQ_CST);
	LIMIT_INJECT(4);
	store_release(&l->group, empty ? group : old); /* pairs with group_of_slab() */
	return empty;
}

/* Of a slab that is counted: a change that is under way sees it, and is undone at once. */
static unsigned long group_of_slab(const struct engine *e)
{
	unsigned long group;

	while (unlikely((group = load_acquire(&engine_limits[e->id].group)) ==
			ENGINE_GROUP_CHANGES)) /* pairs with engine_set_group() */
		arch_pause();
	return group;
}

bool engine_charge_slow(const struct engine *e, unsigned long nr_pages)
{
	size_t bytes = engine_charge_of(e, nr_pages);
	unsigned long group;

	LIMIT_INJECT(2);
	group = __atomic_load_n(&engine_limits[e->id].group, __ATOMIC_SEQ_CST);
	if (!group)
		return true;
	if (group == ENGINE_GROUP_CHANGES || !engine_charges->charge(group, bytes))
		return false;
	fetch_add(&engine_limits[e->id].charged, bytes);
	return true;
}

void engine_uncharge_slow(const struct engine *e, unsigned long nr_pages)
{
	size_t bytes = engine_charge_of(e, nr_pages);
	unsigned long group = group_of_slab(e);

	if (!group)
		return;
	fetch_sub(&engine_limits[e->id].charged, bytes);
	engine_charges->uncharge(group, bytes);
}
