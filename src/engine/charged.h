/* SPDX-License-Identifier: MIT */
/*
 * engine/charged.h - engines whose objects are charged to an accounting group when they leave their
 * slabs
 *
 * Why:        docs/adr/0069.
 * Data:       engine_groups[number of the cache].
 * Invariants: what the engine has handed out, and nothing else, is charged to the group of the
 *             cache: objects in use, and those that fronts hold. So it changes only while the cache
 *             has no slabs and nobody takes objects.
 * Locks:      none of its own; what charges takes the lock of a CPU's stock.
 * Flow:       called by cache/direct.c, cache/group/, cache/pressure.c, debug/ and
 *             inspect/limits.c; calls the engine, limit.h, and the floor above by engine_charges.
 *
 * Who takes objects counts itself first and then looks at the group. engine_set_group() stores that
 * the group changes first, and then looks whether anybody is counted, or there are slabs. One of
 * both sees the other: the objects are refused, or the change is. Objects that come back lie in
 * slabs, which are counted, so that their group is the one that they were charged to; the number
 * stays in the word meanwhile.
 */
#ifndef ENGINE_CHARGED_H
#define ENGINE_CHARGED_H

#include "base/atomic.h"
#include "engine/engine.h"

/* Beside the number of the group; no object is handed out meanwhile. */
#define ENGINE_GROUP_CHANGES (1ul << 63)

/* Tools read it from outside. */
struct engine_group {
	unsigned long group; /* its number; 0: none; maybe with ENGINE_GROUP_CHANGES; atomic */
	unsigned long users; /* who take objects; atomic */
	unsigned long size;  /* bytes that an object is charged with; set with the first group */
};

extern struct engine_group engine_groups[USLAB_NR_HANDLES];

enum engine_charge_how {
	ENGINE_CHARGE_MANY,   /* objects, of which some are for others */
	ENGINE_CHARGE_ONE,    /* the one that is asked for */
	ENGINE_CHARGE_FORCED, /* the same, whatever the limits are */
};

/* Set by the floor above before there is a cache with a group. */
struct engine_charges {
	/* false: a limit of the group, or of one above it, does not leave so many bytes. */
	bool (*charge)(unsigned long group, size_t bytes, enum engine_charge_how how);
	void (*uncharge)(unsigned long group, size_t bytes);
};

extern const struct engine_charges *engine_charges;

/* The number of the group that objects of this engine are charged to, or 0. */
static inline unsigned long engine_group(const struct engine *e)
{
	return load_relaxed(&engine_groups[e->id].group);
}

/*
 * Those operations with others in front that charge: for an engine that has no slabs, and that
 * nobody uses. They may stay when it belongs to no group any more. One caller at a time.
 */
const struct engine_ops *engine_charged_ops(const struct engine_ops *base);

/* false: the engine has slabs, or somebody takes objects, and nothing changed. One at a time. */
bool engine_set_group(struct engine *e, unsigned long group);

/*
 * Around what takes objects: up to want are charged, as the limits allow, or one if forced. nr 0:
 * none, and it is over. What was not to be had is given back at the end.
 */
struct engine_charge {
	unsigned long group;
	unsigned int nr;
};
struct engine_charge engine_charge_begin(struct engine *e, unsigned int want, bool forced);
unsigned int engine_charge_end(struct engine *e, const struct engine_charge *charge,
			       unsigned int got);
/* So many objects are about to come back, or are in their slabs by now, which are there still. */
void engine_uncharge(const struct engine *e, unsigned int n);

/* Delays for tests, where others may come between: tests/race/charged_engine_test.c. */
#ifndef CHARGED_INJECT
#define CHARGED_INJECT(step)
#endif

#endif /* ENGINE_CHARGED_H */
