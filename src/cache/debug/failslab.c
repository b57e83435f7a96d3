/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/failslab.c - allocations that are made to fail (spec 6.5)
 *
 * Data:       struct failslab; USLAB_FAILSLAB and USLAB_CONF=failslab.* set it from the start.
 * Invariants: WATCH_FAULTS of a cache <=> failslab can make its allocations fail. Its front is
 *             closed then, so that each of them is asked about.
 * Locks:      cache_lock to change anything.
 * Flow:       called by debug.c, api/debug_api.c and cache/; calls switch.c to set WATCH_FAULTS.
 *
 * As in the kernel the attributes keep their values when the four numbers are given again, and
 * requests that may block (GFP_KERNEL) do not fail unless ignore-gfp-wait is N.
 */
#include "cache/debug/failslab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/mix.h"
#include "cache/internal.h"
#include "os/process/die.h"
#include "os/process/process.h"
#include "os/process/random.h"
#include "os/symbol/symbol.h"
#include "os/unwind/unwind.h"

#define FRAMES 16

struct failslab failslab = { .interval = 1, .times = 1, .ignore_gfp_wait = true };

/* 0 .. 99: splitmix64 of a counter with a random start. */
static unsigned int percent(void)
{
	static uint64_t draws;

	if (unlikely(!load_relaxed(&draws)))
		store_relaxed(&draws, os_random() | 1);
	return (unsigned int)(mix_bits(fetch_add(&draws, MIX_GOLDEN)) % 100);
}

/* ---- does this allocation fail? ---- */

/* A pattern that is being changed may be half the old one and half the new one, but it ends. */
static bool is_other_thread(void)
{
	char pattern[sizeof(failslab.task_filter)];
	char name[OS_THREAD_NAME_MAX];

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = load_relaxed(&failslab.task_filter[i]);
	if (!*pattern)
		return false;
	os_thread_name(name);
	return !cache_pattern_matches(pattern, name);
}

static bool is_filtered(const struct cache *c, gfp_t gfp)
{
	if (gfp & __GFP_NOFAIL ||
	    (load_relaxed(&failslab.ignore_gfp_wait) && gfp & __GFP_DIRECT_RECLAIM))
		return true;
	if (load_relaxed(&failslab.cache_filter) && !(load_relaxed(&c->flags) & SLAB_FAILSLAB))
		return true;
	return is_other_thread();
}

