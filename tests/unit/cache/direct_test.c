/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/direct_test.c - objects past the front, and a program that moves its objects by itself
 */
#include "ballast.h"
#include "cache/group/group.h"
#include "cache_fixture.h"
#include "engine/evacuation.h"
#include "engine/limit.h"

#define OBJECTS 6000

static void *slot[OBJECTS];

/* As Redis does: goes over all it has, until nothing is to move any more. */
static void pass(struct cache *c)
{
	for (unsigned int i = 0; i < OBJECTS; i++) {
		void *to;

		if (!slot[i] || !cache_should_move(slot[i]))
			continue;
		to = cache_alloc_direct(c, GFP_KERNEL, 0, NULL);
		CHILD_CHECK(to && page_slab_of(to) != page_slab_of(slot[i]));
		memcpy(to, slot[i], sizeof(unsigned int));
		cache_free_direct(c, slot[i], NULL);
		slot[i] = to;
	}
}

static void thin_out(struct cache *c)
{
	unsigned int seed = 5;

	for (unsigned int i = 0; i < OBJECTS; i++) {
		CHILD_CHECK((slot[i] = obj_alloc(c)));
		*(unsigned int *)slot[i] = i;
	}
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (rand_r(&seed) % 4) {
			obj_free(c, slot[i]);
			slot[i] = NULL;
		}
	cache_shrink(c);
}

static void check_engine(const struct engine_ops *engine, bool packs)
{
	struct cache *c = made(&(struct cache_spec){ .name = "c", .size = 100, .engine = engine });
	unsigned long before;

	thin_out(c);
	before = stats_of(c).nr_slabs;
	for (unsigned int i = 0; i < 3; i++)
		pass(c);
	cache_check_all();
	/* a quarter is in use: at best a quarter of the slabs */
	CHILD_CHECK(packs ? stats_of(c).nr_slabs * 10 < before * 3
			  : stats_of(c).nr_slabs == before);
	for (unsigned int i = 0; i < OBJECTS; i++) {
		if (!slot[i])
			continue;
		CHILD_CHECK(*(unsigned int *)slot[i] == i);
		obj_free(c, slot[i]);
	}
	CHILD_CHECK(in_use(c) == 0);
	cache_destroy(c->handle, NULL);
}

/*
 * An object in a slab of this CPU's alone, where the fuller ones are another CPU's: it does not
 * come back to the slab that it is to leave.
 */
IN_CHILD(test_slabs_of_other_cpus)
{
	struct cache *c;
	void *obj;
	void *to;

	CHILD_CHECK(os_topology_set(4, 1) == 0);
	ready();
	os_act_as_cpu(0);
	c = made(&(struct cache_spec){ .name = "c", .size = 100 });
	CHILD_CHECK(c->engine.lanes);
	for (unsigned int i = 0; i < 400; i++)
		CHILD_CHECK((slot[i] = cache_alloc_direct(c, GFP_KERNEL, 0, NULL)));
	for (unsigned int i = 0; i < 400; i += 4)
		cache_free_direct(c, slot[i], NULL);
	os_act_as_cpu(1);
	CHILD_CHECK(c->engine.ops->refill(&c->engine, &obj, 1, GFP_KERNEL, NUMA_NO_NODE) == 1);
	CHILD_CHECK(cache_should_move(obj));
	CHILD_CHECK((to = cache_alloc_direct(c, GFP_KERNEL, 0, NULL)));
	CHILD_CHECK(page_slab_of(to) != page_slab_of(obj) && !cache_should_move(to));
	cache_check_all();
}

IN_CHILD(test_slub)
{
	ready();
	check_engine(&slub_ops, true);
}

static bool all_below(unsigned long index)
{
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (slot[i] && page_index(slot[i]) >= index)
			return false;
	return true;
}

