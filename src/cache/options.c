/* SPDX-License-Identifier: MIT */
/*
 * cache/options.c - the options of USLAB_CONF
 *
 * Data:       the values that are set one by one and used together.
 * Invariants: a value that is refused changes nothing.
 * Locks:      none: options are read while the library is made ready.
 * Flow:       called by init.c for each pair of USLAB_CONF; calls choice.c and the knobs of the
 *             floors below.
 */
#include <string.h>

#include "base/bits.h"
#include "cache/failslab.h"
#include "cache/friends.h"
#include "cache/internal.h"
#include "debug/kfence.h"
#include "debug/report.h"
#include "engine/slab/slab.h"
#include "front/queues.h"
#include "os/env.h"
#include "page/buddy.h"

#define REAP_MS 2000 /* spec 3.9: REAPTIMEOUT_AC */

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
	const struct front_ops *front = cache_front_by_name(value);

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

static bool set_noalien(const char *value)
{
	return set_flag(&front_queues_noalien, value, true);
}

static bool set_reap(const char *value)
{
	unsigned int ms = REAP_MS;

	if (*value && (!parse_number(value, 1u << 30, &ms) || !ms))
		return false;
	cache_defaults.reap_ms = ms;
	return true;
}

#define CONTROL_MS 100

static bool set_control(const char *value)
{
	unsigned int ms = CONTROL_MS;

	if (*value && (!parse_number(value, 1u << 30, &ms) || !ms))
		return false;
	cache_defaults.control_ms = ms;
	return true;
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

/* Of SLUB and of SLAB: only the older name says which one is meant. */
static bool set_max_order_of_both(const char *value)
{
	return set_max_order(value) && !slab_set_max_order(orders.max_order);
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
	{ "topology", cache_topology_is },
	{ "noaliencache", set_noalien },
	{ "reap", set_reap },
	{ "control", set_control },
	{ "report", report_set_policy },
	{ "report.format", report_set_format },
	{ "report.file", report_set_file },
	{ "report.frames", report_set_frames },
	{ "report.burst", report_set_burst },
	{ "report.interval", report_set_interval },
	{ "report.time", report_set_time },
	{ "valgrind", friends_set_valgrind },
	{ "asan", friends_set_asan },
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
	{ "slab_max_order", set_max_order_of_both },
	{ "slub_max_order", set_max_order },
	{ "slab_min_objects", set_min_objects },
	{ "slub_min_objects", set_min_objects },
};

static bool set_capacity_rule(const char *pattern, const char *value)
{
	unsigned int capacity;

	return parse_number(value, CACHE_MAX_CAPACITY, &capacity) && capacity &&
	       cache_add_capacity_rule(pattern, capacity);
}

/*
 * "engine:kmalloc-*=slob": for caches with such a name, over what holds for all; and options
 * that know their own keys.
 */
static const struct rule_option {
	const char *prefix;
	bool (*set)(const char *rest, const char *value); /* rest: of the key, behind the prefix */
} rule_options[] = {
	{ "engine:", cache_add_engine_rule }, { "front:", cache_add_front_rule },
	{ "capacity:", set_capacity_rule },   { "failslab.", failslab_set },
	{ "kfence.", kfence_set_option },
};

bool cache_set_option(const char *key, const char *value, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].key, key))
			return options[i].set(value);
	for (size_t i = 0; i < ARRAY_SIZE(rule_options); i++) {
		size_t len = strlen(rule_options[i].prefix);

		if (!strncmp(key, rule_options[i].prefix, len))
			return rule_options[i].set(key + len, value);
	}
	return false;
}
