/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/limit_test.c - limits of caches: for each engine and front; refusals, shrinks, merging
 */
#include "cache_fixture.h"
#include "engine/limit.h"
#include "cache/internal.h"

#define NOWARN (GFP_KERNEL | __GFP_NOWARN)
#define LIMIT (256ul << 10)

static unsigned long pages_of(struct cache *c)
{
	return engine_limits[c->engine.id].pages;
}

static unsigned long refused(struct cache *c)
{
	return engine_limits[c->engine.id].refused;
}

/* Objects until there is none, linked by their first words. */
static unsigned long take_all(struct cache *c, void **list)
{
	unsigned long n = 0;
	void *obj;

	while ((obj = cache_alloc(c, NOWARN, NUMA_NO_NODE))) {
		*(void **)obj = *list;
		*list = obj;
		n++;
		CHILD_CHECK(pages_of(c) << PAGE_SHIFT <= LIMIT);
	}
	return n;
}

static void give_all(struct cache *c, void **list)
{
	void *obj;

	while ((obj = *list)) {
		*list = *(void **)obj;
		cache_free(c, obj);
	}
}

static void fill(struct cache *c, unsigned int size)
{
	void *list = NULL;
	unsigned long n;

	CHILD_CHECK(cache_set_limit(c, LIMIT) == 0);
	n = take_all(c, &list);
	CHILD_CHECK(n >= LIMIT / size / 2 && n <= LIMIT / size);
	CHILD_CHECK(refused(c) == 1);
	CHILD_CHECK(pages_of(c) << PAGE_SHIFT == stats_of(c).slab_bytes);
	give_all(c, &list);
	CHILD_CHECK(take_all(c, &list) == n && refused(c) == 2);
	CHILD_CHECK(cache_set_limit(c, 0) == 0 && cache_alloc(c, NOWARN, NUMA_NO_NODE));
	give_all(c, &list);
	cache_shrink(c);
	CHILD_CHECK(pages_of(c) << PAGE_SHIFT == stats_of(c).slab_bytes);
}

struct pair {
	const struct engine_ops *engine;
	const char *front;
};

static void fill_pair(void *arg)
{
	static const unsigned int sizes[] = { 64, 1000, 6000 };
	const struct pair *pair = arg;

	ready();
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		fill(made(&(struct cache_spec){ .name = "limited",
						.size = sizes[i],
						.engine = pair->engine,
						.front = front_by_name(pair->front),
						.no_merge = true }),
		     sizes[i]);
	cache_check_all();
}

static void test_engines(void **state)
{
	static const struct pair pairs[] = {
		{ &slub_ops, "array" },	  { &slub_ops, "none" },     { &slub_ops, "cpuslab" },
		{ &slub_ops, "sheaves" }, { &slab_ops, "array" },    { &slab_ops, "queues" },
		{ &slobseg_ops, "none" }, { &slobseg_ops, "array" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct child c = child_run(fill_pair, (void *)&pairs[i]);

		assert_true(child_passed(&c));
	}
}

/* Debug slabs count as well; a bulk call gets all or none. */
IN_CHILD(test_debug_and_bulk)
{
	static void *p[8192];
	void *list = NULL;
	struct cache *c;

	ready();
	c = make("debugged", 500, 0, SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER);
	fill(c, 500);
	c = make("plain", 64, 0, SLAB_NO_MERGE);
	CHILD_CHECK(cache_set_limit(c, LIMIT) == 0);
	CHILD_CHECK(!cache_alloc_bulk(c, NOWARN, 8192, p) && refused(c) == 1);
	CHILD_CHECK(take_all(c, &list) > 2000);
}

IN_CHILD(test_merging)
{
	struct cache *a;
	struct cache *b;

	ready();
	a = make("a", 64, 0, 0);
	b = make("b", 64, 0, 0);
	CHILD_CHECK(a == b && cache_set_limit(a, LIMIT) == -EBUSY);
	a = make("alone", 104, 0, 0);
	CHILD_CHECK(cache_set_limit(a, LIMIT) == 0 && make("not alone", 104, 0, 0) != a);
	CHILD_CHECK(cache_set_limit(a, 100) == -EINVAL);
	a = made(&(struct cache_spec){ .name = "heap", .size = 64, .engine = &slob_ops });
	CHILD_CHECK(cache_set_limit(a, LIMIT) == -EOPNOTSUPP);
}

IN_CHILD(test_rule)
{
	struct cache *a;
	struct cache *b;

	setenv("USLAB_CONF", "limit:tenant*=256k", 1);
	ready();
	a = make("tenant1", 64, 0, 0);
	b = make("tenant2", 64, 0, 0);
	CHILD_CHECK(a != b && engine_limits[a->engine.id].most == LIMIT >> PAGE_SHIFT);
	cache_destroy(b->handle, NULL);
	b = make("other", 104, 0, SLAB_NO_MERGE); /* of the same number, perhaps */
	CHILD_CHECK(!engine_limits[b->engine.id].most);
}

/* Less than there is: nothing is lost, and it gets no more until it has less. */
IN_CHILD(test_lowered)
{
	void *list = NULL;
	struct cache *c;

	ready();
	c = make("lowered", 512, 0, SLAB_NO_MERGE);
	CHILD_CHECK(cache_set_limit(c, LIMIT) == 0 && take_all(c, &list) > 400);
	CHILD_CHECK(cache_set_limit(c, LIMIT / 4) == 0);
	CHILD_CHECK(!cache_alloc(c, NOWARN, NUMA_NO_NODE));
	give_all(c, &list);
	CHILD_CHECK(cache_set_limit(c, LIMIT / 4) == 0);
	CHILD_CHECK(pages_of(c) << PAGE_SHIFT <= LIMIT / 4);
	CHILD_CHECK(cache_alloc(c, NOWARN, NUMA_NO_NODE));
	CHILD_CHECK(cache_set_attribute_locked(c, "limit", 4096) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engines), cmocka_unit_test(test_debug_and_bulk),
		cmocka_unit_test(test_merging), cmocka_unit_test(test_rule),
		cmocka_unit_test(test_lowered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
