/* SPDX-License-Identifier: MIT */
/*
 * debug/wrap.c - the engine's ops, wrapped to handle debug slabs first
 *
 * Why:        docs/adr/0012.
 * Data:       struct debug.ops, a copy of the engine's own with some functions replaced.
 * Invariants: name, front, heap and the numbers in it are the engine's, and so are refill,
 *             try_alloc and try_free: a front gets plain objects only.
 * Locks:      fork: first the engine's, then all list_locks in node order.
 * Flow:       called by attach.c; calls free.c, validate.c, kfence.h and the engine.
 */
#include "debug/kfence/kfence.h"
#include "debug/slab.h"

/* Moves plain objects to the front of objs[]. Returns how many. */
static unsigned int sort_plain_first(void **objs, unsigned int n)
{
	unsigned int plain = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct page *page = page_slab_of(objs[i]);
		void *obj = objs[i];

		/* the engine refuses what lies in no slab */
		if (page && (debug_is_slab(page) || kfence_is_object(page)))
			continue;
		objs[i] = objs[plain];
		objs[plain++] = obj;
	}
	return plain;
}

static void wrap_flush(struct engine *e, void **objs, unsigned int n)
{
	unsigned int plain = sort_plain_first(objs, n);

	if (plain)
		e->debug->inner->flush(e, objs, plain);
	for (unsigned int i = plain; i < n; i++) {
		struct page *page = page_head_unchecked(objs[i]);

		if (kfence_is_object(page))
			kfence_free(objs[i], NULL);
		else
			debug_free_own(page->engine, page, objs[i], NULL);
	}
}

static int wrap_shrink(struct engine *e)
{
	int remain = debug_shrink(e);

	return e->debug->inner->shrink(e) | remain;
}

static void wrap_stats(struct engine *e, struct engine_stats *stats)
{
	e->debug->inner->stats(e, stats);
	debug_add_stats(e, stats);
}

/* Debug slabs first: while one is left the engine is not destroyed. */
static unsigned long wrap_destroy(struct engine *e)
{
	struct engine_stats stats;

	if (!debug_shrink(e))
		return e->debug->inner->destroy(e);
	wrap_stats(e, &stats);
	return stats.total_objects - stats.free_objects;
}

static void wrap_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	debug_walk(e, visit, arg);
	e->debug->inner->walk(e, visit, arg);
}

static void wrap_walk_slab(struct engine *e, struct page *slab,
			   void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	if (kfence_is_object(slab))
		kfence_walk(slab, visit, arg);
	else if (debug_is_slab(slab))
		debug_walk_slab(slab, visit, arg);
	else
		e->debug->inner->walk_slab(e, slab, visit, arg);
}

static void wrap_each_lock(struct engine *e, void (*act)(struct lock *l))
{
	if (e->debug->inner->each_lock)
		e->debug->inner->each_lock(e, act);
	for (unsigned int i = 0; i < e->debug->nr_nodes; i++)
		act(&e->debug->node[i]->list_lock);
}

static void wrap_check(struct engine *e)
{
	debug_check(e);
	e->debug->inner->check(e);
}

void debug_wrap_ops(struct debug *d)
{
	d->ops = *d->inner;
	d->ops.flush = wrap_flush;
	d->ops.shrink = wrap_shrink;
	d->ops.destroy = wrap_destroy;
	d->ops.walk = wrap_walk;
	d->ops.walk_slab = d->inner->walk_slab ? wrap_walk_slab : NULL;
	d->ops.stats = wrap_stats;
	d->ops.each_lock = wrap_each_lock;
	d->ops.check = wrap_check;
}
