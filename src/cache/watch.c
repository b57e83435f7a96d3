/* SPDX-License-Identifier: MIT */
/*
 * cache/watch.c - the slow paths of caches with watch bits
 *
 * Data:       none.
 * Invariants: an object is freed by its page: to a guarded page, a debug slab, or else the engine;
 *             never by the bits, which may have changed since it was allocated.
 * Locks:      none held here. Bits are read once at the start of an allocation; if they change
 *             meanwhile, it is still right to go by the old ones (debug.c says why).
 * Flow:       called by alloc.c, array.c, evacuate.c, free.c, kmalloc.c, lent.c, nolock.c,
 *             malloc/debug.c, malloc/group.c and malloc/slow.c for caches whose watch is not 0;
 *             calls failslab.c,
 *             debug/, the front or past it the engine, instrument.c.
 */
#include "base/bits.h"
#include "cache/debug/failslab.h"
#include "cache/grace/grace.h"
#include "cache/group/watched.h"
#include "cache/lent.h"
#include "cache/object.h"
#include "cache/pressure.h"
#include "cache/profile/profile.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "front/array.h"
#include "os/cpu/cpu.h"

struct request {
	struct cache *c;
	unsigned int watch;
	gfp_t gfp;
	int node;
	size_t size; /* asked for; 0: the cache's */
	const void *caller;
	uint32_t sample; /* not 0: it is sampled, and to be tracked */
};

/* ---- alloc ----------------------------------------------------------------------------------- */

/* Over a heap without a front kmalloc and malloc get blocks of the exact size. */
static bool takes_block(const struct request *r)
{
	return cache_heap_of(r->c) && r->size && r->size <= cache_heap_of(r->c)->max_size;
}

static void *take_block(const struct request *r)
{
	int node = r->node < (int)os_topology.nr_nodes ? r->node : NUMA_NO_NODE;
	const struct engine_heap *heap = cache_heap_of(r->c);

	/* as an object: the caller may have chosen this cache for its alignment */
	return heap->alloc(heap, r->size, r->c->engine.align, r->gfp, node);
}

static void *take_plain(const struct request *r)
{
	struct engine *e = &r->c->engine;
	void *obj;

	if (takes_block(r))
		return take_block(r);
	if (!(r->watch & WATCH_PAST_FRONT))
		return r->c->front.ops->alloc(&r->c->front, r->gfp, r->node);
	return e->ops->refill(e, &obj, 1, r->gfp, r->node) ? obj : NULL;
}

static void *take_sample(const struct request *r)
{
	void *obj = debug_alloc(&r->c->engine, r->gfp, r->node, r->size, r->caller);

	if (obj)
		debug_mark_sample(obj, r->sample);
	return obj;
}

static void *take(const struct request *r)
{
	void *obj = NULL;

	if (r->watch & WATCH_DEBUG)
		return debug_alloc(&r->c->engine, r->gfp, r->node, r->size, r->caller);
	if (r->watch & WATCH_SAMPLE && r->sample)
		obj = take_sample(r);
	return obj ? obj : take_plain(r);
}

/* A miss of an open array front counts for all objects of an array. */
static void *take_guarded(const struct request *r)
{
	unsigned int weight = r->watch & WATCH_PAST_FRONT ? 1 : load_relaxed(&r->c->front.capacity);

	return kfence_alloc(&r->c->engine, r->size, r->gfp, r->caller, MAX(weight, 1u));
}

/* As alloc.c: after a failure pressure.c makes room, and the call is repeated. */
static cold void *take_again(struct request *r)
{
	struct pressure p = { .wanted = r->gfp,
			      .size = load_relaxed(&r->c->engine.object_size),
			      .cache = r->c };
	void *obj = NULL;

	while (!obj && pressure_again(&p)) {
		r->gfp = p.gfp;
		obj = take(r);
	}
	r->gfp = p.wanted;
	return obj;
}

static void *take_or_shrink(struct request *r)
{
	gfp_t gfp = r->gfp;
	void *obj;

	r->gfp = gfp | __GFP_NOWARN;
	obj = take(r);
	r->gfp = gfp;
	return likely(obj) ? obj : take_again(r);
}

