/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/config/options_test.c - the options of USLAB_CONF: what they take, and what they do
 */
#include <dirent.h>

#include "cache/debug/failslab.h"
#include "cache/internal.h"
#include "cache/reclaim/ahead.h"
#include "cache/profile/profile.h"
#include "unit/cache/cache_fixture.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report_head.h"
#include "debug/report/report_style.h"
#include "engine/placement.h"
#include "engine/slab/slab.h"
#include "engine/slub/slub.h"
#include "front/array.h"
#include "front/queues.h"
#include "os/symbol/symbol.h"
#include "page/limit.h"
#include "page/numa.h"

/* The table as the library has it, aliases too. */
static const struct row {
	const char *key;
	const char *of; /* an alias */
	const char *takes;
	const char *example;
	const char *initial;
} rows[] = {
#define OPTION(key, set, takes, example, initial, since, help) \
	{ key, NULL, takes, example, initial },
#define MEMBER(group, name, set, takes, example, initial, since, help) \
	{ group name, NULL, takes, example, initial },
#define RULE(prefix, set, takes, example, initial, since, help) \
	{ prefix "PATTERN", NULL, takes, example, initial },
#define ALIAS(key, of) { key, of, NULL, NULL, NULL },
#include "cache/config/options.def"
};

struct pair {
	const char *key;
	const char *value;
	bool good;
};

/* Does each take what it should, and nothing else? */
static void check_pairs(const struct pair *v, size_t n)
{
	ready();
	for (size_t i = 0; i < n; i++)
		if (cache_set_option(v[i].key, v[i].value, NULL) != v[i].good) {
			dprintf(STDERR_FILENO, "%s=%s\n", v[i].key, v[i].value);
			CHILD_CHECK(!"as expected");
		}
}

IN_CHILD(test_options)
{
	static const struct pair v[] = {
		{ "engine", "slub", true },
		{ "engine", "slaub", false },
		{ "front", "array", true },
		{ "front", "none", true },
		{ "front", "cpuslab", true },
		{ "front", "", false },
		{ "front", "historical", true },
		{ "front", "default", true },
		{ "engine:*", "slob", true },
		{ "engine:*", "slaub", false },
		{ "engine:", "slub", false },
		{ "engine", "slobseg:pow2", true },
		{ "front:kmalloc-*", "historical", true },
		{ "front:x", "", false },
		{ "capacity:x", "31", true },
		{ "capacity:x", "0", false },
		{ "capacity:x", "1025", false },
		{ "capacity:x", "many", false },
		{ "ngine:x", "slub", false },
		{ "near", "0", true },
		{ "near", "65536", true },
		{ "near", "65537", false },
		{ "near", "", false },
		{ "noaliencache", "", true },
		{ "noaliencache", "x", false },
		{ "reap", "", true },
		{ "reap", "500", true },
		{ "reap", "0", false },
		{ "reap", "soon", false },
		{ "stats", "1", true },
		{ "stats", "0", true },
		{ "stats", "2", false },
		{ "hardened", "", true },
		{ "hardened", "0", true },
		{ "hardened", "yes", false },
		{ "random", "1", true },
		{ "random", "0", true },
		{ "random", "01", false },
		{ "kmalloc.partition", "off", true },
		{ "kmalloc.partition", "random", true },
		{ "kmalloc.partition", "typed", true },
		{ "kmalloc.partition", "", false },
		{ "kmalloc.partition", "1", false },
		{ "purge_limit", "0", true },
		{ "purge_limit", "16M", true },
		{ "purge_limit", "x", false },
		{ "purge_delay", "10", true },
		{ "purge_delay", "99g", false },
		{ "purge", "free", true },
		{ "purge", "dontneed", true },
		{ "purge", "freely", false },
		{ "thp", "never", true },
		{ "realtime", "16M", true },
		{ "realtime", "2048G", false },
		{ "realtime", "much", false },
		{ "slab_nomerge", "", true },
		{ "slub_nomerge", "0", true },
		{ "slab_merge", "", true },
		{ "slub_merge", "1", true },
		{ "slab_merge", "no", false },
		{ "slab_max_order", "4", true },
		{ "slub_max_order", "11", false },
		{ "slab_min_order", "2", true },
		{ "slub_min_order", "-1", false },
		{ "slab_min_order", "5", false },
		{ "slab_min_objects", "60", true },
		{ "slub_min_objects", "0", true },
		{ "slab_min_objects", "32768", false },
		{ "unknown", "1", false },
		{ "", "", false },
		{ "Engine", "slub", false },
	};

	check_pairs(v, ARRAY_SIZE(v));
}

