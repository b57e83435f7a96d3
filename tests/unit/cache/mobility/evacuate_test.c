/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/mobility/evacuate_test.c - which objects of a slab move: not those that
 * only seem to be in use, and not those that the program does not move; and that what is counted
 * and charged for them goes with them
 */
#include <sys/wait.h>

#include "cache/group/group.h"
#include "cache/profile/profile.h"
#include "cache/profile/sites.h"
#include "conformance/store.h"
#include "debug/report/report.h"

static unsigned int calls;

static int note(void *from, void *to, void *arg)
{
	calls++;
	CHILD_CHECK(page_slab_of(from) != page_slab_of(to));
	/* constructed, and refused or used up: never the same for two that moved */
	CHILD_CHECK(*(uint32_t *)to == UINT32_MAX);
	return move(from, to, arg);
}

static void open_noted(void (*ctor)(void *))
{
	struct cache *c = made(&(struct cache_spec){ .name = "store", .size = 64, .ctor = ctor });

	open_store(c, 2000);
	thin_out();
	cache_shrink(c);
	calls = 0;
	CHILD_CHECK(!mobility_set(c, &(struct mobility_functions){ .move = note, .arg = &store }));
}

/* A refused target is used for the next object. */
IN_CHILD(test_refused)
{
	ready();
	open_noted(store_ctor);
	store.refuse = 2;
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(calls == counters().defrag_moved + counters().defrag_refused);
	CHILD_CHECK(counters().defrag_moved && counters().defrag_refused);
	cache_check_all();
	empty_store();
	CHILD_CHECK(in_use(store.c) == 0);
}

/* Objects in lent sheaves are free: nobody can say where they are referred to. */
IN_CHILD(test_lent)
{
	struct slab_sheaf *sheaf[20];
	unsigned long lent = 0;

	ready();
	open_noted(store_ctor);
	for (unsigned int i = 0; i < ARRAY_SIZE(sheaf); i++) {
		CHILD_CHECK((sheaf[i] = lent_prefill(store.c, GFP_KERNEL, 3, NULL)));
		lent += sheaf[i]->count;
	}
	empty_store();
	cache_shrink(store.c);
	CHILD_CHECK(lent_sum(store.c).objects == lent);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(!calls);
	for (unsigned int i = 0; i < ARRAY_SIZE(sheaf); i++)
		lent_return(store.c, sheaf[i], NULL);
	CHILD_CHECK(in_use(store.c) == 0);
}

/* An object that the program freed and says to have moved is a second free: reported, not done. */
static int lie(void *from, void *to, void *arg)
{
	(void)to;
	(void)arg;
	if (calls++)
		return -1;
	cache_free(store.c, from);
	return 0;
}

static void quiet(const char *cache, const char *text, void *arg)
{
	(void)cache;
	(void)text;
	(void)arg;
}

IN_CHILD(test_lie)
{
	unsigned long before;

	ready();
	report_set_hook(quiet, NULL, true);
	open_noted(NULL); /* marks of objects with a constructor lie in their links */
	CHILD_CHECK(!mobility_set(store.c, &(struct mobility_functions){ .move = lie }));
	before = report_counters.reports;
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(calls > 1 && report_counters.reports == before + 1);
	cache_check_all();
}

/* What is counted for an object goes with it. */
IN_CHILD(test_profiled)
{
	static struct alloc_tag tag = { "a.c", "f", 1, 0, 0 };
	unsigned long counted = 0;

	ready();
	CHILD_CHECK(profile_switch(true) == 0);
	open_noted(store_ctor);
	for (unsigned int i = 0; i < store.nr; i++)
		if (store.slot[i]) {
			profile_add(&tag, store.c, store.slot[i], false);
			counted++;
		}
	CHILD_CHECK(sites_sum(tag.site).calls == counted);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(counters().defrag_moved);
	CHILD_CHECK(sites_sum(tag.site).calls == counted);
	empty_store();
	CHILD_CHECK(sites_sum(tag.site).calls == 0);
	CHILD_CHECK(!sites_table->lost);
	cache_check_all();
}

