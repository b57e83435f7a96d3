/* SPDX-License-Identifier: MIT */
/*
 * engine/charged.c - engines whose objects are charged to an accounting group when they leave their
 * slabs
 *
 * Data:       engine_groups; for each engine its operations with others in front of them.
 * Invariants: see charged.h.
 * Locks:      see charged.h.
 * Flow:       see charged.h.
 */
#include "engine/charged.h"

#include "base/assert.h"
#include "base/bits.h"
#include "engine/evacuation.h"
#include "engine/limit.h"

struct engine_group engine_groups[USLAB_NR_HANDLES];
const struct engine_charges *engine_charges;

/* ---- charges ---- */

/*
 * Of objects that are in use: a change that is under way is undone, so the number beside it is
 * theirs, and nobody waits for who was switched off in the middle of it.
 */
static unsigned long group_of_objects(const struct engine *e)
{
	return engine_group(e) & ~ENGINE_GROUP_CHANGES;
}

void engine_uncharge(const struct engine *e, unsigned int n)
{
	unsigned long group = group_of_objects(e);

	if (group && n)
		engine_charges->uncharge(group, n * (size_t)e->size);
}

/* Half as many each time, down to one. */
static unsigned int charge_most(const struct engine *e, unsigned long group, unsigned int want,
				bool forced)
{
	const enum engine_charge_how how = forced ? ENGINE_CHARGE_FORCED : ENGINE_CHARGE_ONE;

	for (; want > 1; want /= 2)
		if (likely(engine_charges->charge(group, want * (size_t)e->size,
						  ENGINE_CHARGE_MANY)))
			return want;
	return want && engine_charges->charge(group, e->size, how);
}

struct engine_charge engine_charge_begin(struct engine *e, unsigned int want, bool forced)
{
	struct engine_group *g = &engine_groups[e->id];
	struct engine_charge charge = { .nr = want };

	__atomic_fetch_add(&g->users, 1, __ATOMIC_SEQ_CST);
	CHARGED_INJECT(1);
	charge.group = __atomic_load_n(&g->group, __ATOMIC_SEQ_CST);
	CHARGED_INJECT(2);
	if (charge.group & ENGINE_GROUP_CHANGES)
		charge.nr = 0;
	else if (charge.group)
		charge.nr = charge_most(e, charge.group, want, forced);
	if (!charge.nr)
		__atomic_fetch_sub(&g->users, 1, __ATOMIC_RELEASE);
	return charge;
}

unsigned int engine_charge_end(struct engine *e, const struct engine_charge *charge,
			       unsigned int got)
{
	if (charge->group && got < charge->nr)
		engine_charges->uncharge(charge->group, (charge->nr - got) * (size_t)e->size);
	/* the slabs of what it got are counted by now */
	__atomic_fetch_sub(&engine_groups[e->id].users, 1, __ATOMIC_RELEASE);
	return got;
}

static bool is_idle(const struct engine *e)
{
	return !__atomic_load_n(&engine_groups[e->id].users, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&engine_limits[e->id].pages, __ATOMIC_SEQ_CST);
}

bool engine_set_group(struct engine *e, unsigned long group)
{
	struct engine_group *g = &engine_groups[e->id];
	unsigned long old;
	bool idle;

	if (!is_idle(e)) /* mostly so: then nobody waits for the look below */
		return false;
	old = __atomic_fetch_or(&g->group, ENGINE_GROUP_CHANGES, __ATOMIC_SEQ_CST);
	CHARGED_INJECT(3);
	idle = is_idle(e);
	CHARGED_INJECT(4);
	store_release(&g->group, idle ? group : old); /* pairs with engine_charge_begin() */
	return idle;
}

/* ---- operations ---- */

#define ENGINES 8u

/* Set once for each engine, under the registry's lock. */
static struct {
	const struct engine_ops *base; /* atomic */
	struct engine_ops ops;
	struct engine_evacuation evacuation;
} charged[ENGINES];