IN_CHILD(test_debug_options)
{
	static const struct pair v[] = {
		{ "control", "", true },
		{ "control", "50", true },
		{ "control", "0", false },
		{ "fork_thread", "0", true },
		{ "fork_thread", "", true },
		{ "fork_thread", "2", false },
		{ "control", "x", false },
		{ "report", "continue", true },
		{ "report", "exit", true },
		{ "report", "abort", true },
		{ "report", "", false },
		{ "report.format", "2.6.29", true },
		{ "report.format", "modern", true },
		{ "report.format", "old", false },
		{ "report.file", "/dev/null", true },
		{ "report.file", "/no such folder/file", false },
		{ "report.burst", "0", true },
		{ "report.burst", "10", true },
		{ "report.burst", "all", false },
		{ "report.interval", "60", true },
		{ "report.interval", "", false },
		{ "report.time", "0", true },
		{ "report.time", "1", true },
		{ "report.time", "utc", false },
		{ "failslab.verbose", "2", true },
		{ "failslab.cache-filter", "Y", true },
		{ "failslab.", "1", false },
		{ "kfence.interval", "0", true },
		{ "kfence.sample", "x", false },
	};

	check_pairs(v, ARRAY_SIZE(v));
}

/* What an option does. */
IN_CHILD(test_defaults)
{
	struct cache *c;

	setenv("USLAB_CONF", "front=cpuslab,hardened,random=1,stats", 1);
	ready();
	CHILD_CHECK(cache_defaults.front == &front_cpuslab_ops);
	CHILD_CHECK(cache_defaults.hardened && cache_defaults.randomised && cache_defaults.stats);
	c = make("c", 64, 0, 0);
	CHILD_CHECK(c->front.ops == &front_cpuslab_ops);
	CHILD_CHECK(slub_of(&c->engine)->hardened && slub_of(&c->engine)->random_seq);
	stay_here();
	get(c);
	CHILD_CHECK(percpu_state(c->front.id, percpu_cpu())->stat[ALLOC_SLAB] == 1);
	/* what the caller names goes before the default */
	CHILD_CHECK(make_front("n", 64, "none")->front.ops == &front_none_ops);
}

IN_CHILD(test_orders)
{
	struct cache *c;

	setenv("USLAB_CONF", "slab_max_order=0", 1);
	ready();
	c = make("c", 512, 0, 0);
	CHILD_CHECK(c->engine.layout->order == 0);
	CHILD_CHECK(cache_set_option("slab_max_order", "3", NULL));
	CHILD_CHECK(cache_set_option("slab_min_order", "3", NULL));
	c = make("d", 520, 0, 0);
	CHILD_CHECK(c->engine.layout->order == 3);
	/* a value that is refused changes nothing */
	CHILD_CHECK(!cache_set_option("slab_max_order", "2", NULL));
	CHILD_CHECK(cache_set_option("slab_min_order", "0", NULL));
	CHILD_CHECK(cache_set_option("slab_min_objects", "4", NULL));
	CHILD_CHECK(make("e", 528, 0, 0)->engine.layout->order < 3);
}

/* slab_ is both allocators', slub_ only SLUB's. */
IN_CHILD(test_orders_of_slab)
{
	setenv("USLAB_CONF", "slab_max_order=2", 1);
	ready();
	CHILD_CHECK(slab_max_order() == 2);
	CHILD_CHECK(cache_set_option("slub_max_order", "3", NULL) && slab_max_order() == 2);
	CHILD_CHECK(cache_set_option("slab_max_order", "0", NULL) && slab_max_order() == 0);
	CHILD_CHECK(!cache_set_option("slab_max_order", "11", NULL) && slab_max_order() == 0);
}

