/* SPDX-License-Identifier: MIT */
/*
 * engine/slobseg/pow2.c - slobseg:pow2: one set of pages per power of two,
 * for all caches (spec 2.1)
 *
 * Data:       ten pools, for objects of 8, 16, ... PAGE_SIZE bytes; the last has one per page.
 * Invariants: an object lies at a multiple of its size. The low half of page.counters holds the
 *             free bytes of the page. bytes == pages * PAGE_SIZE - free bytes. pow2_heap_check().
 * Locks:      one per pool, over all nodes. (The mail has a list per power of two and node and does
 *             not say what locks them; two sizes have nothing in common, so one lock per size lets
 *             more CPUs work and costs nothing.)
 * Flow:       called by list.c and through slobseg_pow2_ops; calls list.c, and slobseg.c for
 *             caches with pages of their own.
 *
 * Caches that do not share have pages of their own, which name them, with a stride that is a power
 * of two all the same: those that take frees by address; those with SLAB_TYPESAFE_BY_RCU, whose
 * memory must not become another type's while somebody still looks; and
 * objects of more than a page.
 *
 * Worst case of an allocation or a free, in steps: at the head of slobseg.h.
 */
#include "base/assert.h"
#include "base/bits.h"
#include "engine/slobseg/slobseg.h"
#include "os/cpu/cpu.h"

#define SHIFT_LOW 3
#define NR_POOLS (PAGE_SHIFT - SHIFT_LOW + 1)

static struct list_head *firsts[NR_POOLS][OS_MAX_NODES];
static struct engine_heap_counters counters[NR_POOLS];
static const struct engine_heap pow2_heap;
static struct engine pow2_self = { .ops = &slobseg_pow2_ops, .name = "slobseg:pow2" };

#define POOL(shift)                                                                \
	[(shift)-SHIFT_LOW] = {                                                    \
		.lock = LOCK_INIT(RANK_ENGINE),                                    \
		.first = firsts[(shift)-SHIFT_LOW],                                \
		.count = &counters[(shift)-SHIFT_LOW],                             \
		.one = -(1ull << (shift)), /* the free bytes become less */        \
		.empty = PAGE_SIZE,                                                \
		.full = 0,                                                         \
		.type = PAGE_HEAP,                                                 \
		.layout = { .stride = 1u << (shift),                               \
			    .magic = SLAB_MAGIC(1u << (shift)),                    \
			    .object_size = 1u << (shift),                          \
			    .inuse = 1u << (shift),                                \
			    .objects = (unsigned int)(PAGE_SIZE >> (shift)),       \
			    .min_objects = (unsigned int)(PAGE_SIZE >> (shift)) }, \
		.heap = &pow2_heap,                                                \
		.end = PAGE_SIZE,                                                  \
		.nr_nodes = OS_MAX_NODES,                                          \
	}

static struct slobseg pools[NR_POOLS] = {
	POOL(3), POOL(4), POOL(5), POOL(6), POOL(7), POOL(8), POOL(9), POOL(10), POOL(11), POOL(12),
};

BUILD_ASSERT(NR_POOLS == 10);

/* Smallest power of two, at least a pointer, that holds size bytes at a multiple of align. */
static unsigned int stride_shift(size_t size, size_t align)
{
	return MAX(fls(MAX(size, align) - 1), (unsigned int)SHIFT_LOW);
}

struct engine *slobseg_owner(const struct slobseg *s)
{
	return slobseg_is_pool(s) ? &pow2_self : s->engine;
}

static bool shares_pages(const struct engine *e)
{
	return slobseg_is_pool(slobseg_of(e));
}

static int pow2_init(struct engine *e, const struct engine_params *params)
{
	unsigned int shift = stride_shift(slobseg_object_bytes(params), params->align);
	struct slobseg *pool;

	if (params->by_address || params->flags & SLAB_TYPESAFE_BY_RCU || shift > PAGE_SHIFT)
		return slobseg_init_own(e, params, &slobseg_pow2_ops, 1u << shift);
	pool = &pools[shift - SHIFT_LOW];
	engine_init(e, params, &slobseg_pow2_ops, &pool->layout, pool);
	return 0;
}

static unsigned int pow2_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
				int node)
{
	unsigned int got;

	if (unlikely(!shares_pages(e)))
		return slobseg_refill(e, objs, want, gfp, node);
	got = slobseg_take(slobseg_of(e), objs, want, gfp, node, &e->heap_objects);
	slobseg_construct(e, objs, got);
	return got;
}

static void pow2_flush(struct engine *e, void **objs, unsigned int n)
{
	if (unlikely(!shares_pages(e))) {
		slobseg_flush(e, objs, n);
		return;
	}
	engine_destruct(e, objs, n);
	slobseg_put(e, slobseg_of(e), objs, n, &e->heap_objects);
}

static void *pow2_try_alloc(struct engine *e, int node)
{
	return shares_pages(e) ? slobseg_try_take(slobseg_of(e), node, &e->heap_objects)
			       : slobseg_try_alloc(e, node);
}

static bool pow2_try_free(struct engine *e, void *obj)
{
	if (!shares_pages(e))
		return slobseg_try_free(e, obj);
	return !load_relaxed(&e->verify_frees) &&
	       slobseg_try_put(slobseg_of(e), obj, &e->heap_objects);
}

