/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/own_test.c - when a group has a cache of its own for a class, whose that is when
 * the group was destroyed, and what has none; with malloc(): conformance/malloc/groups_test.c
 */
#include "cache/group/own.h"
#include "cache/internal.h"
#include "engine/limit.h"
#include "groups.h"
#include "unit/cache/cache_fixture.h"

#define CLASSES 120u /* so that there are few numbers for caches of groups */
#define FIRST (USLAB_ID_MALLOC + CLASSES)
#define NUMBERS (USLAB_ID_KMALLOC - FIRST)
#define OFTEN 64u

static unsigned int size_of(unsigned int class)
{
	return class * 32;
}

static void describe(unsigned int class, struct cache_spec *spec, char *name)
{
	spec->size = size_of(class);
	spec->align = 16;
	spec->pack = true;
	os_format(name, CACHE_NAME_MAX, "class-%u", size_of(class));
}

/* Two classes, in a process that has sequences; false: it has none. */
static bool start(void)
{
	static const struct own_classes classes = { CLASSES, 4096, describe };
	char name[CACHE_NAME_MAX];

	ready();
	group_own_init(&classes);
	for (unsigned int class = 1; class <= 2; class += 1) {
		struct cache_spec spec = { .name = name, .id = class, .no_merge = true };

		describe(class, &spec, name);
		made(&spec);
	}
	return percpu_rseq;
}

static void miss(unsigned int class, unsigned int times)
{
	while (times--)
		group_own_missed(group_current, class);
}

static unsigned int number_of(struct uslab_group *g, unsigned int class)
{
	return group_of_handle(g)->numbers ? group_of_handle(g)->numbers[class] : 0;
}

static struct cache *cache_at(unsigned int number)
{
	return cache_of(percpu_handle(number));
}

IN_CHILD(test_often)
{
	struct uslab_group *a, *b;
	void *p;

	if (!start())
		return;
	a = make_group("a", 0, NULL);
	b = make_group("b", 0, NULL);
	group_enter(a);
	miss(1, OFTEN - 1);
	CHILD_CHECK(!number_of(a, 1) && !group_own_alloc(group_current, 1, GFP_NOWAIT));
	CHILD_CHECK(group_numbers == group_no_numbers);
	miss(1, 2);
	CHILD_CHECK(number_of(a, 1) == FIRST && !strcmp(cache_at(FIRST)->name, "class-32:1-a"));
	p = group_own_alloc(group_current, 1, GFP_NOWAIT);
	CHILD_CHECK(p && group_numbers[1] == FIRST && page_map.class[page_index(p)] == FIRST);
	CHILD_CHECK(usage(a) == 32 && usage(b) == 0);
	group_enter(b);
	CHILD_CHECK(group_numbers == group_no_numbers &&
		    !group_own_alloc(group_current, 1, GFP_NOWAIT));
	miss(2, OFTEN + 1);
	CHILD_CHECK(number_of(b, 2) == FIRST + 1 && !number_of(b, 1) && !number_of(a, 2));
	cache_free(cache_at(FIRST), p); /* by whoever */
	CHILD_CHECK(usage(a) == 0);
	group_own_missed(GROUP_NONE, 1); /* a handler took the thread out of its group */
	CHILD_CHECK(!group_own_alloc(GROUP_NONE, 1, GFP_NOWAIT));
	CHILD_CHECK(group_own_alloc((uintptr_t)a & 0xffff, 1, GFP_NOWAIT));
	CHILD_CHECK(group_numbers == group_no_numbers); /* it is in b */
	group_own_check();
	group_check();
	cache_check_all();
}

/* Two pairs that share a place are counted for the one that comes more often. */
IN_CHILD(test_mixed)
{
	struct uslab_group *g[3];

	if (!start())
		return;
	for (int i = 0; i < 3; i++)
		g[i] = make_group("g", 0, NULL);
	for (unsigned int n = 0; n < 3 * OFTEN; n++)
		for (int i = 0; i < 3; i++) {
			group_enter(g[i]);
			group_own_missed(group_current, 1 + n % 2);
		}
	for (int i = 0; i < 3; i++)
		CHILD_CHECK(number_of(g[i], 1) && number_of(g[i], 2));
	group_own_check();
}