IN_CHILD(test_noalien)
{
	setenv("USLAB_CONF", "noaliencache", 1);
	ready();
	CHILD_CHECK(front_queues_noalien);
	CHILD_CHECK(cache_set_option("noaliencache", "0", NULL) && !front_queues_noalien);
}

IN_CHILD(test_near)
{
	setenv("USLAB_CONF", "near=7", 1);
	ready();
	CHILD_CHECK(array_near_most == 7);
	CHILD_CHECK(!cache_set_option("near", "-1", NULL) && array_near_most == 7);
	CHILD_CHECK(cache_set_option("near", "0", NULL) && array_near_most == 0);
}

/* Threads that reap; one names itself when it begins. */
static unsigned int reapers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *task;

	while ((task = readdir(tasks))) {
		char path[300];
		char name[16] = "";
		FILE *comm;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		comm = fopen(path, "r");
		if (!comm)
			continue;
		n += fgets(name, sizeof(name), comm) && !strcmp(name, "uslab-reap\n");
		fclose(comm);
	}
	closedir(tasks);
	return n;
}

/*
 * The thread comes when it is called for, not with the first cache; and it gives idle slabs back.
 */
IN_CHILD(test_reap)
{
	struct cache *c;
	void *p[60];

	setenv("USLAB_CONF", "engine=slab,front=historical,reap=2", 1);
	ready();
	CHILD_CHECK(cache_defaults.reap_ms == 2);
	c = make("c", 200, 0, 0);
	for (unsigned int i = 0; i < 60; i++)
		p[i] = get(c);
	for (unsigned int i = 0; i < 60; i++)
		cache_free(c, p[i]);
	CHILD_CHECK(c->front.ops->held(&c->front) > 0);
	CHILD_CHECK(reapers() == 0);
	cache_start_threads();
	cache_start_threads();
	for (unsigned int i = 0; i < 60000 && c->front.ops->held(&c->front); i++)
		usleep(2000);
	CHILD_CHECK(c->front.ops->held(&c->front) == 0);
	CHILD_CHECK(reapers() == 1);
}

IN_CHILD(test_no_reap)
{
	ready();
	cache_start_threads();
	usleep(20000);
	CHILD_CHECK(reapers() == 0);
	CHILD_CHECK(cache_set_option("reap", "", NULL) && cache_defaults.reap_ms == 2000);
}

/* A wrong pair is named and skipped, the rest holds. */
static void with_wrong_conf(void *arg)
{
	(void)arg;
	setenv("USLAB_CONF", "front=wrong,what=ever,front=none,slab_min_order", 1);
	ready();
	CHILD_CHECK(cache_defaults.front == &front_none_ops);
}

static void test_wrong_conf(void **state)
{
	static const char first[] =
		"uslab: USLAB_CONF: ignored \"front=wrong\": front takes array, "
		"queues, cpuslab, sheaves, sheaves:6.18, none, historical\n";
	struct child c = child_run(with_wrong_conf, state);

	assert_true(child_passed(&c));
	assert_int_equal(strncmp(c.text, first, strlen(first)), 0);
	assert_non_null(strstr(c.text,
			       "\nuslab: USLAB_CONF: ignored \"what=ever\": there is no such "
			       "option, but engine, front, engine:PATTERN, "));
	assert_non_null(strstr(c.text,
			       " asan\nuslab: USLAB_CONF: ignored \"slab_min_order\": "
			       "slab_min_order takes 0 to 10, and not more than "
			       "slab_max_order (3), which comes before, and has no value here\n"));
}

