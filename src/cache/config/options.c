/* SPDX-License-Identifier: MIT */
/*
 * cache/config/options.c - the options of USLAB_CONF
 *
 * Data:       the table of options.def; the values that are set one by one and used together.
 * Invariants: a value that is refused changes nothing.
 * Locks:      none: options are read while the library is made ready.
 * Flow:       called by init.c for each pair of USLAB_CONF; calls choice.c and the setters of the
 *             floors below.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/debug/failslab.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "cache/mobility/mobility.h"
#include "cache/profile/profile.h"
#include "cache/reclaim/ahead.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "engine/placement.h"
#include "engine/slab/slab.h"
#include "engine/slub/slub.h"
#include "front/array.h"
#include "front/queues.h"
#include "os/process/die.h"
#include "os/process/env.h"
#include "os/symbol/symbol.h"
#include "page/buddy.h"
#include "page/limit.h"
#include "page/realtime.h"

#define REAP_MS 2000 /* spec 3.9: REAPTIMEOUT_AC */
#define CONTROL_MS 100
#define MS_MAX (1u << 30)

/* Its index among those names; -1: it is none of them. */
static int find_name(const char *value, const char *const *names, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (!strcmp(value, names[i]))
			return (int)i;
	return -1;
}

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

static bool set_deepbind(const char *value)
{
	return set_flag(&os_keep_deepbind, value, true);
}

static bool set_fork_thread(const char *value)
{
	return set_flag(&cache_defaults.no_fork_thread, value, false);
}

static bool set_hardened(const char *value)
{
	return set_flag(&cache_defaults.hardened, value, true);
}

static bool set_randomised(const char *value)
{
	return set_flag(&cache_defaults.randomised, value, true);
}

static bool set_partition(const char *value)
{
	static const char *const names[] = {
		[PARTITION_OFF] = "off", [PARTITION_RANDOM] = "random", [PARTITION_TYPED] = "typed"
	};
	int i = find_name(value, names, ARRAY_SIZE(names));

	if (i < 0)
		return false;
	cache_defaults.partition = (enum cache_partition)i;
	return true;
}

static bool set_near(const char *value)
{
	unsigned int most;

	if (!parse_number(value, ARRAY_NEAR_MAX, &most))
		return false;
	store_relaxed(&array_near_most, most);
	return true;
}

static bool set_noalien(const char *value)
{
	return set_flag(&front_queues_noalien, value, true);
}

static bool set_spread(const char *value)
{
	bool on;

	if (!set_flag(&on, value, true))
		return false;
	placement_spreads = on ? &slab_ops : NULL; /* SLUB's caches have no such thing */
	return true;
}

static bool set_reap(const char *value)
{
	unsigned int ms = REAP_MS;

	if (*value && (!parse_number(value, MS_MAX, &ms) || !ms))
		return false;
	cache_defaults.reap_ms = ms;
	return true;
}

static bool set_control(const char *value)
{
	unsigned int ms = CONTROL_MS;

	if (*value && (!parse_number(value, MS_MAX, &ms) || !ms))
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

/* The three parameters of spec 4.3 as the kernel's command line sets them. */
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
} purge = { .limit = SIZE_MAX, .delay_ms = BUDDY_PURGE_DELAY_MS };

static bool set_purge_limit(const char *value)
{
	if (!os_parse_size(value, &purge.limit))
		return false;
	buddy_set_purge(purge.limit, purge.delay_ms);
	return true;
}

static bool set_purge_delay(const char *value)
{
	if (!parse_number(value, MS_MAX, &purge.delay_ms))
		return false;
	buddy_set_purge(purge.limit, purge.delay_ms);
	return true;
}

static bool set_limit(const char *value)
{
	size_t bytes;

	if (!os_parse_size(value, &bytes) || bytes > LIMIT_MOST || (bytes && bytes < LIMIT_LEAST))
		return false;
	limit_set(bytes ? bytes : SIZE_MAX);
	return true;
}

static bool set_limit_rule(const char *pattern, const char *value)
{
	size_t bytes;

	return os_parse_size(value, &bytes) && bytes >= PAGE_SIZE && bytes <= LIMIT_MOST &&
	       cache_add_limit_rule(pattern, bytes >> PAGE_SHIFT);
}

static bool set_purge(const char *value)
{
	bool lazily = !strcmp(value, "free");

	if (!lazily && strcmp(value, "dontneed"))
		return false;
	cache_defaults.purge_lazily = lazily;
	return true;
}

static bool set_thp(const char *value)
{
	static const char *const names[] = {
		[THP_SYSTEM] = "system",
		[THP_LARGE] = "large",
		[THP_ALL] = "all",
		[THP_NEVER] = "never",
	};
	int i = find_name(value, names, ARRAY_SIZE(names));

	if (i < 0)
		return false;
	cache_defaults.thp = (enum thp_policy)i;
	return true;
}

static bool set_realtime(const char *value)
{
	size_t bytes = REALTIME_DEFAULT;

	if (*value && (!os_parse_size(value, &bytes) || bytes > REALTIME_MAX))
		return false;
	cache_defaults.realtime_bytes = bytes;
	return true;
}

static bool set_capacity_rule(const char *pattern, const char *value)
{
	unsigned int capacity;

	return parse_number(value, CACHE_MAX_CAPACITY, &capacity) && capacity &&
	       cache_add_capacity_rule(pattern, capacity);
}

/* The limits in options.def that are defined elsewhere. */
BUILD_ASSERT(BUDDY_MAX_ORDER == 10);
BUILD_ASSERT(CACHE_MAX_CAPACITY == 1024);
BUILD_ASSERT(MS_MAX == 1073741824);
BUILD_ASSERT(LIMIT_LEAST == 1048576 && LIMIT_MOST == 1099511627776);

