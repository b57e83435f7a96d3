/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/cache_test.c - which caches may belong to a group, and until when; their objects
 * that move; what is charged for every engine and front: conformance/groups_test.c
 */
#include "cache/group/group.h"
#include "cache/internal.h"
#include "cache/mobility/mobility.h"
#include "engine/charged.h"
#include "engine/limit.h"
#include "groups.h"
#include "unit/cache/cache_fixture.h"
#include "unit/cache/group/lowered.h"

IN_CHILD(test_refused)
{
	struct cache *used, *merged, *charged, *shared, *c;
	struct uslab_group *g, *gone;
	void *obj;

	ready();
	g = make_group("g", 0, NULL);
	gone = make_group("gone", 0, NULL);
	group_destroy(gone);
	used = make("used", 64, 0, SLAB_NO_MERGE);
	obj = get(used);
	CHILD_CHECK(group_adopt(used, g) == -EBUSY && !engine_group(&used->engine));
	obj_free(used, obj);
	merged = make("merged", 128, 0, 0);
	if (make("merged as well", 128, 0, 0) == merged)
		CHILD_CHECK(group_adopt(merged, g) == -EBUSY);
	charged = make("charged", 64, 0, SLAB_ACCOUNT | SLAB_NO_MERGE);
	CHILD_CHECK(group_adopt(charged, g) == -EOPNOTSUPP);
	shared = made(&(struct cache_spec){ .name = "heap", .size = 64, .engine = &slob_ops });
	CHILD_CHECK(group_adopt(shared, g) == -EOPNOTSUPP);
	c = make("c", 96, 0, 0);
	CHILD_CHECK(group_adopt(c, gone) == -ENOENT && group_adopt(c, NULL) == -ENOENT);
	CHILD_CHECK(!group_of_handle(g)->caches);
	CHILD_CHECK(group_adopt(c, g) == 0 && group_of_handle(g)->caches == 1);
	CHILD_CHECK(group_adopt(c, g) == -EBUSY);
	CHILD_CHECK(make("c too", 96, 0, 0) != c); /* nothing merges with it */
	cache_check_all();
}

/* The number stays the group's; what the cache gets is charged to who was above it. */
IN_CHILD(test_destroyed)
{
	struct uslab_group *g, *next;
	struct kmem_cache *handle;
	struct cache *c;
	void *obj;

	ready();
	g = make_group("g", 0, NULL);
	c = make("c", 96, 0, SLAB_NO_MERGE);
	handle = c->handle;
	CHILD_CHECK(group_adopt(c, g) == 0);
	CHILD_CHECK(group_set_limit(g, 1) == 0); /* not any more, when it is gone */
	group_destroy(g);
	CHILD_CHECK(groups_table->dying == 1 && group_of_handle(g)->caches == 1);
	obj = get(c);
	CHILD_CHECK(obj && group_of_handle(g)->usage);
	next = make_group("next", 0, NULL);
	CHILD_CHECK(group_of_handle(next) != group_of_handle(g));
	obj_free(c, obj);
	cache_destroy(handle, NULL);
	CHILD_CHECK(!groups_table->dying && !group_of_handle(g)->usage);
	CHILD_CHECK(!engine_group(&c->engine));
	group_check();
}

/* It is not destroyed while it has objects, and is counted again. */
IN_CHILD(test_left)
{
	struct uslab_group *g;
	struct cache *c;
	void *obj;

	ready();
	g = make_group("g", 0, NULL);
	c = make("c", 96, 0, SLAB_NO_MERGE);
	CHILD_CHECK(group_adopt(c, g) == 0);
	obj = get(c);
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(usage(g) == c->engine.size);
	obj_free(c, obj);
	CHILD_CHECK(usage(g) == 0);
	cache_destroy(c->handle, NULL);
	CHILD_CHECK(!group_of_handle(g)->caches && !group_of_handle(g)->usage);
}

/* While the group changes no object is handed out; with slabs, or takers, it does not change. */
IN_CHILD(test_changes)
{
	struct engine_charge charge;
	struct engine_group *eg;
	struct uslab_group *g;
	struct cache *c;
	void *obj;

	ready();
	g = make_group("g", 0, NULL);
	c = make_front("c", 96, "none");
	eg = &engine_groups[c->engine.id];
	CHILD_CHECK(group_adopt(c, g) == 0 && eg->size == c->engine.size);
	eg->group = ENGINE_GROUP_CHANGES;
	CHILD_CHECK(!cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE) && !eg->users);
	eg->group = (uintptr_t)g & 0xffff;
	charge = engine_charge_begin(&c->engine, 5, false);
	CHILD_CHECK(charge.nr == 5 && eg->users == 1 && !engine_set_group(&c->engine, 0));
	CHILD_CHECK(group_of_handle(g)->usage == 5 * 96ul);
	CHILD_CHECK(engine_charge_end(&c->engine, &charge, 0) == 0 && !eg->users);
	CHILD_CHECK(usage(g) == 0);
	obj = get(c);
	CHILD_CHECK(obj && usage(g) == c->engine.size);
	CHILD_CHECK(!engine_set_group(&c->engine, 0) && eg->group == ((uintptr_t)g & 0xffff));
	lock_acquire(&cache_lock);
	CHILD_CHECK(!group_release_cache_locked(c));
	cache_unlock();
	obj_free(c, obj);
	cache_shrink(c);
	CHILD_CHECK(usage(g) == 0);
	lock_acquire(&cache_lock);
	CHILD_CHECK(group_release_cache_locked(c) && group_release_cache_locked(c));
	cache_unlock();
	CHILD_CHECK(!group_of_handle(g)->caches);
	obj_free(c, get(c));
	CHILD_CHECK(usage(g) == 0);
}