/* A mistyped key: the one that was meant, in place of a list of all. */
IN_CHILD(test_meant)
{
	static const struct {
		const char *typed, *meant; /* NULL: none */
	} v[] = {
		{ "limti", "limit" },
		{ "limits", "limit" },
		{ "imit", "limit" },
		{ "Limit", "limit" },
		{ "mem_policy", "mempolicy" },
		{ "slub_max_oder", "slub_max_order" },
		{ "reprot", "report" },
		{ "engin:kmalloc-*", "engine:PATTERN" },
		{ "limt:x", "limit:PATTERN" },
		{ "kfence.objcts", "kfence.objects" },
		{ "eras", "era" },
		{ "ear", "era" },
		{ "xyz", NULL },
		{ "what", NULL },
		{ "", NULL },
		{ "a-key-that-is-longer-than-any-other", NULL },
		{ ":", NULL },
		{ "engine-of-mine:x", NULL },
	};
	char why[OS_ENV_WHY_BYTES], meant[80];

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		cache_explain_option(why, v[i].typed, "1");
		snprintf(meant, sizeof(meant), "there is no such option; did you mean %s?",
			 v[i].meant);
		if (!v[i].meant == !!strstr(why, "did you mean") ||
		    (v[i].meant && strcmp(why, meant)))
			dprintf(STDERR_FILENO, "%s: %s\n", v[i].typed, why);
		CHILD_CHECK(!v[i].meant == !strstr(why, "did you mean"));
		CHILD_CHECK(!v[i].meant || !strcmp(why, meant));
		CHILD_CHECK(strlen(why) < OS_ENV_WHY_BYTES - 1);
	}
}

/* Each refusal names what would have been taken. */
IN_CHILD(test_explained)
{
	static const struct {
		const char *key, *value, *why;
	} v[] = {
		{ "engine:x", "slaub", "engine:PATTERN takes slub, slab, " },
		{ "capacity:x", "0", "capacity:PATTERN takes 1 to 1024 objects" },
		{ "kfence.simple", "1", "no such option; did you mean kfence.sample?" },
		{ "kfence.nothing", "1",
		  "no such option, but kfence.sample, kfence.objects, kfence.interval" },
		{ "kfence.sample", "x", "kfence.sample takes 0 to 2147483648, 0 for off" },
		{ "failslab.times", "-2", "failslab.times takes a number from -1 on" },
		{ "slub_min_objects", "x", "slub_min_objects takes 0 to 32767 objects" },
		{ "report", "stop", "report takes continue, abort, exit" },
		{ "report.file", "/no such folder/file", ": no such folder" },
		{ "report.file", "/tmp", " or a FIFO that can be written to: that is none" },
		{ "report.burst", "",
		  "report.burst takes 0 to 4294967295 reports, 0 for all, and has" },
		{ "purge_limit", "x", "purge_limit takes bytes, also as 64k, 16M, 1G" },
		{ "stats", "2", "stats takes 0 or 1, nothing means 1" },
		{ "topology", "1x2", "topology takes CPUSxNODES, as 64x4, 1500x64 at most" },
	};
	char why[OS_ENV_WHY_BYTES];

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		CHILD_CHECK(!cache_set_option(v[i].key, v[i].value, NULL));
		cache_explain_option(why, v[i].key, v[i].value);
		if (!strstr(why, v[i].why))
			dprintf(STDERR_FILENO, "%s=%s: %s\n", v[i].key, v[i].value, why);
		CHILD_CHECK(strstr(why, v[i].why));
	}
	cache_explain_option(why, "engine", "x");
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++)
		CHILD_CHECK(strstr(why, cache_engines[i]->name));
	cache_explain_option(why, "front", "x");
	CHILD_CHECK(strstr(why, front_array_ops.name) && strstr(why, front_queues_ops.name));
	CHILD_CHECK(strstr(why, front_cpuslab_ops.name) && strstr(why, front_none_ops.name));
	cache_explain_option(why, "unknown", "x"); /* all of them, and not cut */
	CHILD_CHECK(strlen(why) < OS_ENV_WHY_BYTES - 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *found = strstr(why, rows[i].key);

		CHILD_CHECK(rows[i].of || (found && found[-1] == ' '));
	}
}

/* ---- the table: what it says is so ---- */

#define ALONE "nothing means "
#define BAD "/no such folder/no such value"