/* ---- groups ---- */

static struct uslab_group *group[2];

static size_t usage(unsigned int i)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(group[i], &stat) == 0);
	return stat.usage;
}

/* One in ten stays of those of two groups and of none in turn. */
static void fill_charged(const struct engine_ops *engine)
{
	int error;

	for (unsigned int i = 0; i < ARRAY_SIZE(group); i++)
		CHILD_CHECK((group[i] = group_create("g", 0, NULL, &error)));
	open_store(made(&(struct cache_spec){ .name = "store",
					      .size = 64,
					      .flags = SLAB_ACCOUNT | SLAB_NO_MERGE,
					      .ctor = store_ctor,
					      .engine = engine }),
		   2000);
	for (unsigned int i = 0; i < store.nr; i++) {
		group_enter(i % 3 < 2 ? group[i % 3] : NULL);
		put(i);
	}
	group_enter(NULL);
	for (unsigned int i = 0; i < store.nr; i++)
		if (i / 3 % 10)
			drop(i);
	cache_shrink(store.c);
}

/* The thread that moves them is in a group of its own: that does not matter. */
static void check_moves_charged(void)
{
	size_t before[2] = { usage(0), usage(1) };
	int error;
	struct uslab_group *own = group_create("own", 1, NULL, &error);

	CHILD_CHECK(before[0] && before[1]);
	CHILD_CHECK(group_set_limit(group[0], 1) == 0); /* what there is may move all the same */
	group_enter(own);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(group_enter(NULL) == own);
	CHILD_CHECK(counters().defrag_moved && counters().defrag_slabs);
	CHILD_CHECK(usage(0) == before[0] && usage(1) == before[1]);
	cache_check_all();
	group_destroy(own);
	empty_store();
	CHILD_CHECK(usage(0) == 0 && usage(1) == 0);
	cache_destroy(store.c->handle, NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(group); i++)
		group_destroy(group[i]);
	group_check();
}

/* An object stays charged to its group, wherever it lies. */
IN_CHILD(test_charged)
{
	ready();
	fill_charged(&slub_ops);
	check_moves_charged();
	fill_charged(&slab_ops);
	store.refuse = 3;
	check_moves_charged();
}

/* What isolate gets at once is of one group. */
static void *isolate(struct kmem_cache *s, void **objs, int nr)
{
	CHILD_CHECK(cache_of(s) == store.c);
	for (int i = 0; i < nr; i++)
		CHILD_CHECK(*(uint32_t *)objs[i] % 3 == *(uint32_t *)objs[0] % 3);
	return NULL;
}

static void migrate(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	(void)private;
	for (int i = 0; i < nr; i++) {
		void *to = cache_alloc(cache_of(s), GFP_KERNEL | __GFP_NOFAIL, node);

		CHILD_CHECK(to && !move(objs[i], to, &store));
		obj_free(store.c, objs[i]);
	}
}

IN_CHILD(test_charged_migrates)
{
	const struct mobility_functions functions = { .isolate = isolate, .migrate = migrate };

	ready();
	fill_charged(&slub_ops);
	CHILD_CHECK(mobility_set(store.c, &functions) == 0);
	check_moves_charged();
}

/* All objects are freed, and as many are allocated in group 0: each is charged. */
static void check_chargeable(void)
{
	empty_store();
	group_enter(group[0]);
	for (unsigned int i = 0; i < store.nr; i++)
		put(i);
	group_enter(NULL);
	CHILD_CHECK(usage(0) == store.nr * (size_t)store.c->engine.size && !usage(1));
	empty_store();
	CHILD_CHECK(!usage(0));
	cache_check_all();
}

static void *take_all_out(struct kmem_cache *s, void **objs, int nr)
{
	isolate(s, objs, nr);
	for (int i = 0; i < nr; i++)
		objs[i] = NULL;
	return NULL;
}

static void migrate_nothing(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	(void)s, (void)node, (void)private;
	for (int i = 0; i < nr; i++)
		CHILD_CHECK(!objs[i]);
}

