/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/slob.c - the tables of both forms, and caches over the heap (spec 1.7)
 *
 * Data:       struct slob of a cache, from page/meta.c.
 * Invariants: const after init but for nr_direct and engine.heap_objects.
 * Locks:      the heap's lock, once for a batch; constructors run without it.
 * Flow:       called through slob_*.
 *
 * Differences from the kernel, beside the front that may hold objects back:
 * - a cache knows how many of its objects are out, so that destroy notices those that are left;
 * - shrink says 1 while objects of whole pages are in use;
 * - all flags are kept, to be shown by tools; the kernel drops what SLOB has no use for;
 * - the objects of a cache cannot be walked: in the heap's pages nothing says whose a block is, and
 *   whole pages are on no list.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slob/slob.h"
#include "engine/typesafe.h"
#include "page/buddy.h"
#include "page/meta.h"

/* ---- birth ---- */

/* Shape, layout and whether objects are whole pages. 0 or -E2BIG. */
static int init_sizes(struct slob *s, const struct engine_params *params)
{
	bool rcu = params->flags & SLAB_TYPESAFE_BY_RCU;
	unsigned int asked = params->object_size + (rcu ? ENGINE_FOOTER_BYTES : 0);
	unsigned int size = (unsigned int)ALIGN_UP(asked, SLOB_UNIT);
	unsigned int order = 0;

	if (params->by_address) {
		s->shape = slob_block_shape(asked, params->align);
		s->direct = !slob_block_fits(asked, s->shape.align);
	} else {
		s->shape = (struct slob_shape){ .size = size, .align = params->align };
		s->direct = size >= PAGE_SIZE;
	}
	if (s->direct)
		order = get_order(size);
	if (order > BUDDY_MAX_ORDER)
		return -E2BIG;
	s->layout = (struct slab_layout){
		.stride = size,
		.magic = SLAB_MAGIC(size),
		.object_size = params->object_size,
		.inuse = rcu ? params->object_size : size,
		.order = order,
		.objects = s->direct ? 1 : (unsigned int)(PAGE_SIZE / size),
		.min_order = order,
	};
	s->layout.min_objects = s->layout.objects;
	return 0;
}

static int init_cache(struct engine *e, const struct engine_params *params,
		      const struct engine_ops *ops, struct slob_heap *heap)
{
	struct slob *s = meta_alloc(sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->heap = heap;
	err = init_sizes(s, params);
	if (err) {
		meta_free(s, sizeof(*s));
		return err;
	}
	engine_init(e, params, ops, &s->layout, s);
	return 0;
}

static int init_1991(struct engine *e, const struct engine_params *params)
{
	return init_cache(e, params, &slob_1991_ops, &slob_1991_heap);
}

static int init_lists(struct engine *e, const struct engine_params *params)
{
	return init_cache(e, params, &slob_ops, &slob_heap);
}

/* ---- objects ---- */

static unsigned int heap_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				int node)
{
	const struct slob *s = slob_of(e);
	unsigned int got = 0;
	unsigned int i;

	lock_acquire(&s->heap->lock);
	while (got < want && (objs[got] = slob_take_locked(s->heap, &s->shape, gfp, node)))
		got++;
	slob_add_locked(&e->heap_objects, got);
	engine_unlock(&s->heap->lock, &s->heap->said);
	for (i = 0; s->shape.header && i < got; i++)
		objs[i] = slob_block_open(objs[i], s->shape.size - SLOB_HEADER, e->id);
	return got;
}

/* Every object is constructed each time: a free one holds the list (spec 15.10). */
static unsigned int slob_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				int node)
{
	unsigned int got = slob_of(e)->direct ? slob_direct_refill(e, objs, want, gfp, node)
					      : heap_refill(e, objs, want, gfp, node);
	unsigned int i;

	for (i = 0; e->ctor && i < got; i++)
		e->ctor(objs[i]);
	return got;
}

/* An object of this cache back into its heap. false: it is none, or is free, which was reported. */
static bool put_locked(struct engine *e, void *obj, struct page **empty)
{
	const struct slob *s = slob_of(e);
	void *block = obj;

	if (unlikely((uintptr_t)obj & (s->shape.align - 1)))
		return slob_say_locked(s->heap, e, obj, ENGINE_NO_OBJECT);
	if (s->shape.header) {
		block = slob_block_close(obj, s->shape.size - SLOB_HEADER, e->id);
		if (unlikely(!block))
			return slob_say_locked(s->heap, e, obj, ENGINE_NO_HEADER);
	}
	return slob_put_locked(s->heap, e, block, s->shape.size, empty);
}