/* A rule stands for one of its keys here. */
static void set_row(const struct row *row, const char *value, bool good)
{
	char key[64];
	char *pattern;

	snprintf(key, sizeof(key), "%s", row->key);
	pattern = strstr(key, "PATTERN");
	if (pattern)
		snprintf(pattern, sizeof(key) - (size_t)(pattern - key), "x*");
	if (cache_set_option(key, value, NULL) != good) {
		dprintf(STDERR_FILENO, "%s=%s\n", key, value);
		CHILD_CHECK(!"as the table says");
	}
}

static bool looked_up[ARRAY_SIZE(rows)];

static const struct row *row_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].key, key)) {
			looked_up[i] = true;
			return rows[i].of ? row_of(rows[i].of) : &rows[i];
		}
	CHILD_CHECK(!"a key of the table");
	return NULL;
}

/* Some options are for made-up machines only. */
static void make_topology(const struct row *row)
{
	if (!strcmp(row->key, "topology"))
		setenv("USLAB_CONF", "topology=64x4", 1);
	else if (!strncmp(row->key, "topology.", 9))
		setenv("USLAB_CONF", "topology=3x3", 1);
}

/* Each row in a child of its own: the example is taken, and what is nothing is refused and told. */
static void try_row(void *arg)
{
	const struct row *row = arg;
	const struct row *said = row_of(row->key);
	bool alone = strstr(said->takes, ALONE);
	char why[OS_ENV_WHY_BYTES];

	make_topology(row);
	ready();
	set_row(row, BAD, false);
	cache_explain_option(why, row->key, BAD);
	CHILD_CHECK(!strncmp(why, row->key, strlen(row->key)));
	CHILD_CHECK(strstr(why, said->takes));
	set_row(row, said->example, true);
	set_row(row, "", alone);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct row row = rows[i];
		struct child child = child_run(try_row, &row);

		if (!child_passed(&child))
			fail_msg("%s: %s", row.key, child.text);
	}
}

/* "A to B": both are taken, and nothing beyond. */
static void try_bounds(void *arg)
{
	const struct row *row = arg;
	long long least, most;
	char value[32];

	make_topology(row);
	ready();
	CHILD_CHECK(sscanf(row->takes, "%lld to %lld", &least, &most) == 2);
	for (int i = -1; i <= 1; i++) {
		snprintf(value, sizeof(value), "%lld", least + i);
		set_row(row, value, i >= 0);
		snprintf(value, sizeof(value), "%lld", most + i);
		set_row(row, value, i <= 0);
	}
}

static void test_bounds(void **state)
{
	unsigned int tried = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct row row = rows[i];
		struct child child;
		long long n;

		/* not where the bounds of one key depend on the other's value */
		if (row.of || sscanf(row.takes, "%lld to %lld", &n, &n) != 2 ||
		    strstr(row.takes, "and not "))
			continue;
		child = child_run(try_bounds, &row);
		if (!child_passed(&child))
			fail_msg("%s: %s", row.key, child.text);
		tried++;
	}
	assert_true(tried >= 8);
}

/* Rules of all three kinds, together. */
IN_CHILD(test_nr_rules)
{
	unsigned int most;

	ready();
	CHILD_CHECK(sscanf(strchr(row_of("engine:PATTERN")->takes, '('), "(%u rules", &most) == 1);
	for (unsigned int i = 0; i < most; i++)
		set_row(row_of(i % 2 ? "engine:PATTERN" : "capacity:PATTERN"), i % 2 ? "slab" : "7",
			true);
	set_row(row_of("front:PATTERN"), "none", false);
}

static bool is_initially(const char *key, unsigned long value)
{
	char *end;

	return strtoul(row_of(key)->initial, &end, 10) == value && (!*end || *end == ' ');
}

static bool initially_is(const char *key, const char *text)
{
	return !strcmp(row_of(key)->initial, text);
}