/* What the program refuses is as it was. */
IN_CHILD(test_refused_by_isolate)
{
	const struct mobility_functions functions = { .isolate = take_all_out,
						      .migrate = migrate_nothing };

	ready();
	fill_charged(&slub_ops);
	CHILD_CHECK(mobility_set(store.c, &functions) == 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(!counters().defrag_moved);
	check_chargeable();
}

static unsigned int forks;

static void *fork_here(void *arg)
{
	pid_t child = fork();
	int status;

	if (!child) {
		check_chargeable();
		_exit(0);
	}
	CHILD_CHECK(waitpid(child, &status, 0) == child && !status);
	return arg;
}

/* Another thread forks, while objects of no group are held. */
static void migrate_beside_fork(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	pthread_t thread;

	if (!group_current && !forks++) {
		CHILD_CHECK(!pthread_create(&thread, NULL, fork_here, NULL));
		pthread_join(thread, NULL);
	}
	migrate(s, objs, nr, node, private);
}

IN_CHILD(test_forked_while_held)
{
	const struct mobility_functions functions = { .isolate = isolate,
						      .migrate = migrate_beside_fork };

	ready();
	fill_charged(&slub_ops);
	CHILD_CHECK(mobility_set(store.c, &functions) == 0);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0 && forks);
	check_chargeable();
}

static pid_t forked = -1; /* by migrate_forks(): there is one child */

static void migrate_forks(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	if (forked < 0 && group_current) /* it visits a group */
		forked = fork();
	migrate(s, objs, nr, node, private);
}

static size_t threads_in(struct uslab_group *g)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(g, &stat) == 0);
	return stat.threads;
}

/* The child's one thread is counted where it is and where it returns to, whoever forked it when. */
IN_CHILD(test_charged_forked)
{
	const struct mobility_functions functions = { .isolate = isolate,
						      .migrate = migrate_forks };
	struct uslab_group *own;
	int error, status;

	ready();
	fill_charged(&slub_ops);
	CHILD_CHECK(mobility_set(store.c, &functions) == 0);
	own = group_create("own", 0, NULL, &error);
	group_enter(own);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0 && forked >= 0);
	CHILD_CHECK(threads_in(own) == 1);
	CHILD_CHECK(threads_in(group[0]) == 0 && threads_in(group[1]) == 0);
	group_enter(NULL);
	CHILD_CHECK(threads_in(own) == 0);
	group_destroy(own);
	CHILD_CHECK(groups_table->dying == 0);
	group_check();
	if (!forked)
		_exit(0);
	CHILD_CHECK(waitpid(forked, &status, 0) == forked && !status);
}

/* Its group is gone: what is left of it is its parent's, also in the new place. */
IN_CHILD(test_charged_to_the_dead)
{
	struct uslab_group *child[2];
	size_t before;
	int error;

	ready();
	fill_charged(&slub_ops);
	empty_store();
	for (unsigned int i = 0; i < ARRAY_SIZE(child); i++)
		CHILD_CHECK((child[i] = group_create("child", 0, group[i], &error)));
	for (unsigned int i = 0; i < store.nr; i++) {
		group_enter(child[i % 2]);
		put(i);
	}
	group_enter(NULL);
	for (unsigned int i = 0; i < store.nr; i++)
		if (i % 10 > 1)
			drop(i);
	cache_shrink(store.c);
	for (unsigned int i = 0; i < ARRAY_SIZE(child); i++)
		group_destroy(child[i]);
	before = usage(0);
	CHILD_CHECK(before);
	CHILD_CHECK(cache_defrag(store.c, NUMA_NO_NODE, 0) == 0 && counters().defrag_moved);
	CHILD_CHECK(usage(0) == before);
	empty_store();
	CHILD_CHECK(usage(0) == 0 && usage(1) == 0);
	group_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_lie),
		cmocka_unit_test(test_profiled),
		cmocka_unit_test(test_charged),
		cmocka_unit_test(test_charged_migrates),
		cmocka_unit_test(test_refused_by_isolate),
		cmocka_unit_test(test_forked_while_held),
		cmocka_unit_test(test_charged_forked),
		cmocka_unit_test(test_charged_to_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
