/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/capacity_test.c - capacities of live caches, by cache and by name, with all fronts
 */
#include "cache_fixture.h"

#include "cache/internal.h"
#include "front/queues.h"
#include "front/sheaves.h"

static void fill(struct cache *c, unsigned int n)
{
	void *p[300];

	for (unsigned int i = 0; i < n; i++)
		p[i] = get(c);
	for (unsigned int i = 0; i < n; i++)
		cache_free(c, p[i]);
}

IN_CHILD(test_array)
{
	struct cache *c;

	ready();
	stay_here();
	c = make_front("c", 64, "array");
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, 4) == 0 && c->front.capacity == 4 && c->capacity == 4);
	CHILD_CHECK(c->front.ops->held(&c->front) == 0 && in_use(c) == 0);
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, 32) == -EINVAL && cache_set_capacity(c, 2000) == -EINVAL);
	CHILD_CHECK(c->front.capacity == 4 && c->capacity == 4);
	CHILD_CHECK(cache_set_capacity(c, FRONT_CAPACITY_NONE) == 0 && c->front.capacity == 0);
	fill(c, 300);
	CHILD_CHECK(c->front.ops->held(&c->front) == 0);
	CHILD_CHECK(cache_set_capacity(c, 0) == 0 && c->front.capacity == 31);
	fill(c, 300);
	cache_check_all();
	CHILD_CHECK(cache_shrink(c) == 0);
}

IN_CHILD(test_queues)
{
	struct queues *q;
	struct cache *c;
	struct queues first;

	ready();
	stay_here();
	c = make_front("c", 64, "queues");
	q = queues_of(&c->front);
	first = *q;
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, 7) == 0 && q->limit == 7 && q->batchcount == 4);
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, FRONT_CAPACITY_NONE) == -EINVAL);
	CHILD_CHECK(cache_set_capacity(c, CACHE_MAX_CAPACITY + 1) == -EINVAL && q->limit == 7);
	CHILD_CHECK(cache_set_capacity(c, CACHE_MAX_CAPACITY) == 0 && q->limit == 1024);
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, 0) == 0 && q->limit == first.limit);
	CHILD_CHECK(q->batchcount == first.batchcount && q->shared == first.shared);
	fill(c, 300);
	cache_check_all();
	CHILD_CHECK(cache_shrink(c) == 0);
}

static void change_sheaves(struct cache *c)
{
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, 7) == 0 && sheaves_capacity(&c->front) == 7);
	CHILD_CHECK(c->capacity == 7 && sheaves_held_barns(&c->front) == 0);
	CHILD_CHECK(sheaves_held_cpus(&c->front) == 0);
	fill(c, 300);
	CHILD_CHECK(cache_set_capacity(c, FRONT_CAPACITY_NONE) == -EINVAL);
	CHILD_CHECK(cache_set_capacity(c, CACHE_MAX_CAPACITY + 1) == -EINVAL);
	CHILD_CHECK(sheaves_capacity(&c->front) == 7 && c->capacity == 7);
	CHILD_CHECK(cache_set_capacity(c, CACHE_MAX_CAPACITY) == 0);
	fill(c, 300);
	CHILD_CHECK(sheaves_capacity(&c->front) == 1024 && cache_set_capacity(c, 0) == 0);
	CHILD_CHECK(sheaves_capacity(&c->front) == 60 && c->capacity == 0);
	fill(c, 300);
	cache_check_all();
	CHILD_CHECK(cache_shrink(c) == 0);
}

IN_CHILD(test_sheaves)
{
	ready();
	stay_here();
	change_sheaves(make_front("c", 64, "sheaves"));
	change_sheaves(made(&(struct cache_spec){
		.name = "d", .size = 64, .front = &front_sheaves_618_ops, .sheaf_capacity = 12 }));
}

IN_CHILD(test_fronts_without)
{
	static const char *const fronts[] = { "none", "cpuslab" };

	ready();
	for (unsigned int i = 0; i < ARRAY_SIZE(fronts); i++) {
		struct cache *c = make_front("c", 64, fronts[i]);

		CHILD_CHECK(cache_set_capacity(c, 4) == -EOPNOTSUPP);
		CHILD_CHECK(cache_set_capacity(c, 0) == -EOPNOTSUPP);
		CHILD_CHECK(cache_set_capacity(c, FRONT_CAPACITY_NONE) == -EOPNOTSUPP);
	}
}

/* Merged caches are one; who comes later merges by what was asked for last. */
IN_CHILD(test_aliases)
{
	struct cache_spec five = { .name = "five", .size = 64, .capacity = 5 };
	struct cache *a;

	ready();
	a = make("a", 64, 0, 0);
	CHILD_CHECK(make("b", 64, 0, 0) == a);
	CHILD_CHECK(cache_set_capacity_pattern("b", 5) == 1 && a->front.capacity == 5);
	CHILD_CHECK(make("c", 64, 0, 0) != a && made(&five) == a);
	CHILD_CHECK(cache_set_capacity(a, FRONT_CAPACITY_NONE) == 0);
	CHILD_CHECK(made(&five) != a && make("d", 64, 0, 0) != a);
}

IN_CHILD(test_patterns)
{
	struct cache *a;
	struct cache *b;

	ready();
	a = make_front("pattern-a", 64, "array");
	b = make_front("pattern-b", 64, "array");
	make_front("pattern-none", 64, "none");
	make_front("other", 64, "none");
	CHILD_CHECK(cache_set_capacity_pattern("pattern-*", 6) == 2);
	CHILD_CHECK(a->front.capacity == 6 && b->front.capacity == 6);
	CHILD_CHECK(cache_set_capacity_pattern("pattern-?", 32) == -EINVAL);
	CHILD_CHECK(cache_set_capacity_pattern("other", 6) == -EOPNOTSUPP);
	CHILD_CHECK(cache_set_capacity_pattern("nothing", 6) == -ENOENT);
	CHILD_CHECK(a->front.capacity == 6 && b->front.capacity == 6);
}

/* Off its arrays a cache gets its capacity, too; also marks behind objects, which stay so. */
IN_CHILD(test_with_debug_flags)
{
	struct cache *c;

	ready();
	stay_here();
	c = make_front("c", 64, "array");
	fill(c, 300);
	for (unsigned int i = 1; i <= 31; i += 6) {
		CHILD_CHECK(cache_set_debug(c, SLAB_POISON | SLAB_RED_ZONE) == 0);
		CHILD_CHECK(cache_set_capacity(c, i) == 0);
		fill(c, 100);
		CHILD_CHECK(c->front.ops->held(&c->front) == 0);
		CHILD_CHECK(cache_set_debug(c, 0) == 0);
		fill(c, 100);
		CHILD_CHECK(c->front.capacity == i);
		cache_check_all();
	}
	CHILD_CHECK(in_use(c) == 0 && report_counters.reports == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_array),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_sheaves),
		cmocka_unit_test(test_fronts_without),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_with_debug_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
