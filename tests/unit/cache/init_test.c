/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/init_test.c - made ready once, whoever comes first; the options of USLAB_CONF
 */
#include <pthread.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "cache_fixture.h"
#include "os/rseq.h"

IN_CHILD(test_once)
{
	char *base;

	errno = 77;
	CHILD_CHECK(cache_init() == 0);
	base = page_map.base;
	CHILD_CHECK(cache_init() == 0 && page_map.base == base);
	CHILD_CHECK(errno == 77);
	CHILD_CHECK(percpu_rseq == os_rseq_on);
	/* page class 0 is nobody's: its words miss */
	for (int cpu = -2; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		CHILD_CHECK(*percpu_inline_word(USLAB_ID_NONE, cpu) == front_stop_word);
	CHILD_CHECK(list_empty(&cache_list)); /* kmalloc caches are made apart */
	CHILD_CHECK(cache_defaults.engine == &slub_ops);
	CHILD_CHECK(cache_defaults.front == &front_array_ops);
	cache_check_all();
}

static bool go;

static void *init_now(void *arg)
{
	while (!load_acquire(&go)) {}
	if (cache_init() == 0)
		*(char **)arg = page_map.base;
	return NULL;
}

IN_CHILD(test_all_at_once)
{
	pthread_t thread[8];
	char *base[8] = { NULL };

	for (unsigned int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, init_now, &base[i]);
	store_release(&go, true); /* pairs with init_now */
	for (unsigned int i = 0; i < 8; i++) {
		pthread_join(thread[i], NULL);
		CHILD_CHECK(base[i] && base[i] == page_map.base);
	}
	CHILD_CHECK(get(make("c", 64, 0, 0)));
}

/* Without addresses it fails, each time, and says so by its result. */
IN_BARE_CHILD(test_no_memory)
{
	const struct rlimit none = { 0, 0 };

	CHILD_CHECK(setrlimit(RLIMIT_AS, &none) == 0);
	CHILD_CHECK(cache_init() == -ENOMEM);
	CHILD_CHECK(cache_init() == -ENOMEM);
}

static void test_engines(void **state)
{
	(void)state;
	assert_ptr_equal(cache_engine_by_name("slub"), &slub_ops);
	assert_null(cache_engine_by_name("SLUB"));
	assert_null(cache_engine_by_name(""));
}

/* ---- options ---- */

IN_CHILD(test_options)
{
	static const struct {
		const char *key;
		const char *value;
		bool good;
	} v[] = {
		{ "engine", "slub", true },
		{ "engine", "slaub", false },
		{ "front", "array", true },
		{ "front", "none", true },
		{ "front", "cpuslab", true },
		{ "front", "", false },
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

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (cache_set_option(v[i].key, v[i].value, NULL) != v[i].good) {
			dprintf(STDERR_FILENO, "%s=%s\n", v[i].key, v[i].value);
			CHILD_CHECK(!"as expected");
		}
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
	struct child c = child_run(with_wrong_conf, state);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: USLAB_CONF: ignored \"front=wrong\"\n"
				    "uslab: USLAB_CONF: ignored \"what=ever\"\n"
				    "uslab: USLAB_CONF: ignored \"slab_min_order\"\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),	  cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_no_memory), cmocka_unit_test(test_engines),
		cmocka_unit_test(test_options),	  cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_orders),	  cmocka_unit_test(test_wrong_conf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