/*
 * What __GFP_ZERO clears: all of the object, or only the bytes asked for if other data lies behind
 * them.
 */
static size_t zero_size(const struct request *r, const void *obj)
{
	const struct page *page = page_head_of(obj);

	if (kfence_is_object(page))
		return kfence_size(obj);
	if (debug_is_slab(page) && page->layout->debug & (SLAB_RED_ZONE | SLAB_POISON))
		return debug_usable_size(page, obj);
	if (page->type == PAGE_HEAP && takes_block(r))
		return r->size;
	return load_relaxed(&r->c->engine.object_size);
}

/*
 * All calls come here, also those that would hit: only misses are candidates for guarded pages, so
 * the hit path is tried first.
 */
static void *hit(const struct request *r)
{
	int cpu = percpu_cpu();

	if (r->watch & WATCH_PAST_FRONT || !load_relaxed(&r->c->front.capacity) || r->node >= 0 ||
	    cpu < 0 || r->sample)
		return NULL;
	return array_pop(r->c->front.id, cpu);
}

/* Neither in a debug slab, nor guarded, nor, but for hardened caches, in a heap. */
static bool is_plain(const struct cache *c, const void *obj)
{
	const struct page *page = page_head_of(obj);

	if (page->type == PAGE_HEAP)
		return used_are_kept();
	return page->type == PAGE_SLAB && page->layout->kind == LAYOUT_PLAIN &&
	       page->engine == &c->engine;
}

/* It is free until now; as far as plain objects have marks, or bits, they are changed. */
static void hand_out(const struct request *r, void *obj)
{
	if (is_plain(r->c, obj))
		cache_unmark(r->c, obj);
	if (r->gfp & __GFP_ZERO) {
		instrument_open(r->c, obj);
		memset(obj, 0, zero_size(r, obj));
	}
}

void cache_hand_out_sized(struct cache *c, gfp_t gfp, size_t size, void *obj)
{
	const struct request r = { .c = c, .gfp = gfp, .size = size };

	hand_out(&r, obj);
}

static bool should_fail(const struct request *r)
{
	size_t size = r->size ? r->size : load_relaxed(&r->c->engine.object_size);

	return r->watch & WATCH_FAULTS && failslab_should_fail(r->c, size, r->gfp, r->caller);
}

static void *alloc(struct request *r)
{
	void *obj;

	if (should_fail(r))
		return NULL;
	instrument_enter();
	obj = hit(r);
	if (!obj && r->watch & WATCH_KFENCE && !r->sample)
		obj = take_guarded(r);
	if (!obj)
		obj = take_or_shrink(r);
	if (likely(obj))
		hand_out(r, obj);
	instrument_leave();
	if (likely(obj))
		instrument_alloc(r->c, obj, r->size, r->gfp, r->node, r->caller);
	return obj;
}

/* What is allocated is charged to the thread's group, or goes back. */
static void *alloc_charged(struct request *r)
{
	uint32_t id = r->watch & WATCH_GROUPS ? group_for(r->c, r->gfp) : GROUP_NONE;
	enum group_added added;
	void *obj;

	do {
		obj = alloc(r);
		if (likely(!id || !obj))
			return obj;
		added = group_add(id, r->c, obj, group_charge_of(r->gfp));
		if (likely(added == GROUP_ADDED))
			return obj;
		cache_free_watched(r->c, obj, r->caller);
	} while (added == GROUP_ABOUT_TO_MOVE);
	return NULL;
}

/* The bits of c for an allocation. */
static unsigned int bits_of(struct cache *c)
{
	unsigned int watch = load_acquire(&c->watch); /* pairs with cache_watch_locked() */

	if (likely(!(watch & WATCH_OVER)))
		return watch;
	group_cache_open(c);
	return load_acquire(&c->watch); /* likewise */
}

void *cache_alloc_watched(struct cache *c, gfp_t gfp, int node, size_t size, const void *caller)
{
	struct request r = {
		.c = c,
		.watch = bits_of(c),
		.gfp = gfp,
		.node = node,
		.size = size,
		.caller = caller,
	};

	return group_is_all(c) ? group_cache_alloc(c, gfp, node) : alloc_charged(&r);
}

