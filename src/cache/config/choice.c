/* SPDX-License-Identifier: MIT */
/*
 * cache/config/choice.c - which engine, front and capacity a cache gets
 *
 * Why:        docs/adr/0021, docs/adr/0049.
 * Data:       cache_engines; the defaults; a list of rules for names, in the order of USLAB_CONF.
 * Invariants: a resolved spec has an engine and a front that go together.
 * Locks:      none: options are read while the library is made ready, before any cache exists.
 * Flow:       called by options.c, api/cache_api.c, inspect/names.c and cache/; calls
 *             front/front.c.
 *
 * The program's choice goes before a rule for the cache's name, and a rule before the default;
 * engine, front and capacity each by itself. A cache with the front that the engine had in the
 * kernel ("historical"), with cpuslab or with sheaves, also gets its pages as in a kernel: from
 * CPUs' lists.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/internal.h"
#include "front/sheaves.h"
#include "os/process/die.h"

#define MAX_RULES 64

struct rule {
	char pattern[CACHE_NAME_MAX];
	const struct engine_ops *engine; /* one of the four is set */
	const struct front_ops *front;
	unsigned int capacity;
	unsigned long limit; /* pages */
};

struct cache_defaults cache_defaults = {
	.engine = &slub_ops,
	.front = &front_array_ops,
};

const struct engine_ops *const cache_engines[CACHE_NR_ENGINES] = {
	&slub_ops, &slab_ops, &slobseg_ops, &slobseg_pow2_ops, &slob_ops, &slob_1991_ops,
};

/* Stands for the front that the engine had in the kernel, until the engine is known. */
static const struct front_ops historical = { .name = "historical" };

/* What the name "sheaves" means: the front of that era (spec A0). */
static const struct front_ops *sheaves = &front_sheaves_ops;

BUILD_ASSERT(SHEAVES_MAX_CAPACITY == CACHE_MAX_CAPACITY);

static struct rule rules[MAX_RULES];
static unsigned int nr_rules;

/* Whether a message was said, of which the first of a process is enough. */
static int said_front; /* a front does not support an engine */
static int said_limit; /* an engine cannot keep a limit */

static bool is_first(int *said)
{
	return !xchg(said, 1);
}

const struct engine_ops *cache_engine_by_name(const char *name)
{
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++)
		if (!strcmp(cache_engines[i]->name, name))
			return cache_engines[i];
	return NULL;
}

const struct front_ops *cache_front_by_name(const char *name)
{
	if (!strcmp(name, historical.name))
		return &historical;
	if (!strcmp(name, front_sheaves_ops.name))
		return sheaves;
	return strcmp(name, "default") ? front_by_name(name) : &front_array_ops;
}

bool cache_set_era(const char *era)
{
	const struct front_ops *before = sheaves;

	if (!strcmp(era, "6.18"))
		sheaves = &front_sheaves_618_ops;
	else if (!strcmp(era, "7.0"))
		sheaves = &front_sheaves_ops;
	else
		return false;
	/* "front" may have come before "era" */
	if (cache_defaults.front == before)
		cache_defaults.front = sheaves;
	for (unsigned int i = 0; i < nr_rules; i++)
		if (rules[i].front == before)
			rules[i].front = sheaves;
	return true;
}

bool cache_go_together(const struct engine_ops *engine, const struct front_ops *front)
{
	return (front != &front_cpuslab_ops && front != &front_sheaves_618_ops) ||
	       engine == &slub_ops;
}

/* ---- rules ---- */