/* The orders are SLUB's own: they show by what is refused beside them, and by a slab. */
static void check_orders(void)
{
	struct cache *c = make("c", 680, 0, 0);
	unsigned int most = (unsigned int)strtoul(row_of("slub_max_order")->initial, NULL, 10);
	char value[16];

	CHILD_CHECK(is_initially("slab_min_order", 0) && is_initially("slab_min_objects", 0));
	CHILD_CHECK((int)c->engine.layout->order ==
		    slub_calculate_order(c->engine.size, os_topology.nr_cpu_ids, 0, most, 0));
	snprintf(value, sizeof(value), "%u", most + 1);
	CHILD_CHECK(!cache_set_option("slab_min_order", value, NULL));
	snprintf(value, sizeof(value), "%u", most);
	CHILD_CHECK(cache_set_option("slab_min_order", value, NULL));
}

static void check_places(void)
{
	struct cache *c = make("d", 64, 0, 0);
	char head[REPORT_TEXT_HEAD_MAX];

	CHILD_CHECK(initially_is("engine:PATTERN", "as engine"));
	CHILD_CHECK(engine_is(&c->engine, cache_defaults.engine));
	CHILD_CHECK(initially_is("front:PATTERN", "as front"));
	CHILD_CHECK(c->front.ops == cache_defaults.front);
	CHILD_CHECK(initially_is("topology", "the machine's") && !os_topology.made_up);
	CHILD_CHECK(initially_is("topology.memory", "no limit") && !numa_node_pages);
	CHILD_CHECK(is_initially("spread_slab", placement_spreads != NULL));
	CHILD_CHECK(is_initially("report.time", report_head(head, true) > 0));
}

/* Whoever adds an option compares it, or says here that it cannot be read. */
static void check_all_looked_up(void)
{
	static const char *const unread[] = {
		"capacity:PATTERN", "purge_limit", "report.file", "topology.distance",
		"mempolicy",	    "valgrind",	   "asan"
	};

	for (size_t i = 0; i < ARRAY_SIZE(unread); i++)
		row_of(unread[i]);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!rows[i].of && !looked_up[i]) {
			dprintf(STDERR_FILENO, "%s\n", rows[i].key);
			CHILD_CHECK(!"compared");
		}
}

/* What holds while nothing is said, as far as it can be seen from here. */
IN_CHILD(test_initial)
{
	ready();
	CHILD_CHECK(!strcmp(row_of("engine")->initial, cache_defaults.engine->name));
	CHILD_CHECK(!strcmp(row_of("front")->initial, cache_defaults.front->name));
	CHILD_CHECK(initially_is("era", "7.0") &&
		    cache_front_by_name("sheaves") == &front_sheaves_ops);
	CHILD_CHECK(is_initially("slab_nomerge", cache_defaults.no_merge));
	CHILD_CHECK(is_initially("slub_merge", !cache_defaults.no_merge));
	CHILD_CHECK(is_initially("hardened", cache_defaults.hardened));
	CHILD_CHECK(is_initially("random", cache_defaults.randomised));
	CHILD_CHECK(initially_is("kmalloc.partition", "off") && !cache_defaults.partition);
	CHILD_CHECK(is_initially("stats", cache_defaults.stats));
	CHILD_CHECK(is_initially("noaliencache", front_queues_noalien));
	CHILD_CHECK(is_initially("near", array_near_most));
	CHILD_CHECK(!strcmp(row_of("reap")->initial, "off") && !cache_defaults.reap_ms);
	CHILD_CHECK(!strcmp(row_of("control")->initial, "off") && !cache_defaults.control_ms);
	CHILD_CHECK(is_initially("deepbind", os_keep_deepbind));
	CHILD_CHECK(is_initially("fork_thread", !cache_defaults.no_fork_thread));
	CHILD_CHECK(!strcmp(row_of("defrag")->initial, "off") && !cache_defaults.defrag_percent);
	CHILD_CHECK(is_initially("slab_max_order", 3));
	CHILD_CHECK(strtoul(strchr(row_of("slab_max_order")->initial, ':') + 1, NULL, 10) ==
		    slab_max_order());
	CHILD_CHECK(!strcmp(row_of("report")->initial, "continue") && report_goes_on());
	CHILD_CHECK(initially_is("report.frames", "program") && !report_shows_own_frames());
	CHILD_CHECK(!strcmp(row_of("report.format")->initial, "modern") && report_shows_taken());
	CHILD_CHECK(is_initially("report.burst", REPORT_BURST));
	CHILD_CHECK(is_initially("report.interval", REPORT_INTERVAL_S));
	CHILD_CHECK(is_initially("purge_delay", BUDDY_PURGE_DELAY_MS));
	CHILD_CHECK(initially_is("purge", "dontneed") && !cache_defaults.purge_lazily);
	CHILD_CHECK(initially_is("thp", "system") && cache_defaults.thp == THP_SYSTEM);
	CHILD_CHECK(is_initially("realtime", cache_defaults.realtime_bytes));
	CHILD_CHECK(is_initially("limit", 0) && limit_counters.limit == LIMIT_NONE);
	CHILD_CHECK(initially_is("limit:PATTERN", "none"));
	CHILD_CHECK(is_initially("reclaim", 0) && !reclaim_is_on());
	CHILD_CHECK(is_initially("kfence.sample", kfence_is_wanted()));
	CHILD_CHECK(is_initially("kfence.objects", KFENCE_DEFAULT_OBJECTS));
	CHILD_CHECK(is_initially("kfence.interval", kfence_interval()));
	CHILD_CHECK(is_initially("failslab.probability", failslab.probability));
	CHILD_CHECK(is_initially("failslab.interval", failslab.interval));
	CHILD_CHECK(is_initially("failslab.times", (unsigned long)failslab.times));
	CHILD_CHECK(is_initially("failslab.space", (unsigned long)failslab.space));
	CHILD_CHECK(is_initially("failslab.verbose", failslab.verbose));
	CHILD_CHECK(initially_is("failslab.ignore-gfp-wait", failslab.ignore_gfp_wait ? "Y" : "N"));
	CHILD_CHECK(initially_is("failslab.cache-filter", failslab.cache_filter ? "Y" : "N"));
	CHILD_CHECK(initially_is("failslab.task-filter", "N") && !failslab.task_filter[0]);
	CHILD_CHECK(is_initially("mem_profiling", (unsigned long)uslab_mem_profiling_on));
	CHILD_CHECK(is_initially("slab_merge", !cache_defaults.no_merge));
	check_places();
	check_orders();
	check_all_looked_up();
}