void *cache_alloc_sampled(struct cache *c, size_t size, const void *caller, gfp_t gfp,
			  uint32_t sample)
{
	struct request r = {
		.c = c,
		.watch = bits_of(c),
		.gfp = gfp,
		.node = NUMA_NO_NODE,
		.size = size,
		.caller = caller,
		.sample = sample,
	};

	return alloc_charged(&r);
}

unsigned int cache_alloc_array_watched(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				       const void *caller)
{
	unsigned int n = 0;

	while (n < nr && (p[n] = cache_alloc_watched(c, gfp, NUMA_NO_NODE, 0, caller)))
		n++;
	instrument_wrote(p, n);
	return n;
}

unsigned int cache_alloc_bulk_watched(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				      unsigned int done, const void *caller)
{
	unsigned int n = done + cache_alloc_array_watched(c, gfp, nr - done, p + done, caller);

	if (n == nr)
		return nr;
	while (n) /* all or none */
		cache_free_watched(c, p[--n], caller);
	return 0;
}

/* ---- lent sheaves ---- */

unsigned int cache_take_watched(struct cache *c, gfp_t gfp, unsigned int nr, void **p,
				const void *caller)
{
	struct request r = {
		.c = c,
		.watch = bits_of(c),
		.gfp = gfp,
		.node = NUMA_NO_NODE,
		.caller = caller,
	};
	unsigned int n = 0;

	if (should_fail(&r)) /* once for all: what is filled may fail, what is lent may not */
		return 0;
	instrument_enter();
	while (n < nr && (p[n] = take_or_shrink(&r)))
		n++;
	instrument_leave();
	return n;
}

/*
 * What is lent cannot fail: it is charged whatever the limits are. Another one for an object that
 * is about to move; if there is no memory for one, that one, of no group.
 */
static void *charge_lent(struct request *r, void *obj)
{
	void *other;

	r->watch &= ~(unsigned int)WATCH_FAULTS;
	while (group_add(group_current, r->c, obj, GROUP_CHARGE_FORCED) == GROUP_ABOUT_TO_MOVE) {
		other = alloc(r);
		if (unlikely(!other))
			break;
		cache_free_watched(r->c, obj, r->caller);
		obj = other;
	}
	return obj;
}

/* A signal handler that interrupted this library has its object all the same, without a track. */
void *cache_alloc_lent_watched(struct cache *c, gfp_t gfp, struct slab_sheaf *sheaf,
			       const void *caller)
{
	bool inside = lock_is_inside();
	struct request r = { .c = c, .gfp = gfp, .node = NUMA_NO_NODE, .caller = caller };
	void *obj = NULL;

	if (!inside)
		cache_poll_now();
	r.watch = load_acquire(&c->watch); /* pairs with cache_watch_locked() */
	instrument_enter();
	if (r.watch & WATCH_KFENCE && !inside)
		obj = kfence_alloc(&c->engine, 0, gfp, caller, 1);
	if (!obj) {
		obj = lent_pop(sheaf);
		if (debug_is_slab(page_head_of(obj)) && !inside)
			debug_set_user(obj, caller);
	}
	hand_out(&r, obj);
	instrument_leave();
	instrument_alloc(c, obj, 0, gfp, NUMA_NO_NODE, caller);
	if (r.watch & WATCH_GROUPS && group_for(c, gfp) && !inside)
		return charge_lent(&r, obj);
	return obj;
}

void cache_give_watched(struct cache *c, unsigned int nr, void **p)
{
	bool past_front = load_acquire(&c->watch) & WATCH_PAST_FRONT; /* as above */

	instrument_enter();
	for (unsigned int i = 0; i < nr; i++)
		if (past_front || !is_plain(c, p[i]))
			c->engine.ops->flush(&c->engine, &p[i], 1);
		else
			c->front.ops->free(&c->front, p[i]);
	instrument_leave();
}

/* ---- free ------------------------------------------------------------------------------------ */

static cold void say_foreign(struct cache *c, const struct cache *owner, const void *obj)
{
	report_wrong_cache(&c->engine, &owner->engine, obj);
	report_deliver();
}