/* ---- the table ---- */

static const struct option {
	const char *key;
	const char *takes;
	bool (*set)(const char *value);
	/* or with the key's text from name on: "kfence.sample", "engine:kmalloc-*" */
	bool (*set_named)(const char *name, const char *value);
	unsigned int name;
} options[] = {
#define OPTION(key, set, takes, ...) { key, takes, set, NULL, 0 },
#define MEMBER(group, name, set, takes, ...) { group name, takes, NULL, set, sizeof(group) - 1 },
#define RULE(prefix, set, takes, ...) { prefix "PATTERN", takes, NULL, set, sizeof(prefix) - 1 },
#include "cache/config/options.def"
};

static const struct alias {
	const char *key;
	const char *of;
} aliases[] = {
#define ALIAS(key, of) { key, of },
#include "cache/config/options.def"
};

static bool is_rule(const struct option *option)
{
	return option->name && option->key[option->name - 1] == ':';
}

/* Does the key of a member or rule begin as this one does? */
static bool is_of_group(const struct option *option, const char *key)
{
	return option->name && !strncmp(key, option->key, option->name);
}

static const struct option *option_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(aliases[i].key, key))
			key = aliases[i].of;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (is_rule(&options[i]) ? is_of_group(&options[i], key)
					 : !strcmp(options[i].key, key))
			return &options[i];
	return NULL;
}

bool cache_set_option(const char *key, const char *value, void *arg)
{
	const struct option *option = option_of(key);

	(void)arg;
	if (!option)
		return false;
	return option->set ? option->set(value) : option->set_named(key + option->name, value);
}

/* ---- what is wrong ---- */

#define TYPED_MAX 31 /* no key is longer */

/*
 * How many characters were left out, added, mistaken, or exchanged with the next: the row of the
 * table for each one that was typed is made of the two before.
 */
static unsigned int typing_mistakes(const char *typed, size_t typed_len, const char *key,
				    size_t key_len)
{
	unsigned int rows[3][TYPED_MAX + 1];

	for (unsigned int j = 0; j <= key_len; j++)
		rows[0][j] = j;
	for (unsigned int i = 1; i <= typed_len; i++) {
		unsigned int *row = rows[i % 3];
		const unsigned int *above = rows[(i - 1) % 3];

		row[0] = i;
		for (unsigned int j = 1; j <= key_len; j++) {
			unsigned int other = 1 + MIN(above[j], row[j - 1]);
			unsigned int same = above[j - 1] + (typed[i - 1] != key[j - 1]);

			row[j] = MIN(same, other);
			if (i > 1 && j > 1 && typed[i - 1] == key[j - 2] &&
			    typed[i - 2] == key[j - 1])
				row[j] = MIN(row[j], 1 + rows[(i - 2) % 3][j - 2]);
		}
	}
	return rows[typed_len % 3][key_len];
}

/* Of a rule only what stands before the pattern. */
static unsigned int mistakes_in(const char *typed, const char *key, bool rule)
{
	size_t typed_len = rule ? strcspn(typed, ":") : strlen(typed);
	size_t key_len = rule ? strcspn(key, ":") : strlen(key);

	if (rule && !typed[typed_len])
		return UINT32_MAX;
	if (!typed_len || typed_len > TYPED_MAX || key_len > TYPED_MAX)
		return UINT32_MAX;
	return typing_mistakes(typed, typed_len, key, key_len);
}

/* The key that was meant, if one is near enough; of several the first. */
static const char *meant_by(const char *typed)
{
	unsigned int nearest = strlen(typed) > 4 ? 3 : 2; /* one is forgiven in a short key */
	const char *meant = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(options) + ARRAY_SIZE(aliases); i++) {
		bool alias = i >= ARRAY_SIZE(options);
		const char *key = alias ? aliases[i - ARRAY_SIZE(options)].key : options[i].key;
		unsigned int mistakes = mistakes_in(typed, key, !alias && is_rule(&options[i]));

		if (mistakes < nearest) {
			nearest = mistakes;
			meant = key;
		}
	}
	return meant;
}

/* All keys, or those of the group that this one would be of. */
static void list_options(char why[OS_ENV_WHY_BYTES], const char *key)
{
	size_t len = os_format(why, OS_ENV_WHY_BYTES, "there is no such option, but");
	const char *comma = "";
	bool of_group = false;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		of_group |= is_of_group(&options[i], key);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		size_t room = OS_ENV_WHY_BYTES - MIN(len, OS_ENV_WHY_BYTES);

		if (of_group && !is_of_group(&options[i], key))
			continue;
		len += os_format(why + OS_ENV_WHY_BYTES - room, room, "%s %s", comma,
				 options[i].key);
		comma = ",";
	}
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
	const char *known = option && is_rule(option) ? option->key : key;
	const char *meant = option ? NULL : meant_by(key);

	if (meant)
		os_format(why, OS_ENV_WHY_BYTES, "there is no such option; did you mean %s?",
			  meant);
	else if (!option)
		list_options(why, key);
	else if (option->set == cache_set_mempolicy && cache_explain_mempolicy(why, value))
		return;
	else if (option->set == report_set_file && *value)
		os_format(why, OS_ENV_WHY_BYTES, "%s takes %s: %s", known, option->takes,
			  file_error());
	else
		os_format(why, OS_ENV_WHY_BYTES, "%s takes %s%s", known, option->takes,
			  *value ? "" : ", and has no value here");
}
