/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/config/choice_test.c - engine, front and capacity: what the program asks for, rules,
 * defaults
 */
#include "cache/internal.h"
#include "unit/cache/cache_fixture.h"
#include "front/array.h"
#include "front/sheaves.h"

static void test_names(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++) {
		const struct engine_ops *engine = cache_engines[i];

		assert_ptr_equal(cache_engine_by_name(engine->name), engine);
		assert_non_null(front_by_name(engine->front));
		if (engine->heap)
			assert_string_equal(engine->heap->name, engine->name);
	}
	assert_ptr_equal(cache_engine_by_name("slub"), &slub_ops);
	assert_ptr_equal(cache_engine_by_name("slob:1991"), &slob_1991_ops);
	assert_null(cache_engine_by_name("SLUB"));
	assert_null(cache_engine_by_name(""));
	assert_ptr_equal(cache_front_by_name("none"), &front_none_ops);
	assert_ptr_equal(cache_front_by_name("default"), &front_array_ops);
	assert_string_equal(cache_front_by_name("historical")->name, "historical");
	assert_null(cache_front_by_name(""));
}

/* What a cache of that name gets. */
static struct cache_spec chosen(const char *name)
{
	struct cache_spec spec = { .name = name };

	CHILD_CHECK(cache_resolve(&spec) == 0);
	return spec;
}

IN_CHILD(test_patterns)
{
	static const struct {
		const char *pattern;
		const char *name;
		bool match;
	} v[] = {
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "ab", "a", false },
		{ "*", "anything", true },
		{ "*", "", true },
		{ "?", "", false },
		{ "?", "x", true },
		{ "kmalloc-*", "kmalloc-64", true },
		{ "kmalloc-*", "kmalloc-", true },
		{ "kmalloc-*", "malloc-64", false },
		{ "*malloc-64", "kmalloc-64", true },
		{ "*malloc-64", "kmalloc-640", false },
		{ "malloc-??", "malloc-64", true },
		{ "malloc-??", "malloc-640", false },
		{ "*a*b*", "xxaxxbxx", true },
		{ "*a*b*", "xxbxxaxx", false },
		{ "*aab", "aaaab", true },
		{ "a*?c", "abbc", true },
		{ "a**", "a", true },
		{ "[a]", "a", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		CHILD_CHECK(cache_add_capacity_rule(v[i].pattern, 3 + (unsigned int)i % 20));
		/* the rule of this round is the last: it alone can give its number */
		if ((chosen(v[i].name).capacity == 3 + i % 20) != v[i].match) {
			dprintf(STDERR_FILENO, "%s %s\n", v[i].pattern, v[i].name);
			CHILD_CHECK(!"as expected");
		}
	}
}

IN_CHILD(test_order_of_rules)
{
	setenv("USLAB_CONF",
	       "engine=slab,front=none,engine:a*=slob,front:a*=array,engine:ab=slobseg,"
	       "capacity:a*=5,capacity:ab*=7,front:x*=historical",
	       1);
	ready();
	CHILD_CHECK(chosen("z").engine == &slab_ops && chosen("z").front == &front_none_ops);
	CHILD_CHECK(chosen("z").capacity == 0);
	CHILD_CHECK(chosen("a").engine == &slob_ops && chosen("a").front == &front_array_ops);
	CHILD_CHECK(chosen("a").capacity == 5);
	CHILD_CHECK(chosen("ab").engine == &slobseg_ops && chosen("ab").capacity == 7);
	CHILD_CHECK(chosen("ab").front == &front_array_ops); /* from the earlier rule */
	CHILD_CHECK(chosen("xy").front == front_by_name(slab_ops.front));
	/* later rules win, whatever they are for */
	CHILD_CHECK(cache_set_option("engine:*", "slub", NULL));
	CHILD_CHECK(chosen("ab").engine == &slub_ops && chosen("z").engine == &slub_ops);
}

/* The program's own choice goes before everything, field by field. */
IN_CHILD(test_program_first)
{
	struct cache_spec spec = { .name = "c", .engine = &slub_ops, .capacity = 9 };

	setenv("USLAB_CONF", "engine:c=slob,front:c=none,capacity:c=4", 1);
	ready();
	CHILD_CHECK(cache_resolve(&spec) == 0);
	CHILD_CHECK(spec.engine == &slub_ops && spec.front == &front_none_ops);
	CHILD_CHECK(spec.capacity == 9);
}

