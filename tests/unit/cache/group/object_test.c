/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/object_test.c - which caches are watched, blocks that are resized, no memory for
 * words; what is charged for every engine and front: conformance/groups_test.c
 */
#include "cache/extension.h"
#include "cache/group/group.h"
#include "cache/internal.h"
#include "debug/pages/pages.h"
#include "debug/report/report.h"
#include "front/array_charged.h"
#include "unit/cache/cache_fixture.h"

#include <sys/syscall.h>

static struct uslab_group *handle;

static size_t usage(void)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(handle, &stat) == 0);
	return stat.usage;
}

static void enter_one(void)
{
	int error;

	handle = group_create("g", 0, NULL, &error);
	CHILD_CHECK(handle && !group_enter(handle));
}

/* With the first group: those with the flag, which have no inline hits from then on. */
IN_CHILD(test_watched)
{
	struct cache *plain, *before, *after, *none;

	ready();
	plain = make("plain", 64, 0, SLAB_NO_MERGE);
	before = make("before", 64, 0, SLAB_ACCOUNT | SLAB_NO_MERGE);
	CHILD_CHECK(!before->watch);
	enter_one();
	after = make("after", 64, 0, SLAB_ACCOUNT | SLAB_NO_MERGE);
	none = make("none", 64, 0, SLAB_ACCOUNT | SLAB_NO_OBJ_EXT | SLAB_NO_MERGE);
	CHILD_CHECK(!plain->watch && !none->watch);
	CHILD_CHECK(before->watch == WATCH_GROUPS && !(before->front.closed & FRONT_CLOSED));
	CHILD_CHECK(!percpu_is_inline(before->front.id));
	CHILD_CHECK(percpu_is_inline(plain->front.id) == percpu_rseq);
	CHILD_CHECK(after->watch == WATCH_GROUPS && !(after->front.closed & FRONT_CLOSED));
	obj_free(none, get(none));
	CHILD_CHECK(usage() == 0);
	group_watch(plain);
	group_watch(plain);
	CHILD_CHECK(plain->watch == WATCH_GROUPS && !percpu_is_inline(plain->front.id));
	group_watch(none);
	CHILD_CHECK(!none->watch);
	cache_check_all();
}

/* One that was there before is as those that come later, and shared by them. */
IN_CHILD(test_shared)
{
	struct cache *before;

	ready();
	before = make("before", 64, 0, SLAB_ACCOUNT);
	enter_one();
	CHILD_CHECK(make("after", 64, 0, SLAB_ACCOUNT) == before);
	cache_check_all();
}

/* No CPU can be fenced any more: the words stay where they are, and such a cache is not shared. */
IN_CHILD(test_alone)
{
	struct cache *before, *after;
	void *p;

	ready();
	before = make("before", 64, 0, SLAB_ACCOUNT);
	child_deny(SYS_membarrier, EPERM);
	child_deny(SYS_sched_setaffinity, EPERM);
	enter_one();
	after = make("after", 64, 0, SLAB_ACCOUNT);
	if (!percpu_rseq) {
		CHILD_CHECK(before == after);
		return;
	}
	CHILD_CHECK(before->watch & WATCH_WORDS && percpu_is_inline(before->front.id));
	CHILD_CHECK(before != after && after->watch == WATCH_GROUPS);
	CHILD_CHECK(make("later", 64, 0, SLAB_ACCOUNT) == after);
	p = get(before);
	CHILD_CHECK(usage() == before->engine.size);
	obj_free(before, p);
	CHILD_CHECK(usage() == 0);
	cache_check_all();
}

/* Objects have their words, or keys, whatever the cache was when they were allocated. */
static void check_debugged(slab_flags_t flags)
{
	struct cache *c;
	void *p[3];

	ready();
	enter_one();
	c = make("debugged", 100, 0, flags | SLAB_NO_MERGE);
	p[0] = get(c);
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER) == 0);
	p[1] = get(c);
	CHILD_CHECK(usage() == 2ul * c->engine.size);
	obj_free(c, p[0]);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	p[2] = get(c);
	CHILD_CHECK(usage() == 2ul * c->engine.size);
	obj_free(c, p[1]);
	obj_free(c, p[2]);
	CHILD_CHECK(usage() == 0);
	cache_check_all();
}

IN_CHILD(test_debugged)
{
	check_debugged(SLAB_ACCOUNT);
}

IN_CHILD(test_debugged_keys)
{
	check_debugged(USLAB_ACCOUNT_INLINE);
}

/*
 * Inline hits look for a key behind each object. A cache that has had objects without one has no
 * hits any more, and its live debug objects can be freed by the inline function.
 */
