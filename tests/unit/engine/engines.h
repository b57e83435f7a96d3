/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/engines.h - what the tests of all engines share
 *
 * Most tests of an engine share one arena in the process; those that need a machine of their own or
 * end badly run in a child, with CHILD_CHECK for assertions.
 */
#ifndef UNIT_ENGINE_ENGINES_H
#define UNIT_ENGINE_ENGINES_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bits.h"
#include "child.h"
#include "engine/engine.h"
#include "machine.h"
#include "os/lock/lock.h"
#include "pages_out.h"

static inline struct engine_params plain_params(unsigned int size)
{
	return (struct engine_params){ .name = "test", .object_size = size, .align = 8, .id = 77 };
}

/* The slab that holds an object. */
static inline struct page *slab_of(const void *obj)
{
	struct page *slab = page_head_of(obj);

	if (!slab || slab->type != PAGE_SLAB)
		abort();
	return slab;
}

/* NULL: no memory. */
static inline void *take_one(struct engine *e)
{
	void *obj;

	return e->ops->refill(e, &obj, 1, 0, -1) ? obj : NULL;
}

static inline void free_one(struct engine *e, void *obj)
{
	e->ops->flush(e, &obj, 1);
}

static inline struct engine_stats stats_of(struct engine *e)
{
	struct engine_stats stats;

	e->ops->stats(e, &stats);
	return stats;
}

/* Page number i of a list, from the head; NULL: it is shorter. */
static inline struct page *listed_at(struct list_head *list, unsigned int i)
{
	struct list_head *pos;

	list_for_each(pos, list)
		if (i-- == 0)
			return list_entry(pos, struct page, lru);
	return NULL;
}

/* All pages that there are are taken; in children, with a limit, only. */
static inline void use_up_pages(int node)
{
	for (unsigned int order = BUDDY_MAX_ORDER + 1; order-- > 0;) {
		struct page *page;

		while ((page = buddy_alloc(node, order, true, NULL)))
			page_set_block(page, PAGE_RUN, 1ul << order);
	}
}

/* ---- what every engine must do --------------------------------------------------------------- */

/* What init() only has to copy. */
static inline void assert_has_params(const struct engine *e, const struct engine_params *params)
{
	assert_string_equal(e->name, params->name);
	assert_int_equal(e->object_size, params->object_size);
	assert_int_equal(e->align, params->align);
	assert_int_equal(e->id, params->id);
	assert_int_equal(e->flags, params->flags);
	assert_int_equal(e->page_class, params->page_class);
}

/* Spec 14 vector 17: objects are aligned, apart, and can be written to their last byte. */
static inline void assert_apart(unsigned char *const *objs, unsigned int nr,
				const struct engine_params *params)
{
	for (unsigned int i = 0; i < nr; i++) {
		assert_int_equal((uintptr_t)objs[i] % params->align, 0);
		memset(objs[i], (int)i, params->object_size);
	}
	for (unsigned int i = 0; i < nr; i++) {
		assert_int_equal(objs[i][0], i);
		assert_int_equal(objs[i][params->object_size - 1], i);
	}
}

static inline void engine_each_lock(struct engine *e, void (*act)(struct lock *l))
{
	if (e->ops->heap)
		e->ops->heap->each_lock(e->ops->heap, act);
	if (e->ops->each_lock)
		e->ops->each_lock(e, act);
}

/*
 * Both sides of a fork go on with the engine, although @lock was held at that moment: they free the
 * nr objects that are out, all there are.
 */
static inline void assert_survives_fork(struct engine *e, struct lock *lock, void **objs,
					unsigned int nr)
{
	int status = 1;
	pid_t pid;

	engine_each_lock(e, lock_fork_prepare);
	assert_false(lock_try(lock));
	pid = fork();
	if (pid == 0) {
		alarm(120);
		engine_each_lock(e, lock_fork_child);
		e->ops->flush(e, objs, nr);
		e->ops->check(e);
		if (e->ops->heap)
			e->ops->heap->check(e->ops->heap);
		_exit(e->ops->destroy(e) ? 1 : 0);
	}
	engine_each_lock(e, lock_fork_parent);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	e->ops->flush(e, objs, nr);
}

/* ---- checks find what is wrong --------------------------------------------------------------- */

struct patient; /* an engine in a state that the test knows, and what it has made */
typedef void harm_fn(struct patient *p);

/*
 * In children: check(NULL) passes, and with each of the harms, one way each to be wrong, it ends in
 * a check of the engine.
 */
static inline void assert_harms_are_found(void (*check)(void *harm), harm_fn *const *harms,
					  size_t nr)
{
	struct child c = child_run(check, NULL);

	assert_true(child_passed(&c));
	for (size_t i = 0; i < nr; i++) {
		c = child_run(check, (void *)harms[i]);
		if (!child_aborted(&c) || !strstr(c.text, "check.c"))
			fail_msg("harm %zu is not found", i);
	}
}

/* What a walk met, in this order. */
struct visit {
	unsigned int count;
	void *slab[80];
	void *obj[80];
};

static inline void visit(void *slab, void *obj, void *arg)
{
	struct visit *v = arg;

	assert_in_range(v->count, 0, ARRAY_SIZE(v->obj) - 1);
	v->slab[v->count] = slab;
	v->obj[v->count++] = obj;
}

#endif /* UNIT_ENGINE_ENGINES_H */