/*
 * F: a plain object whose page belongs to another cache is freed to that one, and a pointer to no
 * object is ignored (spec 5.7). true: there is nothing more to do.
 */
static bool free_foreign(struct cache *c, const struct page *page, void *obj, const void *caller)
{
	struct cache *other;

	if (page && page->type == PAGE_HEAP && page->heap == c->engine.ops->heap)
		return false; /* shared by all caches: the page does not name the object's cache */
	if (!page || page->type != PAGE_SLAB) {
		report_invalid(&c->engine, NULL, obj, "virt_to_cache: Object is not a Slab page!");
		report_not_done(&c->engine, obj, FIX_NOT_FREED);
		report_deliver();
		return true;
	}
	if (page->engine == &c->engine)
		return false;
	other = container_of(page->engine, struct cache, engine);
	say_foreign(c, other, obj);
	cache_free_for(other, obj, caller);
	return true;
}

static void free_plain(struct cache *c, const struct page *page, void *obj, const void *caller)
{
	if (load_relaxed(&c->flags) & SLAB_CONSISTENCY_CHECKS && free_foreign(c, page, obj, caller))
		return;
	if (!cache_receive(c, obj, caller))
		return;
	profile_drop(c, obj);
	group_drop(c, obj);
	if (load_acquire(&c->watch) & WATCH_PAST_FRONT) /* pairs with cache_watch_locked() */
		c->engine.ops->flush(&c->engine, &obj, 1);
	else
		c->front.ops->free(&c->front, obj);
}

static const struct cache_call kmem_cache_free_call = { "kmem_cache_free", FIX_NOT_FREED };

/*
 * false: it lies in a lent sheaf, where it is free as it is, and the slab does not know; or (F) it
 * is freed after a grace period.
 */
static bool may_free_debug(struct cache *c, struct page *page, void *obj)
{
	if (unlikely(cache_has_checks(obj) && grace_holds(obj))) {
		cache_report_block(&kmem_cache_free_call, obj, REPORT_GRACE,
				   "waits for a grace period already");
		return false;
	}
	if (likely(!lent_holds(obj)))
		return true;
	report_object(&c->engine, page, obj, REPORT_FREE_ALREADY);
	report_not_done(&c->engine, obj, FIX_NOT_FREED);
	report_deliver();
	return false;
}

/* A guarded object is freed to its page, whichever cache the caller named. */
static void free_guarded(struct cache *c, const struct page *page, void *obj, const void *caller)
{
	if (page->engine != &c->engine)
		say_foreign(c, container_of(page->engine, struct cache, engine), obj);
	profile_drop(c, obj);
	group_drop(c, obj);
	kfence_free(obj, caller);
}

static void free_debug(struct cache *c, void *obj, const void *caller)
{
	profile_drop(c, obj);
	group_drop(c, obj);
	debug_free(&c->engine, obj, caller);
}

void cache_free_watched(struct cache *c, void *obj, const void *caller)
{
	struct page *page = page_head_of(obj);

	if (group_is_all(c)) {
		group_cache_free(c, obj, caller);
		return;
	}
	instrument_free(c, obj, caller);
	instrument_enter();
	if (unlikely(kfence_is_object(page)))
		free_guarded(c, page, obj, caller);
	else if (!debug_is_slab(page))
		free_plain(c, page, obj, caller);
	else if (may_free_debug(c, page, obj))
		free_debug(c, obj, caller);
	instrument_leave();
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Spec 5.7: SLUB's stride for plain objects, less where metadata lies behind the object. */
size_t cache_usable_size(const struct page *slab, const void *obj)
{
	const struct slab_layout *layout = slab->layout;
	const struct engine *e = slab->engine;

	if (kfence_is_object(slab))
		return kfence_size(obj);
	if (layout->debug & (SLAB_RED_ZONE | SLAB_POISON))
		return debug_usable_size(slab, obj);
	if (layout->key || layout->debug & SLAB_STORE_USER ||
	    load_relaxed(&e->flags) & SLAB_TYPESAFE_BY_RCU)
		return layout->inuse;
	if (layout->kind == LAYOUT_DEBUG || (engine_is(e, &slub_ops) && !os_memcheck_on))
		return layout->stride;
	return load_relaxed(&e->object_size);
}