IN_CHILD(test_no_keys_after_debug)
{
	static void *p[100];
	struct cache *c;
	void *debugged;

	ready();
	enter_one();
	c = make("keyed", 100, 0, USLAB_ACCOUNT_INLINE);
	for (int i = -2; group_has_keys(c) && i < (int)os_topology.nr_windows; i++)
		CHILD_CHECK(front_is_stopped(*percpu_charged(c->front.id, i)));
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		CHILD_CHECK((p[i] = kmem_cache_alloc_account(c->handle, GFP_KERNEL)));
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		kmem_cache_free_account(c->handle, p[i]);
	CHILD_CHECK(!group_has_keys(c) || array_charged_held(&c->front));
	CHILD_CHECK(cache_set_debug(c, SLAB_RED_ZONE | SLAB_POISON) == 0);
	CHILD_CHECK(!array_charged_held(&c->front) && usage() == 0);
	CHILD_CHECK((debugged = kmem_cache_alloc_account(c->handle, GFP_KERNEL)));
	CHILD_CHECK(page_slab_of(debugged)->layout->kind == LAYOUT_DEBUG);
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		CHILD_CHECK((p[i] = kmem_cache_alloc_account(c->handle, GFP_KERNEL)));
	kmem_cache_free_account(c->handle, debugged);
	CHILD_CHECK(usage() == ARRAY_SIZE(p) * (size_t)c->engine.size);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		kmem_cache_free_account(c->handle, p[i]);
	CHILD_CHECK(!group_has_keys(c) || !array_charged_held(&c->front));
	CHILD_CHECK(usage() == 0);
	cache_check_all();
}

/* Where there cannot be keys, the cache is one with SLAB_ACCOUNT, and the functions do the same. */
IN_CHILD(test_without_keys)
{
	static const struct cache_spec specs[] = {
		{ .name = "slab", .engine = &slab_ops },
		{ .name = "none", .front = &front_none_ops },
		{ .name = "noext", .flags = SLAB_NO_OBJ_EXT },
		{ .name = "large", .size = 4089 },
	};
	void *p[50];

	ready();
	enter_one();
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct cache_spec spec = specs[i];
		struct cache *c;

		spec.size = spec.size ? spec.size : 64;
		spec.flags |= USLAB_ACCOUNT_INLINE;
		c = made(&spec);
		CHILD_CHECK(!group_has_keys(c) && c->flags & SLAB_ACCOUNT);
		for (unsigned int j = 0; j < ARRAY_SIZE(p); j++)
			CHILD_CHECK((p[j] = kmem_cache_alloc_account(c->handle, GFP_KERNEL)));
		CHILD_CHECK(usage() == (spec.flags & SLAB_NO_OBJ_EXT
						? 0
						: ARRAY_SIZE(p) * (size_t)c->engine.size));
		for (unsigned int j = 0; j < ARRAY_SIZE(p); j++)
			kmem_cache_free_account(c->handle, p[j]);
		CHILD_CHECK(usage() == 0);
	}
	cache_check_all();
}

/* Of a cache that nothing was charged of so far, by a call that asks for it. */
IN_CHILD(test_lent)
{
	struct slab_sheaf *sheaf;
	struct cache *c;
	void *p;

	ready();
	enter_one();
	c = make("lent", 64, 0, SLAB_NO_MERGE);
	CHILD_CHECK((sheaf = lent_prefill(c, GFP_KERNEL_ACCOUNT, 2, NULL)) && !usage());
	CHILD_CHECK((p = lent_alloc(c, GFP_KERNEL_ACCOUNT, sheaf, NULL)) && usage() >= 64);
	obj_free(c, p);
	CHILD_CHECK((p = lent_alloc(c, GFP_KERNEL, sheaf, NULL)) && usage() == 0);
	obj_free(c, p);
	lent_return(c, sheaf, NULL);
	CHILD_CHECK(usage() == 0);
	cache_check_all();
}

/* What is about to move gets no group, and can be freed; what has one keeps it. */
static void hold(slab_flags_t flags)
{
	struct cache *c = make("held", 64, 0, flags | SLAB_NO_MERGE);
	void *p;

	group_enter(NULL);
	p = get(c);
	group_enter(handle);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			group_drop(c, p); /* also without a key */
		CHILD_CHECK(group_hold(c, p) == GROUP_NONE);
		CHILD_CHECK(group_of(c, p) == GROUP_NONE);
		CHILD_CHECK(group_add(group_current, c, p, GROUP_CHARGE) == GROUP_ABOUT_TO_MOVE);
		CHILD_CHECK(usage() == 0);
		if (i == 2)
			obj_free(c, p); /* which ends it */
		else
			group_let_go(c, p);
	}
	p = get(c);
	CHILD_CHECK(group_hold(c, p) == group_current);
	group_let_go(c, p);
	CHILD_CHECK(group_of(c, p) == group_current && usage());
	group_drop(c, p);
	CHILD_CHECK(group_add(group_current, c, p, GROUP_CHARGE) == GROUP_ADDED);
	obj_free(c, p);
	cache_shrink(c);
	CHILD_CHECK(report_counters.reports == 0);
}