/* "nothing means V" */
static bool means_alone(const char *key, unsigned long value)
{
	const char *text = strstr(row_of(key)->takes, ALONE);
	size_t stated;

	return text && os_parse_size(text + strlen(ALONE), &stated) && stated == value;
}

/* A key without a value. */
IN_CHILD(test_alone)
{
	static const char *const keys[] = { "reap",	    "control",	    "hardened",
					    "random",	    "slab_nomerge", "stats",
					    "noaliencache", "slub_merge",   "realtime" };

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		CHILD_CHECK(cache_set_option(keys[i], "", NULL));
	CHILD_CHECK(means_alone("reap", cache_defaults.reap_ms));
	CHILD_CHECK(means_alone("control", cache_defaults.control_ms));
	CHILD_CHECK(means_alone("realtime", cache_defaults.realtime_bytes));
	CHILD_CHECK(means_alone("hardened", cache_defaults.hardened));
	CHILD_CHECK(means_alone("random", cache_defaults.randomised));
	CHILD_CHECK(means_alone("stats", cache_defaults.stats));
	CHILD_CHECK(means_alone("noaliencache", front_queues_noalien));
	CHILD_CHECK(means_alone("slub_merge", !cache_defaults.no_merge));
	CHILD_CHECK(means_alone("kfence.sample", KFENCE_DEFAULT_SAMPLE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	   cmocka_unit_test(test_debug_options),
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_orders),
		cmocka_unit_test(test_wrong_conf), cmocka_unit_test(test_orders_of_slab),
		cmocka_unit_test(test_noalien),	   cmocka_unit_test(test_near),
		cmocka_unit_test(test_reap),	   cmocka_unit_test(test_no_reap),
		cmocka_unit_test(test_explained),  cmocka_unit_test(test_meant),
		cmocka_unit_test(test_nr_rules),   cmocka_unit_test(test_rows),
		cmocka_unit_test(test_bounds),	   cmocka_unit_test(test_initial),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
