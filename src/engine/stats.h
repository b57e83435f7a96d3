/* SPDX-License-Identifier: MIT */
/*
 * engine/stats.h - events, counted per cache and CPU (spec 4.15)
 *
 * Data:       who counts; the counters lie with the CPUs (front/percpu.h).
 * Invariants: inspect/fields.def has the events in this order; inspect/snapshot.c compares.
 * Locks:      none; set before threads exist.
 * Flow:       called by debug/, engine/nodes.c, engine/slub/ and front/; the pointer leads to
 *             front/percpu.c, since floors call down only.
 */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "engine/engine.h"

/*
 * Debug slabs of every engine have those of slabs; SLUB has all of them, those of CPUs' slabs with
 * such fronts; a front of sheaves counts what becomes of these for every engine.
 */
enum engine_stat {
	ALLOC_FASTPATH,
	ALLOC_SLOWPATH,
	FREE_FASTPATH,
	FREE_SLOWPATH,
	FREE_FROZEN,
	FREE_ADD_PARTIAL,
	FREE_REMOVE_PARTIAL,
	ALLOC_FROM_PARTIAL,
	ALLOC_SLAB,
	ALLOC_REFILL,
	ALLOC_NODE_MISMATCH,
	FREE_SLAB,
	CPUSLAB_FLUSH,
	DEACTIVATE_FULL,
	DEACTIVATE_EMPTY,
	DEACTIVATE_TO_HEAD,
	DEACTIVATE_TO_TAIL,
	DEACTIVATE_REMOTE_FREES,
	DEACTIVATE_BYPASS,
	ORDER_FALLBACK,
	CMPXCHG_DOUBLE_CPU_FAIL,
	CMPXCHG_DOUBLE_FAIL,
	CPU_PARTIAL_ALLOC,
	CPU_PARTIAL_FREE,
	CPU_PARTIAL_NODE,
	CPU_PARTIAL_DRAIN,
	/* of the fronts of sheaves; those of 6.18 count the first two, of 7.0 FASTPATH instead */
	ALLOC_CPU_SHEAF,
	FREE_CPU_SHEAF,
	FREE_RCU_SHEAF,
	FREE_RCU_SHEAF_FAIL,
	SHEAF_FLUSH,  /* objects */
	SHEAF_REFILL, /* objects */
	SHEAF_ALLOC,
	SHEAF_FREE,
	BARN_GET,
	BARN_GET_FAIL,
	BARN_PUT,
	BARN_PUT_FAIL,
	SHEAF_PREFILL_FAST,
	SHEAF_PREFILL_SLOW,
	SHEAF_PREFILL_OVERSIZE,
	SHEAF_RETURN_FAST,
	SHEAF_RETURN_SLOW,
	NR_ENGINE_STATS
};

/*
 * NULL (off, nothing is counted), or a function set by front/percpu.c that adds one to this CPU's
 * counter of that cache.
 */
extern void (*engine_count_hook)(const struct engine *e, enum engine_stat item);

static inline bool engine_counts(void)
{
	return unlikely(engine_count_hook);
}

static inline void engine_count(const struct engine *e, enum engine_stat item)
{
	if (engine_counts())
		engine_count_hook(e, item);
}

#endif /* ENGINE_STATS_H */
