/* SPDX-License-Identifier: MIT */
/*
 * cache/init.c - floors 1 to 5 made ready, once; the options of USLAB_CONF
 *
 * Data:       cache_defaults; state: 0 nothing, 1 ready, negative errno failed.
 * Invariants: everything a fast path reads is in place before any handle exists.
 * Locks:      init_lock (unranked) for the first call; later calls read state only.
 * Flow:       called by api/ and malloc/ before anything else; calls the init of each floor, lowest
 *             first. May run before any constructor and before main.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "os/cpu.h"
#include "os/env.h"
#include "os/fork.h"
#include "os/rseq.h"
#include "page/arena.h"
#include "page/buddy.h"

struct cache_defaults cache_defaults = {
	.engine = &slub_ops,
	.front = &front_array_ops,
};

static struct lock init_lock = LOCK_INIT(RANK_NONE);
static int state;

const struct engine_ops *cache_engine_by_name(const char *name)
{
	return strcmp(name, slub_ops.name) ? NULL : &slub_ops;
}

/* ---- options: key, how to set it ---- */

static bool parse_number(const char *value, unsigned int max, unsigned int *number)
{
	size_t n;

	if (!os_parse_size(value, &n) || n > max)
		return false;
	*number = (unsigned int)n;
	return true;
}

static bool set_engine(const char *value)
{
	const struct engine_ops *engine = cache_engine_by_name(value);

	if (engine)
		cache_defaults.engine = engine;
	return engine;
}

static bool set_front(const char *value)
{
	const struct front_ops *front = front_by_name(value);

	if (front)
		cache_defaults.front = front;
	return front;
}

static bool set_flag(bool *flag, const char *value, bool on)
{
	if (!strcmp(value, "") || !strcmp(value, "1"))
		*flag = on;
	else if (!strcmp(value, "0"))
		*flag = !on;
	else
		return false;
	return true;
}

static bool set_nomerge(const char *value)
{
	return set_flag(&cache_defaults.no_merge, value, true);
}

static bool set_merge(const char *value)
{
	return set_flag(&cache_defaults.no_merge, value, false);
}

static bool set_hardened(const char *value)
{
	return set_flag(&cache_defaults.hardened, value, true);
}

static bool set_randomised(const char *value)
{
	return set_flag(&cache_defaults.randomised, value, true);
}

static bool set_stats(const char *value)
{
	if (!set_flag(&cache_defaults.stats, value, true))
		return false;
	percpu_set_stats(cache_defaults.stats);
	return true;
}

/* The three knobs of spec 4.3 as the kernel's command line sets them. */
static struct {
	unsigned int min_order;
	unsigned int max_order;
	unsigned int min_objects;
} orders = { .max_order = 3 };

static bool set_order_knob(unsigned int *knob, unsigned int max, const char *value)
{
	unsigned int before = *knob;

	if (!parse_number(value, max, knob))
		return false;
	if (!slub_set_orders(orders.min_order, orders.max_order, orders.min_objects))
		return true;
	*knob = before;
	return false;
}

static bool set_min_order(const char *value)
{
	return set_order_knob(&orders.min_order, BUDDY_MAX_ORDER, value);
}

static bool set_max_order(const char *value)
{
	return set_order_knob(&orders.max_order, BUDDY_MAX_ORDER, value);
}

static bool set_min_objects(const char *value)
{
	return set_order_knob(&orders.min_objects, 32767, value);
}

static struct {
	size_t limit;
	unsigned int delay_ms;
} purge = { .limit = SIZE_MAX, .delay_ms = 1000 };

static bool set_purge_limit(const char *value)
{
	if (!os_parse_size(value, &purge.limit))
		return false;
	buddy_set_purge(purge.limit, purge.delay_ms);
	return true;
}

static bool set_purge_delay(const char *value)
{
	if (!parse_number(value, 1u << 30, &purge.delay_ms))
		return false;
	buddy_set_purge(purge.limit, purge.delay_ms);
	return true;
}

/* slab_* are the kernel's command line options; slub_* its older names for them. */
static const struct option {
	const char *key;
	bool (*set)(const char *value);
} options[] = {
	{ "engine", set_engine },
	{ "front", set_front },
	{ "stats", set_stats },
	{ "hardened", set_hardened },
	{ "random", set_randomised },
	{ "purge_limit", set_purge_limit },
	{ "purge_delay", set_purge_delay },
	{ "slab_nomerge", set_nomerge },
	{ "slub_nomerge", set_nomerge },
	{ "slab_merge", set_merge },
	{ "slub_merge", set_merge },
	{ "slab_min_order", set_min_order },
	{ "slub_min_order", set_min_order },
	{ "slab_max_order", set_max_order },
	{ "slub_max_order", set_max_order },
	{ "slab_min_objects", set_min_objects },
	{ "slub_min_objects", set_min_objects },
};

bool cache_set_option(const char *key, const char *value, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].key, key))
			return options[i].set(value);
	return false;
}

/* ---- once ---- */

static int init_floors(void)
{
	int ret;

	os_cpu_init();
	os_rseq_init();
	ret = arena_init(os_topology.nr_cpu_ids);
	if (ret)
		return ret;
	buddy_init(os_topology.nr_nodes);
	percpu_init();
	front_stop_words(USLAB_ID_NONE); /* page class 0 means no cache: its word always misses */
	percpu_set_stats(cache_defaults.stats);
	os_env_pairs("USLAB_CONF", cache_set_option, NULL);
	return 0;
}

static cold int init_slow(void)
{
	bool first = false;
	int ret;

	lock_acquire(&init_lock);
	ret = state;
	if (!ret) {
		ret = init_floors();
		first = !ret;
		ret = ret ? ret : 1;
		store_release(&state, ret); /* pairs with cache_init */
	}
	lock_release(&init_lock);
	/* after the lock: libc may allocate for it, and come back here */
	if (first)
		os_at_fork(cache_fork_prepare, cache_fork_parent, cache_fork_child);
	return ret < 0 ? ret : 0;
}

int cache_init(void)
{
	int ret = load_acquire(&state);

	if (likely(ret == 1))
		return 0;
	return ret < 0 ? ret : init_slow();
}
