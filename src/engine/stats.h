/* SPDX-License-Identifier: MIT */
/*
 * engine/stats.h - events, counted per cache and CPU (spec 4.15)
 *
 * Data:       who counts; the counters lie with the CPUs (front/percpu.h).
 * Invariants: one row of numbers for the events of all engines: those below, and those of
 *             engine/slub/slub.h. inspect/fields.def has them in this order, and
 *             inspect/snapshot.c compares.
 * Locks:      none; set before threads exist.
 * Flow:       called by debug/, engine/nodes.c, engine/slub/ and front/; the pointer leads to
 *             front/percpu.c, since floors call down only.
 */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "engine/engine.h"

/* Of slabs, debug slabs among them: so every engine counts these. */
enum engine_stat {
	ALLOC_SLOWPATH = 1,
	FREE_SLOWPATH = 3,
	FREE_ADD_PARTIAL = 5,
	FREE_REMOVE_PARTIAL = 6,
	ALLOC_FROM_PARTIAL = 7,
	ALLOC_SLAB = 8,
	FREE_SLAB = 11,
	ORDER_FALLBACK = 19,
	NR_ENGINE_STATS = 26 /* numbers in the row: the others are enum slub_stat */
};

/*
 * NULL (off, nothing is counted), or a function set by front/percpu.c that adds one to this CPU's
 * counter of that cache.
 */
extern void (*engine_count_hook)(const struct engine *e, unsigned int item);

static inline bool engine_counts(void)
{
	return unlikely(engine_count_hook);
}

/* item: enum engine_stat, or of an engine's own. */
static inline void engine_count(const struct engine *e, unsigned int item)
{
	if (engine_counts())
		engine_count_hook(e, item);
}

#endif /* ENGINE_STATS_H */