/* Whatever stands in front of the operations by now, the name is the engine's. */
static const struct engine_ops *base_of(const struct engine *e)
{
	unsigned int i = 0;

	while (!engine_is(e, load_acquire(&charged[i].base))) /* pairs with engine_charged_ops() */
		i++;
	return charged[i].base;
}

static unsigned int charged_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				   int node)
{
	struct engine_charge c = engine_charge_begin(e, want, gfp & __GFP_NOFAIL);

	if (!c.nr)
		return 0;
	return engine_charge_end(e, &c, base_of(e)->refill(e, objs, c.nr, gfp, node));
}

static unsigned int charged_refill_near(struct engine *e, void **objs, unsigned int want)
{
	struct engine_charge c = engine_charge_begin(e, want, false);

	return c.nr ? engine_charge_end(e, &c, base_of(e)->refill_near(e, objs, c.nr)) : 0;
}

static unsigned int charged_take_partial(struct engine *e, void **objs, unsigned int want)
{
	struct engine_charge c = engine_charge_begin(e, want, false);

	return c.nr ? engine_charge_end(e, &c, base_of(e)->take_partial(e, objs, c.nr)) : 0;
}

static unsigned int charged_take_new(struct engine *e, void **objs, unsigned int want, gfp_t gfp)
{
	struct engine_charge c = engine_charge_begin(e, want, false);

	return c.nr ? engine_charge_end(e, &c, base_of(e)->take_new(e, objs, c.nr, gfp)) : 0;
}

static void charged_flush(struct engine *e, void **objs, unsigned int n)
{
	engine_uncharge(e, n); /* as long as their slabs are counted */
	base_of(e)->flush(e, objs, n);
}

static void *charged_try_alloc(struct engine *e, int node)
{
	struct engine_charge c = engine_charge_begin(e, 1, false);
	void *obj;

	if (!c.nr)
		return NULL;
	obj = base_of(e)->try_alloc(e, node);
	engine_charge_end(e, &c, obj != NULL);
	return obj;
}

static bool charged_try_free(struct engine *e, void *obj)
{
	unsigned long group = group_of_objects(e);

	if (!base_of(e)->try_free(e, obj))
		return false;
	if (group)
		engine_charges->uncharge(group, e->size);
	return true;
}

/* For objects that move, and so are not the group's choice. */
static unsigned int charged_evacuation_take(struct engine *e, unsigned int node, void **objs,
					    unsigned int want, unsigned long far, bool grows)
{
	struct engine_charge c = engine_charge_begin(e, want, true);

	return c.nr ? engine_charge_end(
			      e, &c, base_of(e)->evacuation->take(e, node, objs, c.nr, far, grows))
		    : 0;
}

const struct engine_ops *engine_charged_ops(const struct engine_ops *base)
{
	struct engine_ops ops = *base;
	unsigned int i = 0;

	while (charged[i].base && charged[i].base != base && base != &charged[i].ops)
		i++;
	CHECK(i < ENGINES);
	if (charged[i].base)
		return &charged[i].ops;
	ops.refill = charged_refill;
	ops.refill_near = ops.refill_near ? charged_refill_near : NULL;
	ops.take_partial = ops.take_partial ? charged_take_partial : NULL;
	ops.take_new = ops.take_new ? charged_take_new : NULL;
	ops.flush = charged_flush;
	ops.try_alloc = ops.try_alloc ? charged_try_alloc : NULL;
	ops.try_free = ops.try_free ? charged_try_free : NULL;
	if (ops.evacuation) {
		charged[i].evacuation = *ops.evacuation;
		charged[i].evacuation.take = charged_evacuation_take;
		ops.evacuation = &charged[i].evacuation;
	}
	charged[i].ops = ops;
	store_release(&charged[i].base, base); /* pairs with base_of() */
	return &charged[i].ops;
}