/* What slabs have free is charged to nobody: the limit is that of objects. */
IN_CHILD(test_scattered)
{
	enum { NR = 16384 };
	static void *p[NR], *q[NR];
	struct uslab_group *g;
	struct cache *c, *other;
	unsigned int n;

	ready();
	g = make_group("g", 1 << 20, NULL);
	c = make("c", 64, 0, SLAB_NO_MERGE);
	other = make("other", 512, 0, SLAB_NO_MERGE);
	CHILD_CHECK(group_adopt(c, g) == 0 && group_adopt(other, g) == 0);
	for (n = 0; n < NR && (p[n] = cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE)); n++)
		;
	CHILD_CHECK(n == (1 << 20) / c->engine.size);
	for (unsigned int i = 0; i < n; i++)
		if (i % 10)
			obj_free(c, p[i]);
	CHILD_CHECK(usage(g) == (n + 9) / 10 * (size_t)c->engine.size);
	for (n = 0; n < NR && (q[n] = cache_alloc(other, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE));
	     n++)
		;
	CHILD_CHECK(usage(g) <= 1 << 20 && usage(g) > (1 << 20) - 512);
}

static unsigned int fill(struct cache *c, unsigned int most, void **p)
{
	unsigned int n = 0;

	while (n < most && (p[n] = cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE)))
		n++;
	return n;
}

/* What was freed is found at once, also by who has just met the limit. */
IN_CHILD(test_freed_since)
{
	struct uslab_group *g;
	struct cache *c, *other;
	void *p[64], *q[64];

	ready();
	g = make_group("g", 16384, NULL);
	c = make_front("c", 1024, "none");
	other = make_front("other", 512, "none");
	CHILD_CHECK(group_adopt(c, g) == 0 && group_adopt(other, g) == 0);
	for (unsigned int round = 0; round < 5; round++) {
		unsigned int n = fill(c, 64, p);

		CHILD_CHECK(n && n < 64 && fill(other, 64, q) == 0);
		cache_free_bulk(c, n, p);
		n = fill(other, 64, q);
		CHILD_CHECK(n);
		cache_free_bulk(other, n, q);
	}
}

/* Others' CPUs lose what they hold only if that is enough for who is at the limit of all. */
IN_CHILD(test_in_vain)
{
	struct uslab_group *top, *a, *b;
	struct cache *of_a, *small, *of_b;
	void *p[64], *q[8];

	ready();
	top = make_group("top", 65536, NULL);
	a = make_group("a", 0, top);
	b = make_group("b", 0, top);
	of_a = make("of a", 2048, 0, SLAB_NO_MERGE);
	small = make("small", 64, 0, SLAB_NO_MERGE);
	of_b = make_front("of b", 64, "array");
	CHILD_CHECK(group_adopt(of_a, a) == 0 && group_adopt(small, a) == 0);
	CHILD_CHECK(group_adopt(of_b, b) == 0);
	CHILD_CHECK(fill(of_b, 8, q) == 8 && fill(of_a, 64, p) < 64);
	for (unsigned int i = 0; i < 10; i++) {
		obj_free(of_b, get(of_b));
		CHILD_CHECK(!cache_alloc(of_a, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE));
	}
	CHILD_CHECK(of_b->front.ops->held(&of_b->front));
	CHILD_CHECK(fill(small, 64, p) && usage(top) <= 65536);
	CHILD_CHECK(!of_b->front.ops->held(&of_b->front) && usage(top) > 65536 - 64);
}

/* Starts with a cache of a new group, of which p has 64 objects of 1 KiB. */
static struct cache *used_cache(struct uslab_group **g, void **p)
{
	struct cache *c;

	ready();
	*g = make_group("g", 0, NULL);
	c = make_front("c", 1024, "array");
	CHILD_CHECK(group_adopt(c, *g) == 0 && fill(c, 64, p) == 64);
	return c;
}

/* What CPUs hold charged already is bound by a limit that is lowered below the usage. */
IN_CHILD(test_lowered)
{
	struct uslab_group *g;
	void *p[64];
	struct cache *c = used_cache(&g, p);

	obj_free(c, p[63]);
	CHILD_CHECK(c->front.ops->held(&c->front));
	CHILD_CHECK(group_set_limit(g, 1024) == 0 && !c->front.ops->held(&c->front));
	CHILD_CHECK(!cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE));
}