/* A cache has what was chosen for it, kmalloc's and malloc's as any other. */
IN_CHILD(test_caches)
{
	struct cache *c;

	setenv("USLAB_CONF", "engine:b*=slobseg,front:b2=none,capacity:b1=6,front:kmalloc-64=none",
	       1);
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	c = make("b1", 40, 0, 0);
	CHILD_CHECK(c->engine.ops == &slobseg_ops && c->front.ops == &front_array_ops);
	CHILD_CHECK(c->front.capacity == 6);
	CHILD_CHECK(make("b2", 40, 0, 0)->front.ops == &front_none_ops);
	for (struct list_head *pos = cache_list.next; pos != &cache_list; pos = pos->next) {
		c = list_entry(pos, struct cache, list);
		CHILD_CHECK((c->front.ops == &front_none_ops) ==
			    (!strcmp(c->name, "b2") || !strcmp(c->name, "kmalloc-64")));
	}
}

/* Only what was chosen alike merges: b1 and b3 do, though nobody asked for the same by name. */
IN_CHILD(test_merging)
{
	struct cache *c;

	setenv("USLAB_CONF", "engine:b*=slobseg,capacity:c=6,front:n=none,engine:h*=slob", 1);
	ready();
	c = make("a1", 40, 0, 0);
	CHILD_CHECK(make("a2", 40, 0, 0) == c);
	CHILD_CHECK(make("b1", 40, 0, 0) != c && make("c", 40, 0, 0) != c);
	CHILD_CHECK(make("n", 40, 0, 0) != c);
	CHILD_CHECK(make("b3", 40, 0, 0)->refcount == 2);
	CHILD_CHECK(made(&(struct cache_spec){ .name = "d", .size = 40, .engine = &slobseg_ops })
			    ->refcount == 3);
	/* caches of a heap share its pages as it is */
	CHILD_CHECK(make("h1", 40, 0, 0) != make("h2", 40, 0, 0));
}

/* ---- sheaves, and whose they are ---- */

static struct cache *sheaves_of_request(const char *name, unsigned int request, slab_flags_t flags)
{
	return made(&(struct cache_spec){
		.name = name, .size = 64, .sheaf_capacity = request, .flags = flags });
}

static unsigned int capacity_of(const struct cache *c)
{
	return sheaves_of(&c->front)->capacity;
}

/* 7.0: all caches, and a request can only raise. */
IN_CHILD(test_sheaves)
{
	struct cache *c;

	setenv("USLAB_CONF", "front=sheaves,capacity:b=100", 1);
	ready();
	CHILD_CHECK(front_has_sheaves(&make("a", 64, 0, 0)->front));
	CHILD_CHECK(capacity_of(make("a", 64, 0, 0)) == 60 &&
		    capacity_of(make("b", 64, 0, 0)) == 100);
	CHILD_CHECK(capacity_of(sheaves_of_request("c", 32, 0)) == 60);
	c = sheaves_of_request("d", 61, 0);
	CHILD_CHECK(capacity_of(c) == 61 && sheaves_of_request("e", 61, 0) != c);
	CHILD_CHECK(capacity_of(sheaves_of_request("f", 1000000, 0)) == SHEAVES_MAX_CAPACITY);
	CHILD_CHECK(sheaves_of_request("g", 0, SLAB_NOLEAKTRACE)->front.ops == &front_none_ops);
	/* other fronts take no notice */
	CHILD_CHECK(made(&(struct cache_spec){ .name = "h",
					       .size = 64,
					       .sheaf_capacity = 61,
					       .front = &front_queues_ops })
			    ->capacity == 0);
}

/* 6.18: who asks, and whose name a rule has. */
IN_CHILD(test_sheaves_618)
{
	setenv("USLAB_CONF", "front=sheaves,era=6.18,capacity:b=100,front:x=sheaves", 1);
	ready();
	CHILD_CHECK(make("a", 64, 0, 0)->front.ops == &front_cpuslab_ops);
	CHILD_CHECK(capacity_of(make("b", 64, 0, 0)) == 100);
	CHILD_CHECK(make("b", 64, 0, 0)->front.ops == &front_sheaves_618_ops);
	CHILD_CHECK(capacity_of(sheaves_of_request("c", 32, 0)) == 32);
	CHILD_CHECK(sheaves_of_request("x", 32, 0)->front.ops == &front_sheaves_618_ops);
	CHILD_CHECK(made(&(struct cache_spec){
				 .name = "d", .size = 64, .front = cache_front_by_name("sheaves") })
			    ->front.ops == &front_cpuslab_ops);
	CHILD_CHECK(sheaves_of_request("g", 32, SLAB_NOLEAKTRACE)->front.ops == &front_cpuslab_ops);
}