/* Takes size bytes out of what is left; false: there is not enough left. */
static bool take_space(size_t size)
{
	long left = load_relaxed(&failslab.space);

	do {
		if (left <= (long)size)
			return false;
	} while (!__atomic_compare_exchange_n(&failslab.space, &left, left - (long)size, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

/* One failure fewer to come; false: none is left. */
static bool take_time(void)
{
	long left = load_relaxed(&failslab.times);

	do {
		if (!left)
			return false;
		if (left < 0)
			return true;
	} while (!__atomic_compare_exchange_n(&failslab.times, &left, left - 1, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

static cold void say_failure(const struct cache *c, const void *caller)
{
	long times = load_relaxed(&failslab.times);
	uintptr_t pcs[FRAMES];
	char symbol[256];
	unsigned int n;

	os_say("FAULT_INJECTION: forcing a failure. name failslab, cache %s, interval %lu, "
	       "probability %lu, space %lu, times %d",
	       c->name, load_relaxed(&failslab.interval), load_relaxed(&failslab.probability),
	       (unsigned long)load_relaxed(&failslab.space), (int)MIN(times, INT32_MAX));
	if (load_relaxed(&failslab.verbose) < 2)
		return;
	n = os_unwind(caller, pcs, FRAMES);
	for (unsigned int i = 0; i < n; i++) {
		os_symbol_text(symbol, sizeof(symbol), pcs[i]);
		os_say(" %s", symbol);
	}
}

bool failslab_should_fail(const struct cache *c, size_t size, gfp_t gfp, const void *caller)
{
	unsigned long probability = load_relaxed(&failslab.probability);
	unsigned long interval = load_relaxed(&failslab.interval); /* may become 0 meanwhile */

	if (!probability || is_filtered(c, gfp) || take_space(size))
		return false;
	if (interval > 1 && (fetch_add(&failslab.calls, 1) + 1) % interval)
		return false;
	if (percent() >= probability)
		return false;
	if (!take_time())
		return false;
	if (unlikely(load_relaxed(&failslab.verbose)))
		say_failure(c, caller);
	return true;
}

/* ---- the attributes ---- */

void failslab_watch_locked(struct cache *c)
{
	bool on = failslab.probability && load_relaxed(&failslab.times) &&
		  (!failslab.cache_filter || c->flags & SLAB_FAILSLAB);

	if (on != !!(c->watch & WATCH_FAULTS))
		cache_watch_locked(c, WATCH_FAULTS, on);
}

static void watch_all_locked(void)
{
	struct list_head *pos;

	list_for_each(pos, &cache_list)
		failslab_watch_locked(list_entry(pos, struct cache, list));
}

/* A whole number of text up to a comma or its end. NULL: none; else what follows it. */
static const char *number(const char *text, long *value)
{
	char *end;

	if (*text != '-' && (*text < '0' || *text > '9'))
		return NULL;
	*value = strtol(text, &end, 10);
	return end != text && (!*end || *end == ',') ? end : NULL;
}

/* "interval,probability,space,times" */
static int set_numbers(const char *text)
{
	long value[4];

	for (unsigned int i = 0; i < ARRAY_SIZE(value); i++) {
		text = number(text, &value[i]);
		if (!text || (i < 3 && *text++ != ','))
			return -EINVAL;
	}
	if (*text || value[0] < 0 || value[1] < 0 || value[1] > 100 || value[2] < 0 ||
	    value[3] < -1)
		return -EINVAL;
	store_relaxed(&failslab.interval, (unsigned long)value[0]);
	store_relaxed(&failslab.probability, (unsigned long)value[1]);
	store_relaxed(&failslab.space, value[2]);
	store_relaxed(&failslab.times, value[3]);
	return 0;
}

int cache_set_failslab(const char *text)
{
	int ret = 0;

	lock_acquire(&cache_lock);
	if (*text)
		ret = set_numbers(text);
	else
		store_relaxed(&failslab.probability, 0);
	if (!ret)
		watch_all_locked();
	cache_unlock();
	return ret;
}

/* "Y", "N", "1", "0", and nothing for Y, as the kernel takes them. */
static bool set_bool(bool *flag, const char *value)
{
	if (strlen(value) > 1)
		return false;
	switch (*value) {
	case 'Y':
	case 'y':
	case '1':
	case '\0':
		store_relaxed(flag, true);
		return true;
	case 'N':
	case 'n':
	case '0':
		store_relaxed(flag, false);
		return true;
	default:
		return false;
	}
}

/* "N" and "": all threads. */
static bool set_task_filter(const char *value)
{
	size_t len = strlen(value);

	if (!strcmp(value, "N"))
		len = 0;
	if (len >= sizeof(failslab.task_filter))
		return false;
	/* what follows the first NUL is NUL as well: the last one always */
	for (size_t i = 0; i < sizeof(failslab.task_filter); i++)
		store_relaxed(&failslab.task_filter[i], i < len ? value[i] : '\0');
	return true;
}

static bool set_attribute(const char *key, const char *value)
{
	long n = 0;
	const char *end = number(value, &n);
	bool is_number = end && !*end && n >= 0;

	if (!strcmp(key, "ignore-gfp-wait"))
		return set_bool(&failslab.ignore_gfp_wait, value);
	if (!strcmp(key, "cache-filter"))
		return set_bool(&failslab.cache_filter, value);
	if (!strcmp(key, "task-filter"))
		return set_task_filter(value);
	if (!strcmp(key, "times") && end && !*end && n >= -1)
		store_relaxed(&failslab.times, n);
	else if (!strcmp(key, "space") && is_number)
		store_relaxed(&failslab.space, n);
	else if (!strcmp(key, "interval") && is_number)
		store_relaxed(&failslab.interval, (unsigned long)n);
	else if (!strcmp(key, "probability") && is_number && n <= 100)
		store_relaxed(&failslab.probability, (unsigned long)n);
	else if (!strcmp(key, "verbose") && is_number)
		store_relaxed(&failslab.verbose, (unsigned int)n);
	else
		return false;
	return true;
}

bool failslab_set(const char *key, const char *value)
{
	bool done;

	lock_acquire(&cache_lock);
	done = set_attribute(key, value);
	if (done)
		watch_all_locked();
	cache_unlock();
	return done;
}