static void heap_flush(struct engine *e, void **objs, unsigned int n)
{
	const struct slob *s = slob_of(e);
	struct page *empty = NULL;
	unsigned long taken = 0;
	unsigned int i;

	lock_acquire(&s->heap->lock);
	for (i = 0; i < n; i++)
		taken += put_locked(e, objs[i], &empty);
	slob_sub_locked(&e->heap_objects, taken);
	engine_unlock(&s->heap->lock, &s->heap->said);
	slob_free_pages(empty);
}

static void slob_reclaim(struct engine *e, void **objs, unsigned int n)
{
	engine_destruct(e, objs, n);
	if (slob_of(e)->direct)
		slob_direct_flush(e, objs, n);
	else
		heap_flush(e, objs, n);
}

static void slob_flush(struct engine *e, void **objs, unsigned int n)
{
	if (unlikely(engine_is_typesafe(e)))
		engine_defer(e, objs, n);
	else
		slob_reclaim(e, objs, n);
}

/* ---- numbers, and the end ---- */

/* Nothing to give back: empty pages never stay. 1: whole pages are in use. */
static int slob_shrink(struct engine *e)
{
	if (load_relaxed(&e->verify_frees))
		slob_heap_verify(slob_of(e)->heap);
	return load_relaxed(&slob_of(e)->nr_direct) != 0;
}

static void slob_stats(struct engine *e, struct engine_stats *stats)
{
	const struct slob *s = slob_of(e);
	unsigned long direct = load_relaxed(&s->nr_direct);

	*stats = (struct engine_stats){
		.nr_slabs = direct,
		.total_objects = load_relaxed(&e->heap_objects) + direct,
		.slab_bytes = direct * (PAGE_SIZE << s->layout.order),
	};
}

static unsigned long slob_destroy(struct engine *e)
{
	struct engine_stats stats;

	slob_stats(e, &stats);
	if (stats.total_objects)
		return stats.total_objects;
	meta_free(e->state, sizeof(struct slob));
	e->state = NULL;
	e->layout = NULL;
	return 0;
}

static void slob_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	(void)e;
	(void)visit;
	(void)arg;
}

/* ---- the heaps as other floors see them ---- */

static void heap_each_lock(const struct engine_heap *heap, void (*act)(struct lock *l))
{
	act(&slob_heap_of(heap)->lock);
}

static void heap_check(const struct engine_heap *heap)
{
	slob_heap_check(slob_heap_of(heap));
}

const struct engine_heap slob_1991_heap_ops = {
	.name = TEXT_IN_CORES("slob:1991"),
	.max_size = PAGE_SIZE - SLOB_HEADER - 1,
	.alloc = slob_block_alloc,
	.free = slob_block_free,
	.try_alloc = slob_block_try_alloc,
	.try_free = slob_block_try_free,
	.size = slob_block_size,
	.usable = slob_block_usable,
	.owner = slob_block_owner,
	.counters = &slob_1991_heap.counters,
	.each_lock = heap_each_lock,
	.check = heap_check,
};

const struct engine_heap slob_heap_ops = {
	.name = TEXT_IN_CORES("slob"),
	.max_size = PAGE_SIZE - SLOB_HEADER - 1,
	.alloc = slob_block_alloc,
	.free = slob_block_free,
	.try_alloc = slob_block_try_alloc,
	.try_free = slob_block_try_free,
	.size = slob_block_size,
	.usable = slob_block_usable,
	.owner = slob_block_owner,
	.counters = &slob_heap.counters,
	.each_lock = heap_each_lock,
	.check = heap_check,
};

const struct engine_ops slob_1991_ops = {
	.name = TEXT_IN_CORES("slob:1991"),
	.front = "none",
	.heap = &slob_1991_heap_ops,
	.init = init_1991,
	.refill = slob_refill,
	.flush = slob_flush,
	.try_alloc = slob_try_alloc,
	.try_free = slob_try_free,
	.reclaim = slob_reclaim,
	.shrink = slob_shrink,
	.destroy = slob_destroy,
	.walk = slob_walk,
	.stats = slob_stats,
	.check = slob_check,
};

const struct engine_ops slob_ops = {
	.name = TEXT_IN_CORES("slob"),
	.front = "none",
	.heap = &slob_heap_ops,
	.init = init_lists,
	.refill = slob_refill,
	.flush = slob_flush,
	.try_alloc = slob_try_alloc,
	.try_free = slob_try_free,
	.reclaim = slob_reclaim,
	.shrink = slob_shrink,
	.destroy = slob_destroy,
	.walk = slob_walk,
	.stats = slob_stats,
	.check = slob_check,
};