IN_CHILD(test_held)
{
	ready();
	enter_one();
	hold(SLAB_ACCOUNT);
	hold(USLAB_ACCOUNT_INLINE);
	group_enter(NULL);
	group_destroy(handle);
	group_check();
	cache_check_all();
}

/* Of pages that grow, shrink and move: what they have, each time. */
IN_CHILD(test_resized)
{
	static const size_t sizes[] = { 40000, 50000, 200000, 41000, 3 << 20, 5 << 20, 100000 };
	struct group_resize r;
	char *p, *moved;

	ready();
	enter_one();
	p = pages_alloc(sizes[0], sizes[0], 0, NUMA_NO_NODE, NULL, NULL);
	CHILD_CHECK(p && group_add(group_current, NULL, p, GROUP_CHARGE) == GROUP_ADDED);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		CHILD_CHECK(group_resize_begin(&r, p, sizes[i]));
		moved = pages_resize(p, sizes[i], NULL);
		group_resize_end(&r, moved ? moved : p);
		p = moved ? moved : p;
		CHILD_CHECK(usage() == ALIGN_UP(pages_size(p), PAGE_SIZE));
	}
	CHILD_CHECK(group_set_limit(handle, 2 << 20) == 0);
	CHILD_CHECK(!group_resize_begin(&r, p, 9 << 20));
	CHILD_CHECK(usage() == ALIGN_UP(pages_size(p), PAGE_SIZE));
	group_drop(NULL, p);
	CHILD_CHECK(usage() == 0 && pages_free(p, NULL));
	group_drop(NULL, p); /* whatever it is */
	CHILD_CHECK(usage() == 0);
}

/* A page run for 33 pages has 34, if the group has room for them. */
IN_CHILD(test_pages_beside_a_limit)
{
	const size_t size = 33 * PAGE_SIZE - 100;
	char *p;

	ready();
	enter_one();
	for (size_t pages = 32; pages <= 34; pages++) {
		bool fits = pages > 32;

		CHILD_CHECK(group_set_limit(handle, pages * PAGE_SIZE) == 0);
		p = pages_alloc(size, size, 0, NUMA_NO_NODE, NULL, NULL);
		CHILD_CHECK(p && pages_size(p) == 34 * PAGE_SIZE);
		CHILD_CHECK(group_add_pages(group_current, p, size, GROUP_CHARGE) ==
			    (fits ? GROUP_ADDED : GROUP_NOT_ADDED));
		CHILD_CHECK(usage() == (fits ? pages_size(p) : 0));
		CHILD_CHECK(!fits || usage() <= pages * PAGE_SIZE);
		group_drop(NULL, p);
		CHILD_CHECK(usage() == 0 && pages_free(p, NULL));
	}
	CHILD_CHECK(group_set_limit(handle, 0) == 0);
	p = pages_alloc(size, size, 0, NUMA_NO_NODE, NULL, NULL);
	CHILD_CHECK(group_add_pages(group_current, p, size, GROUP_CHARGE) == GROUP_ADDED);
	CHILD_CHECK(pages_size(p) == 34 * PAGE_SIZE && usage() == 34 * PAGE_SIZE);
	group_drop(NULL, p);
	CHILD_CHECK(usage() == 0 && pages_free(p, NULL));
}

/* Without memory for a word the object is not charged, and its allocation fails. */
IN_BARE_CHILD(test_no_memory)
{
	struct cache *c;
	void *first;

	ready();
	enter_one();
	c = make("c", 64, 0, SLAB_ACCOUNT | SLAB_NO_MERGE);
	group_enter(NULL);
	first = get(c); /* there is a slab, without words */
	group_enter(handle);
	no_more_memory();
	while (meta_alloc(64)) {}
	CHILD_CHECK(!get(c) && usage() == 0);
	group_enter(NULL);
	CHILD_CHECK(first && get(c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watched),	      cmocka_unit_test(test_shared),
		cmocka_unit_test(test_alone),	      cmocka_unit_test(test_debugged),
		cmocka_unit_test(test_debugged_keys), cmocka_unit_test(test_no_keys_after_debug),
		cmocka_unit_test(test_without_keys),  cmocka_unit_test(test_resized),
		cmocka_unit_test(test_lent),	      cmocka_unit_test(test_held),
		cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_pages_beside_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