/* Destroyed: nobody allocates of it; the next group gets it when the last object is freed. */
IN_CHILD(test_handed_on)
{
	char name[CACHE_NAME_MAX];
	struct uslab_group *a, *b;
	void *p[100];

	if (!start())
		return;
	a = make_group("a", 0, NULL);
	group_enter(a);
	miss(1, OFTEN + 1);
	for (int i = 0; i < 100; i++)
		CHILD_CHECK((p[i] = group_own_alloc(group_current, 1, GFP_NOWAIT)));
	group_destroy(a);
	CHILD_CHECK(!group_own_alloc(group_current, 1, GFP_NOWAIT) && !group_numbers[1]);
	CHILD_CHECK(cache_at(FIRST)->watch & WATCH_ORPHAN);
	b = make_group("b", 0, NULL);
	group_enter(b);
	miss(1, OFTEN + 1);
	CHILD_CHECK(number_of(b, 1) == FIRST + 1);
	for (int i = 0; i < 100; i++)
		cache_free(cache_at(FIRST), p[i]);
	usleep(150000); /* they are looked at every 100 ms */
	group_destroy(b);
	CHILD_CHECK(groups_table->dying == 1); /* b, in which this thread is */
	os_format(name, sizeof(name), "class-32:unused-%u", FIRST);
	CHILD_CHECK(!strcmp(cache_at(FIRST)->name, name));
	b = make_group("c", 0, NULL);
	group_enter(b);
	CHILD_CHECK(!groups_table->dying);
	miss(1, OFTEN + 1);
	CHILD_CHECK(number_of(b, 1) == FIRST && !strcmp(cache_at(FIRST)->name, "class-32:1-c"));
	CHILD_CHECK(!cache_at(FIRST)->watch && group_own_alloc(group_current, 1, GFP_NOWAIT));
	group_own_check();
	group_check();
	cache_check_all();
}

/* One that has a slab although it is nobody's is not handed on, and gets rid of it. */
IN_CHILD(test_late)
{
	struct uslab_group *a, *b;
	void *p;

	if (!start())
		return;
	a = make_group("a", 0, NULL);
	group_enter(a);
	miss(1, OFTEN + 1);
	group_destroy(a);
	CHILD_CHECK(!engine_group(&cache_at(FIRST)->engine));
	p = cache_at(FIRST)->front.ops->alloc(&cache_at(FIRST)->front, GFP_NOWAIT, NUMA_NO_NODE);
	b = make_group("b", 0, NULL);
	group_enter(b);
	miss(1, OFTEN + 1);
	CHILD_CHECK(p && number_of(b, 1) == FIRST + 1 && usage(b) == 0);
	cache_at(FIRST)->front.ops->free(&cache_at(FIRST)->front, p);
	usleep(150000);
	group_destroy(b);
	b = make_group("c", 0, NULL);
	group_enter(b);
	for (unsigned int i = FIRST; i <= FIRST + 2; i++) {
		b = make_group("d", 0, NULL);
		group_enter(b);
		miss(1, OFTEN + 1);
		CHILD_CHECK(number_of(b, 1) >= FIRST && number_of(b, 1) <= FIRST + 2);
	}
	group_own_check();
}

/* All numbers are taken: the others go on without; a number serves its class for ever. */
IN_CHILD(test_all_taken)
{
	struct uslab_group *g[NUMBERS + 1];

	if (!start())
		return;
	for (unsigned int i = 0; i <= NUMBERS; i++) {
		g[i] = make_group("g", 0, NULL);
		group_enter(g[i]);
		miss(1, OFTEN + 1);
		CHILD_CHECK(number_of(g[i], 1) == (i < NUMBERS ? FIRST + i : 0));
	}
	group_destroy(g[0]);
	miss(2, 2 * OFTEN);
	CHILD_CHECK(!number_of(g[NUMBERS], 2));
	miss(1, 2 * OFTEN);
	CHILD_CHECK(number_of(g[NUMBERS], 1) == FIRST);
	group_own_check();
}

/* Where a limit leaves no room for an object there are none; nor where tools watch the cache. */
IN_CHILD(test_refused)
{
	struct uslab_group *g;

	if (!start())
		return;
	g = make_group("g", 30, NULL);
	group_enter(g);
	miss(1, OFTEN + 1);
	CHILD_CHECK(number_of(g, 1) && !group_own_alloc(group_current, 1, GFP_NOWAIT) &&
		    group_of_handle(g)->usage == 0);
	CHILD_CHECK(group_set_limit(g, 0) == 0 && group_own_alloc(group_current, 1, GFP_NOWAIT));
	CHILD_CHECK(cache_set_debug(cache_at(FIRST), SLAB_POISON) == 0);
	CHILD_CHECK(!group_own_alloc(group_current, 1, GFP_NOWAIT));
	CHILD_CHECK(cache_set_debug(cache_at(FIRST), 0) == 0);
	CHILD_CHECK(group_own_alloc(group_current, 1, GFP_NOWAIT) && usage(g) == 64);
}

/* Where they would have no hits there are none. */
IN_CHILD(test_useless)
{
	struct uslab_group *g;

	setenv("USLAB_CONF", "front=queues", 1);
	start();
	g = make_group("g", 0, NULL);
	group_enter(g);
	miss(1, 3 * OFTEN);
	CHILD_CHECK(!number_of(g, 1) && !cache_at(FIRST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_often),	  cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_handed_on), cmocka_unit_test(test_all_taken),
		cmocka_unit_test(test_late),	  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_useless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
