/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/kmalloc/nolock_test.c - which way an object goes where nothing may wait, in every mode
 */
#include "cache/object.h"
#include "debug/report/report.h"
#include "front/percpu.h"
#include "page/reserve.h"
#include "unit/cache/cache_fixture.h"

#define MANY 100

static void ready_with(const char *name, const char *value)
{
	if (name)
		setenv(name, value, 1);
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	buddy_provide(os_current_node(), 0);
}

static void *try(size_t size)
{
	return kmalloc_try_alloc(size, __GFP_ZERO, NUMA_NO_NODE, NULL);
}

static void try_free(void *p)
{
	kmalloc_try_free(p, NULL);
}

static void use(void)
{
	void *p[MANY];

	for (unsigned int i = 0; i < MANY; i++) {
		size_t size = 1 + i * 83 % KMALLOC_MAX_CACHE_SIZE;

		p[i] = try(size);
		CHILD_CHECK(p[i] && kmalloc_size(p[i]) >= size && (uintptr_t)p[i] % 8 == 0);
		for (size_t j = 0; j < size; j++)
			CHILD_CHECK(((unsigned char *)p[i])[j] == 0);
		memset(p[i], 0xa5, size);
	}
	for (unsigned int i = 0; i < MANY; i++)
		if (i % 3)
			try_free(p[i]);
		else
			kmalloc_free(p[i], NULL);
	nested_settle();
	CHILD_CHECK(!nested_waiting() && !nested_lost() && !reserve_count());
	cache_check_all();
	CHILD_CHECK(report_counters.reports == 0);
}

IN_CHILD(plain)
{
	ready_with(NULL, NULL);
	use();
}

IN_CHILD(with_debug_flags)
{
	ready_with("USLAB_DEBUG", "FZPU");
	use();
}

IN_CHILD(hardened)
{
	ready_with("USLAB_CONF", "hardened=1");
	use();
}

IN_CHILD(realtime)
{
	ready_with("USLAB_CONF", "realtime=8M");
	use();
}

/* Switched on and off while objects are out. */
IN_CHILD(switched)
{
	void *p[MANY];

	ready_with(NULL, NULL);
	for (unsigned int i = 0; i < MANY; i++) {
		if (i % 25 == 0)
			CHILD_CHECK(cache_set_debug(kmalloc_cache(64), i % 2 ? SLAB_POISON : 0) ==
				    0);
		p[i] = try(64);
		CHILD_CHECK(p[i]);
	}
	for (unsigned int i = 0; i < MANY; i++)
		try_free(p[i]);
	nested_settle();
	CHILD_CHECK(in_use(kmalloc_cache(64)) == 0 && !nested_lost());
	use();
}

/* Of a size that has nothing, the next larger one gives: once. */
IN_CHILD(next_size)
{
	struct cache *c;
	void *p;

	ready_with("USLAB_CONF", "front=none");
	c = kmalloc_cache(64);
	c->engine.ops->each_lock(&c->engine, lock_fork_prepare);
	p = try(64);
	CHILD_CHECK(p && cache_of_object(p) == kmalloc_cache(96));
	try_free(p);
	kmalloc_cache(96)->engine.ops->each_lock(&kmalloc_cache(96)->engine, lock_fork_prepare);
	CHILD_CHECK(!try(64));
	kmalloc_cache(96)->engine.ops->each_lock(&kmalloc_cache(96)->engine, lock_fork_parent);
	c->engine.ops->each_lock(&c->engine, lock_fork_parent);
	p = try(64);
	CHILD_CHECK(p && cache_of_object(p) == c);
	try_free(p);
	/* there is no larger one than the largest */
	c = kmalloc_cache(KMALLOC_MAX_CACHE_SIZE);
	c->engine.ops->each_lock(&c->engine, lock_fork_prepare);
	CHILD_CHECK(!try(KMALLOC_MAX_CACHE_SIZE));
	c->engine.ops->each_lock(&c->engine, lock_fork_parent);
}

/* A free that is deferred is tried by the next call, and done by the next ordinary one. */
IN_CHILD(deferred)
{
	struct cache *c;
	void *p[3];

	ready_with("USLAB_CONF", "front=none,engine=slab");
	c = kmalloc_cache(64);
	for (unsigned int i = 0; i < 3; i++)
		p[i] = try(64);
	c->engine.ops->each_lock(&c->engine, lock_fork_prepare);
	for (unsigned int i = 0; i < 3; i++)
		try_free(p[i]);
	CHILD_CHECK(nested_waiting() == 3 && reserve_count() == 3);
	try_free(try(4000)); /* in vain */
	CHILD_CHECK(nested_waiting() == 3);
	c->engine.ops->each_lock(&c->engine, lock_fork_parent);
	CHILD_CHECK(in_use(c) == 3);
	try_free(try(4000));
	CHILD_CHECK(nested_waiting() == 0 && in_use(c) == 0);
	p[0] = try(64);
	c->engine.ops->each_lock(&c->engine, lock_fork_prepare);
	try_free(p[0]);
	c->engine.ops->each_lock(&c->engine, lock_fork_parent);
	CHILD_CHECK(nested_waiting() == 1);
	kmalloc_free(kmalloc_alloc(4000, GFP_KERNEL, -1), NULL);
	CHILD_CHECK(nested_waiting() == 0 && in_use(c) == 0);
}

/* Also of a thread that is gone: by whoever shrinks. */
IN_CHILD(settled_by_shrinking)
{
	struct cache *c;
	void *p;

	ready_with("USLAB_CONF", "front=none");
	c = kmalloc_cache(64);
	p = try(64);
	c->engine.ops->each_lock(&c->engine, lock_fork_prepare);
	try_free(p);
	c->engine.ops->each_lock(&c->engine, lock_fork_parent);
	lock_thread.flags = 0; /* as another thread's */
	CHILD_CHECK(nested_waiting() == 1 && in_use(c) == 1);
	cache_shrink_all();
	CHILD_CHECK(nested_waiting() == 0 && in_use(c) == 0);
}

/* A thread that has ended the program changes nothing that locks guard any more. */
IN_CHILD(dying)
{
	void *p;

	ready_with("USLAB_CONF", "front=none");
	p = try(64);
	CHILD_CHECK(p);
	lock_abandon();
	CHILD_CHECK(!try(64));
	try_free(p);
	CHILD_CHECK(nested_waiting() == 1);
}

/* Reported by the next ordinary call, and refused. */
IN_CHILD(mistakes)
{
	char *p;
	char *q;

	ready_with("USLAB_CONF", "report=continue");
	p = try(64);
	q = try(64);
	CHILD_CHECK(p && q);
	try_free(p);
	try_free(p);	 /* again */
	try_free(q + 8); /* no start */
	try_free(&p);	 /* none of ours */
	CHILD_CHECK(nested_waiting() == 3 && report_counters.reports == 0);
	nested_settle();
	CHILD_CHECK(nested_waiting() == 0 && report_counters.reports == 3);
	try_free(q);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),    cmocka_unit_test(with_debug_flags),
		cmocka_unit_test(hardened), cmocka_unit_test(realtime),
		cmocka_unit_test(switched), cmocka_unit_test(next_size),
		cmocka_unit_test(deferred), cmocka_unit_test(dying),
		cmocka_unit_test(mistakes), cmocka_unit_test(settled_by_shrinking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
