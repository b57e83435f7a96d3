/* SPDX-License-Identifier: MIT */
/*
 * cache/control/attribute.c - attributes of a cache that tools may write: the writable files of
 * spec 6.3
 *
 * Data:       a table of names.
 * Invariants: a value that is refused changes nothing.
 * Locks:      cache_lock, held by the caller.
 * Flow:       called by control.c; calls debug.c, drain.c, the engine.
 *
 * As in the kernel, but for: red_zone, poison and store_user may be written while there are
 * objects; and what only SLUB has is refused for the other engines.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/control/control.h"
#include "cache/internal.h"
#include "cache/mobility/mobility.h"
#include "engine/slub/slub.h"
#include "os/cpu/cpu.h"

static bool is_slub(const struct cache *c)
{
	return engine_is(&c->engine, &slub_ops);
}

static long set_min_partial(struct cache *c, unsigned long value)
{
	if (!is_slub(c) && !c->engine.debug)
		return -EOPNOTSUPP;
	if (is_slub(c))
		store_relaxed(&slub_of(&c->engine)->min_partial, value);
	if (c->engine.debug)
		store_relaxed(&c->engine.debug->min_partial, value);
	return 0;
}

static long set_cpu_partial(struct cache *c, unsigned long value)
{
	if (!is_slub(c))
		return -EOPNOTSUPP;
	if (value > UINT32_MAX || (value && c->flags & DEBUG_SLAB_FLAGS))
		return -EINVAL;
	if (value && c->front.ops == &front_sheaves_ops) /* spec A9 */
		return -EINVAL;
	slub_set_cpu_partial(&c->engine, (unsigned int)value);
	cache_drain_locked(c);
	return 0;
}

static long set_defrag_ratio(struct cache *c, unsigned long value)
{
	if (!is_slub(c))
		return -EOPNOTSUPP;
	if (value > 100)
		return -ERANGE;
	store_relaxed(&slub_of(&c->engine)->remote_node_defrag_ratio, (unsigned int)value * 10);
	return 0;
}

static long set_order(struct cache *c, unsigned long value)
{
	int ret;

	if (!is_slub(c))
		return -EOPNOTSUPP;
	if (value > UINT32_MAX)
		return -EINVAL;
	ret = slub_set_order(&c->engine, (unsigned int)value);
	/* for new slabs; a free of an object of an old one goes by its page */
	if (!ret)
		cache_check_frees_locked(c);
	return ret;
}

static long do_shrink(struct cache *c, unsigned long value)
{
	if (value != 1)
		return -EINVAL;
	cache_shrink_locked(c);
	return 0;
}

static long do_validate(struct cache *c, unsigned long value)
{
	return value == 1 ? cache_validate_locked(c) : -EINVAL;
}

static long set_skip_kfence(struct cache *c, unsigned long value)
{
	slab_flags_t flags = c->flags & ~SLAB_SKIP_KFENCE;

	if (value > 1)
		return -EINVAL;
	flags |= value ? SLAB_SKIP_KFENCE : 0;
	store_relaxed(&c->flags, flags);
	store_relaxed(&c->engine.flags,
		      (c->engine.flags & ~SLAB_SKIP_KFENCE) | (flags & SLAB_SKIP_KFENCE));
	return 0;
}

/* CONTROL_CAPACITY_BY_SIZE: as object size gives; 0: none, as is read then. */
static long set_capacity(struct cache *c, unsigned long value)
{
	BUILD_ASSERT(CONTROL_CAPACITY_MAX == CACHE_MAX_CAPACITY);
	if (value == CONTROL_CAPACITY_BY_SIZE)
		return cache_set_capacity_locked(c, 0);
	if (value > CONTROL_CAPACITY_MAX)
		return -EINVAL;
	return cache_set_capacity_locked(c, value ? (unsigned int)value : FRONT_CAPACITY_NONE);
}

static long set_used_ratio(struct cache *c, unsigned long value)
{
	return value > 100 ? -ERANGE : mobility_set_ratio_locked(c, (unsigned int)value);
}

static long set_limit(struct cache *c, unsigned long value)
{
	return cache_set_limit_locked(c, value);
}

static const struct attribute {
	const char *name;
	long (*set)(struct cache *c, unsigned long value);
} attributes[] = {
	{ "min_partial", set_min_partial },
	{ "cpu_partial", set_cpu_partial },
	{ "remote_node_defrag_ratio", set_defrag_ratio },
	{ "defrag_used_ratio", set_used_ratio },
	{ "order", set_order },
	{ "limit", set_limit },
	{ "sheaf_capacity", set_capacity },
	{ "shrink", do_shrink },
	{ "validate", do_validate },
	{ "skip_kfence", set_skip_kfence },
};

