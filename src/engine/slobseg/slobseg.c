/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/slobseg.c - the table of slobseg: each cache has its pages to itself (spec 2.2)
 *
 * Data:       struct slobseg per cache, with a list for each node behind it, from page/meta.c.
 * Invariants: const after init but for lists and counts. Pages without an object in use are never
 *             kept, so that there is nothing to shrink.
 * Locks:      none in init and destroy: the cache is not known to anybody else. One per cache.
 * Flow:       called by pow2.c and through slobseg_ops, through slobseg_pow2_ops; calls list.c,
 *             direct.c.
 *
 * Worst case of an allocation or a free, in steps: at the head of slobseg.h.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/nodes.h"
#include "engine/slobseg/slobseg.h"
#include "engine/typesafe.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"
#include "page/meta.h"

static size_t state_size(unsigned int nr_nodes)
{
	return sizeof(struct slobseg) + nr_nodes * sizeof(struct list_head *);
}

unsigned int slobseg_object_bytes(const struct engine_params *params)
{
	unsigned int size = ALIGN_UP(params->object_size, SLOBSEG_WORD);

	return params->flags & SLAB_TYPESAFE_BY_RCU ? size + ENGINE_FOOTER_BYTES : size;
}

static struct slab_layout make_layout(const struct engine_params *params, unsigned int stride)
{
	struct slab_layout layout = {
		.stride = stride,
		.magic = SLAB_MAGIC(stride),
		.object_size = params->object_size,
		.inuse = ALIGN_UP(params->object_size, SLOBSEG_WORD),
		.order = get_order(stride),
	};

	/*
	 * What an RCU cache's free object holds must stay: its link goes into the
	 * footer. Of those that are freed by address the first word bears the mark
	 * (base/mark.h), where hits look for it.
	 */
	if (params->flags & SLAB_TYPESAFE_BY_RCU)
		layout.offset = layout.inuse;
	else if (params->by_address && params->object_size >= 2 * SLOBSEG_WORD)
		layout.offset = SLOBSEG_WORD;
	layout.objects = (unsigned int)((PAGE_SIZE << layout.order) / stride);
	layout.min_order = layout.order;
	layout.min_objects = layout.objects;
	return layout;
}

int slobseg_init_own(struct engine *e, const struct engine_params *params,
		     const struct engine_ops *ops, unsigned int stride)
{
	unsigned int nr_nodes = engine_nr_nodes();
	struct slobseg *s;

	if (get_order(stride) > BUDDY_MAX_ORDER)
		return -E2BIG;
	s = meta_alloc(state_size(nr_nodes));
	if (!s)
		return -ENOMEM;
	lock_init(&s->lock, RANK_ENGINE);
	s->first = (struct list_head **)(s + 1);
	s->nr_nodes = nr_nodes;
	s->count = &s->own;
	s->layout = make_layout(params, stride);
	s->offset = s->layout.offset;
	s->one = slobseg_counters(1, 0);
	s->empty = slobseg_counters(0, s->layout.objects);
	s->full = slobseg_counters(s->layout.objects, s->layout.objects);
	s->end = s->layout.objects * stride;
	s->page_class = params->page_class;
	s->type = PAGE_SLAB;
	s->engine = e;

	engine_init(e, params, ops, &s->layout, s);
	if (s->layout.order)
		e->allocflags = __GFP_COMP;
	return 0;
}

static int slobseg_init(struct engine *e, const struct engine_params *params)
{
	unsigned int stride = ALIGN_UP(slobseg_object_bytes(params), params->align);

	return slobseg_init_own(e, params, &slobseg_ops, stride);
}

unsigned int slobseg_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node)
{
	struct slobseg *s = slobseg_of(e);
	unsigned int got;

	if (unlikely(slobseg_is_direct(s)))
		got = slobseg_direct_take(s, objs, want, gfp, node);
	else
		got = slobseg_take(s, objs, want, gfp, node, &s->own.blocks);
	slobseg_construct(e, objs, got);
	return got;
}

void slobseg_reclaim(struct engine *e, void **objs, unsigned int n)
{
	struct slobseg *s = slobseg_of(e);

	engine_destruct(e, objs, n);
	if (unlikely(slobseg_is_direct(s)))
		slobseg_direct_put(s, objs, n);
	else
		slobseg_put(e, s, objs, n, &s->own.blocks);
}

void slobseg_flush(struct engine *e, void **objs, unsigned int n)
{
	if (unlikely(engine_is_typesafe(e)))
		engine_defer(e, objs, n);
	else
		slobseg_reclaim(e, objs, n);
}

void *slobseg_try_alloc(struct engine *e, int node)
{
	struct slobseg *s = slobseg_of(e);

	return slobseg_is_direct(s) ? slobseg_direct_try_take(s, node)
				    : slobseg_try_take(s, node, &s->own.blocks);
}

bool slobseg_try_free(struct engine *e, void *obj)
{
	struct slobseg *s = slobseg_of(e);

	if (load_relaxed(&e->verify_frees))
		return false;
	return slobseg_is_direct(s) ? slobseg_direct_try_put(s, obj)
				    : slobseg_try_put(s, obj, &s->own.blocks);
}

int slobseg_shrink(struct engine *e)
{
	if (load_relaxed(&e->verify_frees))
		slobseg_verify(slobseg_of(e));
	return load_relaxed(&slobseg_of(e)->own.pages) != 0;
}

void slobseg_stats(struct engine *e, struct engine_stats *stats)
{
	struct slobseg *s = slobseg_of(e);
	unsigned long objects;

	lock_acquire(&s->lock);
	objects = load_relaxed(&s->own.objects);
	stats->nr_slabs = load_relaxed(&s->own.pages);
	stats->nr_partial = s->nr_partial;
	stats->total_objects = stats->nr_slabs * s->layout.objects;
	stats->slab_bytes = stats->nr_slabs * (PAGE_SIZE << s->layout.order);
	lock_release(&s->lock);
	/* every page with a free object is on a list; direct: the counts change without the lock */
	stats->free_objects = stats->total_objects - MIN(objects, stats->total_objects);
}

unsigned long slobseg_destroy(struct engine *e)
{
	struct slobseg *s = slobseg_of(e);
	unsigned long objects = load_relaxed(&s->own.objects);

	if (objects)
		return objects;
	meta_free(s, state_size(s->nr_nodes));
	e->state = NULL;
	e->layout = NULL;
	return 0;
}

void slobseg_each_lock(struct engine *e, void (*act)(struct lock *l))
{
	act(&slobseg_of(e)->lock);
}

const struct engine_ops slobseg_ops = {
	.name = TEXT_IN_CORES("slobseg"),
	.front = "none",
	.init = slobseg_init,
	.refill = slobseg_refill,
	.flush = slobseg_flush,
	.try_alloc = slobseg_try_alloc,
	.try_free = slobseg_try_free,
	.reclaim = slobseg_reclaim,
	.shrink = slobseg_shrink,
	.destroy = slobseg_destroy,
	.walk = slobseg_walk,
	.walk_slab = slobseg_walk_slab,
	.is_free = slobseg_is_free,
	.stats = slobseg_stats,
	.each_lock = slobseg_each_lock,
	.check = slobseg_check,
};