bool cache_pattern_matches(const char *pattern, const char *name)
{
	const char *star = NULL; /* behind the last star, and where its text ended so far */
	const char *end = name;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			end = name;
		} else if (*pattern == '?' || *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++end;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* NULL: no memory, or no such pattern. */
static struct rule *new_rule(const char *pattern)
{
	struct rule *rule = &rules[nr_rules];
	size_t len = strlen(pattern);

	if (nr_rules == MAX_RULES || !len || len >= sizeof(rule->pattern))
		return NULL;
	memcpy(rule->pattern, pattern, len + 1);
	nr_rules++;
	return rule;
}

bool cache_add_engine_rule(const char *pattern, const char *name)
{
	const struct engine_ops *engine = cache_engine_by_name(name);
	struct rule *rule = engine ? new_rule(pattern) : NULL;

	if (rule)
		rule->engine = engine;
	return rule;
}

bool cache_add_front_rule(const char *pattern, const char *name)
{
	const struct front_ops *front = cache_front_by_name(name);
	struct rule *rule = front ? new_rule(pattern) : NULL;

	if (rule)
		rule->front = front;
	return rule;
}

bool cache_add_capacity_rule(const char *pattern, unsigned int capacity)
{
	struct rule *rule = new_rule(pattern);

	if (rule)
		rule->capacity = capacity;
	return rule;
}

bool cache_add_limit_rule(const char *pattern, unsigned long pages)
{
	struct rule *rule = new_rule(pattern);

	if (rule)
		rule->limit = pages;
	return rule;
}

/* Fills in what is not set so far; later rules go before earlier ones. */
static void apply_rules(struct cache_spec *spec)
{
	for (unsigned int i = nr_rules; i-- > 0;) {
		const struct rule *rule = &rules[i];

		if (!cache_pattern_matches(rule->pattern, spec->name))
			continue;
		spec->engine = spec->engine ? spec->engine : rule->engine;
		spec->front = spec->front ? spec->front : rule->front;
		spec->capacity = spec->capacity ? spec->capacity : rule->capacity;
		spec->limit = spec->limit ? spec->limit : rule->limit;
	}
}

/* ---- the choice ---- */

static void say_instead(const struct engine_ops *engine, const struct front_ops *front,
			const struct cache_spec *instead)
{
	if (is_first(&said_front))
		os_say("USLAB_CONF: front %s does not go with engine %s; such caches get %s/%s",
		       front->name, engine->name, instead->engine->name, instead->front->name);
}

/*
 * Front and engine do not go together: USLAB_CONF gives way to the program. So does its era, which
 * may be what made the program's "sheaves" those of 6.18.
 */
static int reconcile(struct cache_spec *spec, const struct cache_spec *asked)
{
	const struct engine_ops *engine = spec->engine;
	const struct front_ops *front = spec->front;
	bool by_era = front == &front_sheaves_618_ops && sheaves == front;

	if (asked->engine && asked->front && !by_era)
		return -EINVAL;
	if (asked->engine && asked->front)
		spec->front = &front_sheaves_ops;
	else if (asked->front)
		spec->engine = &slub_ops;
	else
		spec->front = front_by_name(engine->front);
	say_instead(engine, front, spec);
	return 0;
}

/* A rule is for caches of all fronts, and no error where one takes less. */
static void limit_capacity(struct cache_spec *spec)
{
	if (spec->front == &front_array_ops)
		spec->capacity = MIN(spec->capacity, (unsigned int)USLAB_SHEAF_CAPACITY);
}

static bool is_of_sheaves(const struct front_ops *front)
{
	return front == &front_sheaves_ops || front == &front_sheaves_618_ops;
}

/*
 * The larger of what was asked for by either name is the request (spec A2). In 6.18 who asks for
 * nothing has no sheaves, and later whose cache a tracer of leaks must not see (spec A1.8).
 */
static void resolve_sheaves(struct cache_spec *spec)
{
	bool first = spec->front == &front_sheaves_618_ops;

	if (!is_of_sheaves(spec->front))
		return;
	spec->no_merge |= spec->sheaf_capacity != 0; /* spec 10.4 */
	spec->capacity =
		MIN(MAX(spec->capacity, spec->sheaf_capacity), (unsigned int)SHEAVES_MAX_CAPACITY);
	if ((first && !spec->capacity) || spec->flags & SLAB_NOLEAKTRACE) {
		spec->front = first ? &front_cpuslab_ops : &front_none_ops;
		spec->capacity = 0;
	}
}

/* Caches of such an engine share pages. */
static void leave_out_limit(struct cache_spec *spec)
{
	if (spec->limit && is_first(&said_limit))
		os_say("USLAB_CONF: the limit for %s is not kept: caches of engine %s share their "
		       "pages",
		       spec->name, spec->engine->name);
	spec->limit = 0;
}

int cache_resolve(struct cache_spec *spec)
{
	const struct cache_spec asked = *spec; /* by the program */
	int ret;

	apply_rules(spec);
	spec->engine = spec->engine ? spec->engine : cache_defaults.engine;
	spec->front = spec->front ? spec->front : cache_defaults.front;
	spec->page_lists = spec->front == &historical || spec->front == &front_cpuslab_ops ||
			   is_of_sheaves(spec->front);
	if (spec->front == &historical)
		spec->front = front_by_name(spec->engine->front);
	if (!asked.capacity)
		limit_capacity(spec);
	ret = cache_go_together(spec->engine, spec->front) ? 0 : reconcile(spec, &asked);
	resolve_sheaves(spec);
	if (spec->engine->heap)
		leave_out_limit(spec);
	return ret;
}