/* '1' sets the debug flag, anything else clears it. */
static const struct letter {
	const char *name;
	slab_flags_t flag;
	bool alone; /* refused for caches with aliases */
} debug_flags[] = {
	{ "sanity_checks", SLAB_CONSISTENCY_CHECKS, false },
	{ "red_zone", SLAB_RED_ZONE, false },
	{ "poison", SLAB_POISON, false },
	{ "store_user", SLAB_STORE_USER, false },
	{ "trace", SLAB_TRACE, true },
	{ "failslab", SLAB_FAILSLAB, true },
};

static long set_letter(struct cache *c, const struct letter *letter, unsigned long value)
{
	slab_flags_t flags = c->flags & ~letter->flag;

	if (letter->alone && c->refcount > 1)
		return -EINVAL;
	return cache_set_debug_locked(c, value == 1 ? flags | letter->flag : flags);
}

/* Of each CPU; 0 clears it. */
static const char *const stats[NR_ENGINE_STATS] = {
	[ALLOC_FASTPATH] = "alloc_fastpath",
	[ALLOC_SLOWPATH] = "alloc_slowpath",
	[FREE_FASTPATH] = "free_fastpath",
	[FREE_SLOWPATH] = "free_slowpath",
	[FREE_FROZEN] = "free_frozen",
	[FREE_ADD_PARTIAL] = "free_add_partial",
	[FREE_REMOVE_PARTIAL] = "free_remove_partial",
	[ALLOC_FROM_PARTIAL] = "alloc_from_partial",
	[ALLOC_SLAB] = "alloc_slab",
	[ALLOC_REFILL] = "alloc_refill",
	[ALLOC_NODE_MISMATCH] = "alloc_node_mismatch",
	[FREE_SLAB] = "free_slab",
	[CPUSLAB_FLUSH] = "cpuslab_flush",
	[DEACTIVATE_FULL] = "deactivate_full",
	[DEACTIVATE_EMPTY] = "deactivate_empty",
	[DEACTIVATE_TO_HEAD] = "deactivate_to_head",
	[DEACTIVATE_TO_TAIL] = "deactivate_to_tail",
	[DEACTIVATE_REMOTE_FREES] = "deactivate_remote_frees",
	[DEACTIVATE_BYPASS] = "deactivate_bypass",
	[ORDER_FALLBACK] = "order_fallback",
	[CMPXCHG_DOUBLE_CPU_FAIL] = "cmpxchg_double_cpu_fail",
	[CMPXCHG_DOUBLE_FAIL] = "cmpxchg_double_fail",
	[CPU_PARTIAL_ALLOC] = "cpu_partial_alloc",
	[CPU_PARTIAL_FREE] = "cpu_partial_free",
	[CPU_PARTIAL_NODE] = "cpu_partial_node",
	[CPU_PARTIAL_DRAIN] = "cpu_partial_drain",
	[ALLOC_CPU_SHEAF] = "alloc_cpu_sheaf",
	[FREE_CPU_SHEAF] = "free_cpu_sheaf",
	[FREE_RCU_SHEAF] = "free_rcu_sheaf",
	[FREE_RCU_SHEAF_FAIL] = "free_rcu_sheaf_fail",
	[SHEAF_FLUSH] = "sheaf_flush",
	[SHEAF_REFILL] = "sheaf_refill",
	[SHEAF_ALLOC] = "sheaf_alloc",
	[SHEAF_FREE] = "sheaf_free",
	[BARN_GET] = "barn_get",
	[BARN_GET_FAIL] = "barn_get_fail",
	[BARN_PUT] = "barn_put",
	[BARN_PUT_FAIL] = "barn_put_fail",
	[SHEAF_PREFILL_FAST] = "sheaf_prefill_fast",
	[SHEAF_PREFILL_SLOW] = "sheaf_prefill_slow",
	[SHEAF_PREFILL_OVERSIZE] = "sheaf_prefill_oversize",
	[SHEAF_RETURN_FAST] = "sheaf_return_fast",
	[SHEAF_RETURN_SLOW] = "sheaf_return_slow",
};

static long clear_stat(struct cache *c, enum engine_stat item, unsigned long value)
{
	if (value)
		return -EINVAL;
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		store_relaxed(&percpu_state(c->front.id, cpu)->stat[item], 0);
	return 0;
}

long cache_set_attribute_locked(struct cache *c, const char *name, unsigned long value)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		if (!strcmp(attributes[i].name, name))
			return attributes[i].set(c, value);
	for (size_t i = 0; i < ARRAY_SIZE(debug_flags); i++)
		if (!strcmp(debug_flags[i].name, name))
			return set_letter(c, &debug_flags[i], value);
	for (unsigned int i = 0; i < NR_ENGINE_STATS; i++)
		if (!strcmp(stats[i], name))
			return clear_stat(c, (enum engine_stat)i, value);
	return -ENOENT;
}