static int pow2_shrink(struct engine *e)
{
	if (!shares_pages(e))
		return slobseg_shrink(e);
	if (load_relaxed(&e->verify_frees))
		slobseg_verify(slobseg_of(e));
	return load_relaxed(&e->heap_objects) != 0;
}

static unsigned long pow2_destroy(struct engine *e)
{
	if (!shares_pages(e))
		return slobseg_destroy(e);
	if (e->heap_objects)
		return e->heap_objects;
	e->state = NULL;
	e->layout = NULL;
	return 0;
}

/* Pages of the pools are nobody's, and do not say whose their objects are. */
static void pow2_stats(struct engine *e, struct engine_stats *stats)
{
	if (shares_pages(e))
		*stats = (struct engine_stats){ .total_objects = load_relaxed(&e->heap_objects) };
	else
		slobseg_stats(e, stats);
}

static void pow2_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	if (!shares_pages(e))
		slobseg_walk(e, visit, arg);
}

static void pow2_check(struct engine *e)
{
	if (shares_pages(e))
		CHECK(e->heap_objects <= slobseg_of(e)->count->objects);
	else
		slobseg_check(e);
}

/* The pools' locks are the heap's: see pow2_heap.each_lock. */
static void pow2_each_lock(struct engine *e, void (*act)(struct lock *l))
{
	if (!shares_pages(e))
		slobseg_each_lock(e, act);
}

/* ---- the heap ---- */

static void *pow2_heap_alloc(const struct engine_heap *heap, size_t size, size_t align, gfp_t gfp,
			     int node)
{
	struct slobseg *pool = &pools[stride_shift(size, align) - SHIFT_LOW];
	void *p;

	(void)heap;
	return slobseg_take(pool, &p, 1, gfp, node, &pool->count->blocks) ? p : NULL;
}

static void *pow2_heap_try_alloc(const struct engine_heap *heap, size_t size, size_t align,
				 int node)
{
	struct slobseg *pool = &pools[stride_shift(size, align) - SHIFT_LOW];

	(void)heap;
	return slobseg_try_take(pool, node, &pool->count->blocks);
}

static bool pow2_heap_try_free(const struct engine_heap *heap, void *p)
{
	const struct page *page = page_in_arena(p) ? page_at(page_index(p)) : NULL;
	struct slobseg *pool;

	if (!page || load_relaxed(&page->type) != PAGE_HEAP || page->heap != heap)
		return false;
	pool = slobseg_of_page(page);
	return slobseg_try_put(pool, p, &pool->count->blocks);
}

static void pow2_heap_free(void *p)
{
	const struct page *page = page_in_arena(p) ? page_at(page_index(p)) : NULL;
	struct slobseg *pool;

	if (unlikely(!page || load_relaxed(&page->type) != PAGE_HEAP)) {
		engine_mistake_now(&pow2_self, p, ENGINE_NO_OBJECT);
		return;
	}
	pool = slobseg_of_page(page);
	slobseg_put(&pow2_self, pool, &p, 1, &pool->count->blocks);
}

static size_t pow2_heap_size(const void *p)
{
	return page_at(page_index(p))->layout->stride;
}

static size_t pow2_heap_usable(size_t size)
{
	return 1ul << stride_shift(size, ARCH_KMALLOC_MINALIGN);
}

/* Objects of caches that take frees by address lie in pages of their own. */
static unsigned int pow2_heap_owner(const void *p)
{
	(void)p;
	return 0;
}

static void pow2_heap_each_lock(const struct engine_heap *heap, void (*act)(struct lock *l))
{
	(void)heap;
	unsigned int i;

	for (i = 0; i < NR_POOLS; i++)
		act(&pools[i].lock);
}

static void pow2_heap_check(const struct engine_heap *heap)
{
	unsigned int i;

	(void)heap;
	for (i = 0; i < NR_POOLS; i++)
		slobseg_check_lists(&pools[i]);
}

static const struct engine_heap pow2_heap = {
	.name = TEXT_IN_CORES("slobseg:pow2"),
	.max_size = PAGE_SIZE,
	.alloc = pow2_heap_alloc,
	.free = pow2_heap_free,
	.try_alloc = pow2_heap_try_alloc,
	.try_free = pow2_heap_try_free,
	.size = pow2_heap_size,
	.usable = pow2_heap_usable,
	.owner = pow2_heap_owner,
	.counters = counters,
	.more_counters = NR_POOLS - 1,
	.each_lock = pow2_heap_each_lock,
	.check = pow2_heap_check,
};

const struct engine_ops slobseg_pow2_ops = {
	.name = TEXT_IN_CORES("slobseg:pow2"),
	.front = "none",
	.heap = &pow2_heap,
	.init = pow2_init,
	.refill = pow2_refill,
	.flush = pow2_flush,
	.try_alloc = pow2_try_alloc,
	.try_free = pow2_try_free,
	.reclaim = slobseg_reclaim, /* they have pages of their own */
	.shrink = pow2_shrink,
	.destroy = pow2_destroy,
	.walk = pow2_walk,
	.stats = pow2_stats,
	.each_lock = pow2_each_lock,
	.check = pow2_check,
};