/* The order of the options does not matter. */
IN_CHILD(test_era)
{
	struct cache_spec spec = { .name = "c", .size = 64, .engine = &slab_ops };

	ready();
	CHILD_CHECK(!cache_set_era("6.1") && !cache_set_era(""));
	CHILD_CHECK(cache_front_by_name("sheaves") == &front_sheaves_ops);
	CHILD_CHECK(cache_set_option("front", "sheaves", NULL) && cache_set_era("6.18"));
	CHILD_CHECK(cache_defaults.front == &front_sheaves_618_ops);
	CHILD_CHECK(cache_front_by_name("sheaves") == &front_sheaves_618_ops);
	/* what a program chooses goes on to work: other engines have those of 7.0 */
	spec.front = cache_front_by_name("sheaves");
	CHILD_CHECK(cache_resolve(&spec) == 0 && spec.front == &front_sheaves_ops);
	CHILD_CHECK(cache_set_era("7.0") && cache_defaults.front == &front_sheaves_ops);
	CHILD_CHECK(cache_front_by_name("sheaves:6.18") == &front_sheaves_618_ops);
}

/* ---- fronts that do not go with every engine ---- */

IN_CHILD(test_refused)
{
	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++) {
		struct cache_spec spec = { .name = "c",
					   .size = 64,
					   .engine = cache_engines[i],
					   .front = &front_cpuslab_ops };
		struct kmem_cache *s;

		ready();
		CHILD_CHECK(cache_create(&spec, &s) ==
			    (cache_engines[i] == &slub_ops ? 0 : -EINVAL));
		spec.front = cache_front_by_name("historical");
		spec.name = "h";
		CHILD_CHECK(cache_create(&spec, &s) == 0);
		CHILD_CHECK(!strcmp(cache_of(s)->front.ops->name, cache_engines[i]->front));
	}
}

static void not_for_all(void *arg)
{
	(void)arg;
	setenv("USLAB_CONF", "front=cpuslab,engine:b*=slobseg", 1);
	ready();
	CHILD_CHECK(make("a", 64, 0, 0)->front.ops == &front_cpuslab_ops);
	CHILD_CHECK(make("b1", 64, 0, 0)->front.ops == &front_none_ops);
	CHILD_CHECK(make("b2", 128, 0, 0)->front.ops == &front_none_ops);
}

/* Said once, not for each cache. */
static void test_not_for_all(void **state)
{
	struct child c = child_run(not_for_all, state);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: USLAB_CONF: front cpuslab does not go with engine "
				    "slobseg; such caches get slobseg/none\n");
}

static void limits_of_a_heap(void *arg)
{
	(void)arg;
	setenv("USLAB_CONF", "engine:h*=slob,limit:h*=64k,limit:s=64k", 1);
	ready();
	make("h1", 64, 0, 0);
	make("h2", 64, 0, 0);
	make("s", 64, 0, 0);
}

/* A limit that cannot be kept is not dropped in silence. */
static void test_limits_of_a_heap(void **state)
{
	struct child c = child_run(limits_of_a_heap, state);

	assert_true(child_passed(&c));
	assert_string_equal(c.text, "uslab: USLAB_CONF: the limit for h1 is not kept: caches of "
				    "engine slob share their pages\n");
}

static void front_goes_first(void *arg)
{
	(void)arg;
	setenv("USLAB_CONF", "engine=slob", 1);
	ready();
	CHILD_CHECK(make_front("c", 64, "cpuslab")->engine.ops == &slub_ops);
	CHILD_CHECK(make_front("q", 64, "queues")->engine.ops == &slob_ops);
}

/* A program that asks for a front runs whatever engine the environment names. */
static void test_front_goes_first(void **state)
{
	struct child c = child_run(front_goes_first, state);

	assert_true(child_passed(&c));
	assert_string_equal(c.text,
			    "uslab: USLAB_CONF: front cpuslab does not go with engine slob; "
			    "such caches get slub/cpuslab\n");
}

IN_CHILD(test_no_room)
{
	char too_long[CACHE_NAME_MAX + 1];
	unsigned int n = 0;

	memset(too_long, 'x', CACHE_NAME_MAX);
	too_long[CACHE_NAME_MAX] = '\0';
	CHILD_CHECK(!cache_add_engine_rule(too_long, "slub"));
	CHILD_CHECK(cache_add_engine_rule(too_long + 1, "slub"));
	while (n < 1000 && cache_add_front_rule("a", "none"))
		n++;
	CHILD_CHECK(n >= 20 && n < 1000);
	CHILD_CHECK(chosen("a").front == &front_none_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_order_of_rules),
		cmocka_unit_test(test_program_first),
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_sheaves),
		cmocka_unit_test(test_sheaves_618),
		cmocka_unit_test(test_era),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_not_for_all),
		cmocka_unit_test(test_limits_of_a_heap),
		cmocka_unit_test(test_front_goes_first),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