/* The limit of a group above binds as well. */
IN_CHILD(test_lowered_while_used)
{
	struct uslab_group *g, *above;
	struct cache *c;

	ready();
	above = make_group("above", 0, NULL);
	g = make_group("g", 0, above);
	c = make_front("c", 1024, "array");
	CHILD_CHECK(group_adopt(c, g) == 0);
	churn_at_lower_limit(c, above);
	CHILD_CHECK(!(c->watch & WATCH_OVER) && c->front.ops->held(&c->front) && !usage(above));
	group_check();
}

/* A limit that is raised again, or the group's end, opens them too. */
IN_CHILD(test_lowered_and_raised)
{
	struct uslab_group *g;
	void *p[64];
	struct cache *c = used_cache(&g, p);

	CHILD_CHECK(group_set_limit(g, 1024) == 0 && c->watch & WATCH_OVER);
	CHILD_CHECK(group_set_limit(g, 1 << 20) == 0 && get(c) && !(c->watch & WATCH_OVER));
	CHILD_CHECK(group_set_limit(g, 1024) == 0 && c->watch & WATCH_OVER);
	group_destroy(g);
	CHILD_CHECK(get(c) && !(c->watch & WATCH_OVER));
}

/* A process that was forked in between has the limit, and nobody who would see to it. */
IN_CHILD(test_lowered_by_parent)
{
	struct uslab_group *g;
	void *p[64];
	struct cache *c = used_cache(&g, p);

	store_relaxed(&group_of_handle(g)->limit, 1024);
	CHILD_CHECK(group_set_limit(g, 1024) == 0 && c->watch & WATCH_OVER);
}

/* A hook for reports may be inside of anything. */
IN_CHILD(test_set_inside)
{
	struct uslab_group *g;

	ready();
	g = make_group("g", 4096, NULL);
	lock_thread.flags |= LOCK_NOTIFYING;
	CHILD_CHECK(group_set_limit(g, 1024) == -EBUSY);
	lock_thread.flags &= ~LOCK_NOTIFYING;
	CHILD_CHECK(group_of_handle(g)->limit == 4096);
	CHILD_CHECK(group_set_limit(g, 1024) == 0 && group_of_handle(g)->limit == 1024);
}

/* Beyond the limit. */
IN_CHILD(test_must_not_fail)
{
	struct uslab_group *g;
	struct cache *c;
	void *p[64];

	ready();
	g = make_group("g", 8192, NULL);
	c = make("c", 1024, 0, SLAB_NO_MERGE);
	CHILD_CHECK(group_adopt(c, g) == 0 && fill(c, 64, p) < 64);
	for (unsigned int i = 0; i < 20; i++)
		CHILD_CHECK(cache_alloc(c, GFP_KERNEL | __GFP_NOFAIL, NUMA_NO_NODE));
	CHILD_CHECK(usage(g) == 8192 + 20 * 1024);
	CHILD_CHECK(!cache_alloc(c, GFP_NOWAIT | __GFP_NOWARN, NUMA_NO_NODE));
	group_check();
}

/* What migrate allocates is for the group of the cache, at its limit as well. */
enum { NR_MOVED = 200 };
static struct uslab_group *moving;
static void *moved[NR_MOVED];
static unsigned int moves;

static void nothing(void *obj)
{
	(void)obj;
}

static void migrate(struct kmem_cache *s, void **objs, int nr, int node, void *private)
{
	(void)node, (void)private;
	CHILD_CHECK(group_current == ((uintptr_t)moving & 0xffff));
	for (int i = 0; i < nr; i++)
		for (int j = 0; j < NR_MOVED; j++)
			if (moved[j] == objs[i]) {
				CHILD_CHECK((moved[j] = get(cache_of(s))));
				obj_free(cache_of(s), objs[i]);
				moves++;
				break;
			}
}

IN_CHILD(test_moved)
{
	struct cache *c;

	ready();
	moving = make_group("g", 0, NULL);
	c = made(&(struct cache_spec){
		.name = "c", .size = 512, .ctor = nothing, .no_merge = true });
	CHILD_CHECK(group_adopt(c, moving) == 0);
	CHILD_CHECK(!mobility_set(c, &(struct mobility_functions){ .migrate = migrate }));
	for (int i = 0; i < NR_MOVED; i++)
		CHILD_CHECK((moved[i] = get(c)));
	for (int i = 0; i < NR_MOVED; i++)
		if (i % 8)
			obj_free(c, moved[i]);
	cache_shrink(c);
	CHILD_CHECK(group_set_limit(moving, group_of_handle(moving)->usage) == 0);
	CHILD_CHECK(cache_defrag(c, NUMA_NO_NODE, 0) == 0);
	CHILD_CHECK(moves && !group_current && group_of_handle(moving)->threads == 0);
	CHILD_CHECK(usage(moving) == NR_MOVED / 8 * (size_t)c->engine.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_freed_since),
		cmocka_unit_test(test_in_vain),
		cmocka_unit_test(test_lowered),
		cmocka_unit_test(test_lowered_while_used),
		cmocka_unit_test(test_lowered_and_raised),
		cmocka_unit_test(test_lowered_by_parent),
		cmocka_unit_test(test_set_inside),
		cmocka_unit_test(test_must_not_fail),
		cmocka_unit_test(test_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
