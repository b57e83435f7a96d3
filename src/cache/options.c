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
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/failslab.h"
#include "cache/friends.h"
#include "cache/internal.h"
#include "debug/kfence.h"
#include "debug/report.h"
#include "engine/slab/slab.h"
#include "front/queues.h"
#include "os/die.h"
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

#define ENGINES "slub, slab, slobseg, slobseg:pow2, slob, slob:1991"
#define FRONTS "array, queues, cpuslab, none, historical"
#define YES_OR_NO "0 or 1"
#define SWITCH YES_OR_NO ", nothing means 1"
#define FAILSLAB_TAKES                                                                             \
	"a number (interval, space, verbose), 0 to 100 (probability), -1 or more (times), Y or N " \
	"(ignore-gfp-wait, cache-filter), a pattern of names of threads (task-filter)"
#define KFENCE_TAKES "one in so many (sample), how many (objects), milliseconds (interval)"
#define RULES " (64 rules at most, whose patterns are no longer than names)"

/* slab_* are the kernel's command line options; slub_* its older names for them. */
static const struct option {
	const char *key;
	bool (*set)(const char *value);
	const char *takes;
} options[] = {
	{ "engine", set_engine, ENGINES },
	{ "front", set_front, FRONTS },
	{ "stats", set_stats, SWITCH },
	{ "topology", cache_topology_is, "CPUSxNODES, as 64x4, with a CPU or more for each node" },
	{ "noaliencache", set_noalien, SWITCH },
	{ "reap", set_reap, "milliseconds, at least 1" },
	{ "control", set_control, "milliseconds, at least 1" },
	{ "report", report_set_policy, "continue, abort, exit" },
	{ "report.format", report_set_format, "modern, 2.6.29" },
	{ "report.file", report_set_file,
	  "the path of a regular file, a character device or a FIFO that can be written to" },
	{ "report.frames", report_set_frames, "program, all" },
	{ "report.burst", report_set_burst, "a number of reports, 0 for all" },
	{ "report.interval", report_set_interval, "seconds, up to 1000000, 0 for no limit" },
	{ "report.time", report_set_time, YES_OR_NO },
	{ "valgrind", friends_set_valgrind, YES_OR_NO },
	{ "asan", friends_set_asan, YES_OR_NO },
	{ "hardened", set_hardened, SWITCH },
	{ "random", set_randomised, SWITCH },
	{ "purge_limit", set_purge_limit, "bytes, also as 64k, 16M, 1G" },
	{ "purge_delay", set_purge_delay, "milliseconds" },
	{ "slab_nomerge", set_nomerge, SWITCH },
	{ "slub_nomerge", set_nomerge, SWITCH },
	{ "slab_merge", set_merge, SWITCH },
	{ "slub_merge", set_merge, SWITCH },
	{ "slab_min_order", set_min_order, "0 to 10, and not more than slab_max_order (3)" },
	{ "slub_min_order", set_min_order, "0 to 10, and not more than slub_max_order (3)" },
	{ "slab_max_order", set_max_order_of_both,
	  "0 to 10, and not less than slab_min_order (0)" },
	{ "slub_max_order", set_max_order, "0 to 10, and not less than slub_min_order (0)" },
	{ "slab_min_objects", set_min_objects, "0 to 32767" },
	{ "slub_min_objects", set_min_objects, "0 to 32767" },
};

BUILD_ASSERT(BUDDY_MAX_ORDER == 10);

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
	const char *rest;
	bool (*set)(const char *rest, const char *value); /* rest: of the key, behind the prefix */
	const char *takes;
} rule_options[] = {
	{ "engine:", "PATTERN", cache_add_engine_rule, ENGINES RULES },
	{ "front:", "PATTERN", cache_add_front_rule, FRONTS RULES },
	{ "capacity:", "PATTERN", set_capacity_rule, "1 to 1024 objects" RULES },
	{ "failslab.", "NAME", failslab_set, FAILSLAB_TAKES },
	{ "kfence.", "NAME", kfence_set_option, KFENCE_TAKES },
};

BUILD_ASSERT(CACHE_MAX_CAPACITY == 1024);

static const struct option *option_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!strcmp(options[i].key, key))
			return &options[i];
	return NULL;
}

static const struct rule_option *rule_option_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rule_options); i++)
		if (!strncmp(key, rule_options[i].prefix, strlen(rule_options[i].prefix)))
			return &rule_options[i];
	return NULL;
}

bool cache_set_option(const char *key, const char *value, void *arg)
{
	const struct option *option = option_of(key);
	const struct rule_option *rule = rule_option_of(key);

	(void)arg;
	if (option)
		return option->set(value);
	return rule && rule->set(key + strlen(rule->prefix), value);
}

static void list_options(char *why, size_t size)
{
	size_t len = os_format(why, size, "there is no such option, but");

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		len += os_format(why + MIN(len, size), size - MIN(len, size), " %s,",
				 options[i].key);
	for (size_t i = 0; i < ARRAY_SIZE(rule_options); i++)
		len += os_format(why + MIN(len, size), size - MIN(len, size), " %s%s%s",
				 rule_options[i].prefix, rule_options[i].rest,
				 i + 1 < ARRAY_SIZE(rule_options) ? "," : "");
}

static const char *file_error(void)
{
	switch (report_file_error()) {
	case -ENOENT:
		return "no such folder";
	case -EACCES:
	case -EPERM:
		return "permission denied";
	case -EROFS:
		return "the file system cannot be written to";
	case -EISDIR:
	case -EINVAL:
		return "that is none of them";
	default:
		return "it cannot be opened";
	}
}

void cache_explain_option(char why[OS_ENV_WHY_BYTES], const char *key, const char *value)
{
	const struct option *option = option_of(key);
	const struct rule_option *rule = rule_option_of(key);

	if (option && option->set == report_set_file && *value)
		os_format(why, OS_ENV_WHY_BYTES, "%s takes %s: %s", key, option->takes,
			  file_error());
	else if (option)
		os_format(why, OS_ENV_WHY_BYTES, "%s takes %s%s", key, option->takes,
			  *value ? "" : ", and has no value here");
	else if (rule)
		os_format(why, OS_ENV_WHY_BYTES, "%s%s takes %s", rule->prefix, rule->rest,
			  rule->takes);
	else
		list_options(why, OS_ENV_WHY_BYTES);
}