/* Objects of slabs far up are to move, those of full slabs, too; new ones come from below. */
IN_CHILD(test_far_up)
{
	struct cache *c;
	unsigned long below;

	ready();
	below = ballast(true);
	c = made(&(struct cache_spec){ .name = "c", .size = 100 });
	for (unsigned int i = 0; i < OBJECTS; i++) {
		CHILD_CHECK((slot[i] = obj_alloc(c)));
		CHILD_CHECK(page_index(slot[i]) >= below);
		*(unsigned int *)slot[i] = i;
	}
	cache_shrink(c);
	CHILD_CHECK(!cache_should_move(slot[0]));
	ballast(false);
	CHILD_CHECK(cache_should_move(slot[0]));
	/* not where it would stay: at the limit of the cache, and where calls take other ways */
	engine_limits[c->engine.id].most = engine_limits[c->engine.id].pages;
	CHILD_CHECK(!cache_should_move(slot[0]));
	engine_limits[c->engine.id].most = 0;
	store_relaxed(&c->watch, WATCH_KFENCE);
	CHILD_CHECK(!cache_should_move(slot[0]));
	store_relaxed(&c->watch, 0);
	for (unsigned int i = 0; i < 3; i++)
		pass(c);
	CHILD_CHECK(all_below(page_far(0)));
	for (unsigned int i = 0; i < OBJECTS; i++)
		CHILD_CHECK(*(unsigned int *)slot[i] == i && !cache_should_move(slot[i]));
	for (unsigned int i = 0; i < OBJECTS; i++)
		obj_free(c, slot[i]);
	cache_check_all();
	CHILD_CHECK(in_use(c) == 0);
}

/* Nothing is ever to move. */
IN_CHILD(test_others)
{
	ready();
	check_engine(&slab_ops, false);
	check_engine(&slobseg_ops, false);
	check_engine(&slob_ops, false);
}

IN_CHILD(test_hardened)
{
	setenv("USLAB_CONF", "hardened", 1);
	ready();
	check_engine(&slub_ops, true);
}

/* Debug slabs: no. */
IN_CHILD(test_debugged)
{
	struct cache *c;
	void *p;

	ready();
	c = make("c", 100, 0, SLAB_RED_ZONE);
	CHILD_CHECK((p = cache_alloc_direct(c, GFP_KERNEL, 0, NULL)));
	CHILD_CHECK(!cache_should_move(p));
	cache_free_direct(c, p, NULL);
	CHILD_CHECK(in_use(c) == 0);
	CHILD_CHECK(!cache_should_move(&c) && !cache_should_move(NULL));
}

/* It goes to its slab, not into the CPU's array. */
IN_CHILD(test_past_the_front)
{
	struct cache *c;
	void *p;

	ready();
	stay_here();
	c = make_front("c", 100, "array");
	p = cache_alloc_direct(c, GFP_KERNEL | __GFP_ZERO, 0, NULL);
	for (unsigned int i = 0; i < 100; i++)
		CHILD_CHECK(!((char *)p)[i]);
	CHILD_CHECK(!c->front.ops->held(&c->front));
	cache_free_direct(c, p, NULL);
	CHILD_CHECK(!c->front.ops->held(&c->front) && in_use(c) == 0);
}

static struct uslab_group *group;

static size_t usage(void)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(group, &stat) == 0);
	return stat.usage;
}

/* What CPUs have charged ahead may still be had. */
static void fill_to_limit(struct cache *c, size_t limit)
{
	void *p[2000];
	unsigned int n = 0;

	CHILD_CHECK(group_set_limit(group, limit) == 0);
	while (n < ARRAY_SIZE(p) && (p[n] = cache_alloc_direct(c, GFP_NOWAIT, 0, NULL)))
		n++;
	CHILD_CHECK(n < ARRAY_SIZE(p) && usage() == limit + n * c->engine.size);
	while (n)
		cache_free_direct(c, p[--n], NULL);
	CHILD_CHECK(usage() == limit);
}

/* Past the front all the same, and charged as any other. */
IN_CHILD(test_charged)
{
	struct cache *c;
	size_t before;
	int error;

	ready();
	CHILD_CHECK((group = group_create("g", 0, NULL, &error)));
	group_enter(group);
	c = made(&(struct cache_spec){ .name = "c", .size = 100, .flags = SLAB_ACCOUNT });
	thin_out(c);
	before = usage();
	CHILD_CHECK(before && before == in_use(c) * c->engine.size);
	for (unsigned int i = 0; i < 3; i++)
		pass(c);
	CHILD_CHECK(usage() == before);
	CHILD_CHECK(stats_of(c).nr_slabs <= 2 * DIV_ROUND_UP(in_use(c), c->engine.layout->objects));
	fill_to_limit(c, before);
	cache_check_all();
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (slot[i])
			cache_free_direct(c, slot[i], NULL);
	CHILD_CHECK(usage() == 0 && in_use(c) == 0);
	group_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slub),	       cmocka_unit_test(test_others),
		cmocka_unit_test(test_hardened),       cmocka_unit_test(test_debugged),
		cmocka_unit_test(test_past_the_front), cmocka_unit_test(test_charged),
		cmocka_unit_test(test_far_up),	       cmocka_unit_test(test_slabs_of_other_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
