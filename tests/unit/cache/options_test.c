/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/options_test.c - the options of USLAB_CONF: what they take, and what they do
 */
#include <dirent.h>

#include "cache/internal.h"
#include "cache_fixture.h"
#include "engine/slab/slab.h"
#include "front/queues.h"

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
		{ "purge_limit", "0", true },
		{ "purge_limit", "16M", true },
		{ "purge_limit", "x", false },
		{ "purge_limit", "", false },
		{ "purge_delay", "10", true },
		{ "purge_delay", "99g", false },
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
		"queues, cpuslab, none, historical\n";
	struct child c = child_run(with_wrong_conf, state);

	assert_true(child_passed(&c));
	assert_int_equal(strncmp(c.text, first, strlen(first)), 0);
	assert_non_null(strstr(c.text,
			       "\nuslab: USLAB_CONF: ignored \"what=ever\": there is no such "
			       "option, but engine, front, stats, "));
	assert_non_null(strstr(c.text,
			       "kfence.NAME\nuslab: USLAB_CONF: ignored \"slab_min_order\": "
			       "slab_min_order takes 0 to 10, and not more than "
			       "slab_max_order (3), and has no value here\n"));
}

/* Each refusal names what would have been taken. */
IN_CHILD(test_explained)
{
	static const struct {
		const char *key, *value, *why;
	} v[] = {
		{ "engine:x", "slaub", "engine:PATTERN takes slub, slab, " },
		{ "capacity:x", "0", "capacity:PATTERN takes 1 to 1024 objects" },
		{ "kfence.simple", "1", "kfence.NAME takes one in so many (sample), " },
		{ "report", "stop", "report takes continue, abort, exit" },
		{ "report.file", "/no such folder/file", ": no such folder" },
		{ "report.file", "/tmp", " or a FIFO that can be written to: that is none" },
		{ "report.burst", "",
		  "report.burst takes a number of reports, 0 for all, and has" },
		{ "purge_limit", "x", "purge_limit takes bytes, also as 64k, 16M, 1G" },
		{ "stats", "2", "stats takes 0 or 1, nothing means 1" },
		{ "topology", "1x2", "topology takes CPUSxNODES, as 64x4" },
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
	CHILD_CHECK(strlen(why) < OS_ENV_WHY_BYTES - 1 && strstr(why, " engine,"));
	CHILD_CHECK(!strcmp(why + strlen(why) - strlen(" kfence.NAME"), " kfence.NAME"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),	   cmocka_unit_test(test_debug_options),
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_orders),
		cmocka_unit_test(test_wrong_conf), cmocka_unit_test(test_orders_of_slab),
		cmocka_unit_test(test_noalien),	   cmocka_unit_test(test_reap),
		cmocka_unit_test(test_no_reap),	   cmocka_unit_test(test_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
