/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence/kfence.c - samples allocations into guarded pages, and frees them
 *
 * Data:       the gate: allocations until the next sample, in stripes by CPU; the options.
 * Invariants: see kfence_pool.h.
 * Locks:      kfence_pool.lock (RANK_KFENCE) around all changes of an object. The gate takes none:
 *             a lost count only moves a sample.
 * Flow:       see kfence.h; calls kfence_pool.c, kfence_report.c, kfence_fault.c,
 *             os/unwind/unwind.c, stacks.c.
 *
 * Spec 11.1 but for: the gate counts allocations where the kernel counts time; type-stable caches
 * (SLAB_TYPESAFE_BY_RCU) have no guarded objects, since readers may look at free ones.
 */
#include "debug/kfence/kfence.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "debug/kfence/kfence_pool.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "engine/charged.h"
#include "engine/placement.h"
#include "os/time/clock.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "os/process/env.h"
#include "os/process/process.h"
#include "os/unwind/unwind.h"

#define COVERED_PERCENT 75 /* skip_covered_thresh */

#define GFP_ZONES (__GFP_DMA | __GFP_HIGHMEM | __GFP_DMA32 | __GFP_MOVABLE)
#define STRIPES 64

struct kfence_counters kfence_counters;

static struct {
	long sample;		  /* one allocation in so many; 0: none; atomic */
	unsigned int objects;	  /* atomic */
	unsigned int interval_ms; /* atomic */
} options = { .objects = KFENCE_DEFAULT_OBJECTS };

static struct stripe {
	long left; /* allocations until the next sample; 0: not drawn yet; atomic */
} __attribute__((aligned(CACHE_LINE))) stripes[STRIPES];

/* ---- options --------------------------------------------------------------------------------- */

static void set_sample(long sample)
{
	store_relaxed(&options.sample, sample);
	store_relaxed(&kfence_counters.enabled, sample != 0);
	for (unsigned int i = 0; i < STRIPES; i++)
		store_relaxed(&stripes[i].left, 0);
}

static void set_interval(unsigned int ms)
{
	store_relaxed(&options.interval_ms, ms);
	if (ms && !kfence_is_wanted())
		set_sample(KFENCE_DEFAULT_SAMPLE);
}

static bool set_objects(size_t n)
{
	if (kfence_is_on()) {
		os_say("kfence.objects: the pages are made, their number stays %u",
		       kfence_pool.nr_objects);
		return false;
	}
	if (!n || n > kfence_most_objects()) {
		os_say("kfence.objects: 1 to %u here (vm.max_map_count, memory)",
		       kfence_most_objects());
		return false;
	}
	store_relaxed(&options.objects, (unsigned int)n);
	return true;
}

bool kfence_set_option(const char *key, const char *value)
{
	size_t n;

	if (!strcmp(key, "sample") && !*value) {
		set_sample(KFENCE_DEFAULT_SAMPLE);
		return true;
	}
	if (!os_parse_size(value, &n))
		return false;
	if (!strcmp(key, "objects"))
		return set_objects(n);
	if (n > KFENCE_MAX_SAMPLE)
		return false;
	if (!strcmp(key, "sample"))
		set_sample((long)n);
	else if (!strcmp(key, "interval"))
		set_interval((unsigned int)n);
	else
		return false;
	return true;
}

bool kfence_is_wanted(void)
{
	return load_relaxed(&options.sample);
}

unsigned int kfence_interval(void)
{
	return load_relaxed(&options.interval_ms);
}

bool kfence_is_on(void)
{
	return load_acquire(&kfence_pool.piece); /* pairs with kfence_pool_make */
}

int kfence_start(void)
{
	int ret = kfence_is_on() ? 0 : kfence_pool_make(load_relaxed(&options.objects));

	return ret ? ret : kfence_fault_install();
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* 1 .. 2 * sample - 1, at random, since a program may allocate periodically; the mean is sample. */
static long draw_distance(long sample)
{
	return 1 + (long)(kfence_draw() % (uint64_t)(2 * sample - 1));
}

static bool gate_opens(long sample, unsigned int weight)
{
	long *left = &stripes[os_current_cpu() % STRIPES].left;
	long n = load_relaxed(left);

	if (unlikely(!n))
		n = draw_distance(sample);
	n -= weight;
	store_relaxed(left, n > 0 ? n : draw_distance(sample));
	return n <= 0;
}

void kfence_open_gate(void)
{
	for (unsigned int i = 0; i < STRIPES; i++)
		store_relaxed(&stripes[i].left, 1);
}

static bool is_compatible(const struct engine *e, gfp_t gfp)
{
	if (gfp & GFP_ZONES || engine_group(e)) /* their pages are charged to nobody */
		return false;
	/* guarded pages may be of any node */
	if (os_topology.nr_nodes > 1 && (gfp & __GFP_THISNODE || placement_is_bound(e)))
		return false;
	return !(load_relaxed(&e->flags) &
		 (SLAB_CACHE_DMA | SLAB_CACHE_DMA32 | SLAB_TYPESAFE_BY_RCU));
}

/* ---- alloc ----------------------------------------------------------------------------------- */

static struct kfence_track make_track(const uintptr_t *pcs, unsigned int nr)
{
	return (struct kfence_track){
		.stack = stacks_save(pcs, nr),
		.tid = os_thread_id(),
		.cpu = os_current_cpu(),
		.when_us = os_clock_us(),
	};
}

/* Are most objects in use, and is one of them from this call site? */
static bool skip_covered_locked(unsigned int hash)
{
	return kfence_counters.allocated * 100 > kfence_pool.nr_objects * COVERED_PERCENT &&
	       kfence_covered_locked(hash);
}

/* The free object that has been free for the longest time, its page accessible. */
static struct kfence_object *take_object_locked(unsigned int hash)
{
	struct kfence_object *o;

	if (skip_covered_locked(hash)) {
		kfence_counters.skipped_covered++;
		return NULL;
	}
	o = list_empty(&kfence_pool.free)
		    ? NULL
		    : list_first(&kfence_pool.free, struct kfence_object, list);
	if (!o || !kfence_open_locked(kfence_object_page(o))) {
		kfence_counters.skipped_capacity++;
		return NULL;
	}
	list_del(&o->list);
	return o;
}

/* At the left or the right end of its page, by chance. */
static char *place(const struct kfence_object *o, const struct engine *e, size_t size)
{
	size_t offset = kfence_draw() & 1 ? ALIGN_DOWN(PAGE_SIZE - size, (size_t)e->align) : 0;

	return kfence_object_page(o) + offset;
}

static void *alloc_object_locked(struct engine *e, size_t size, const uintptr_t *pcs,
				 unsigned int nr)
{
	unsigned int hash = kfence_cover_hash(pcs, nr);
	struct kfence_object *o = take_object_locked(hash);

	if (!o)
		return NULL;
	o->state = KFENCE_ALLOCATED;
	o->addr = place(o, e, size);
	o->size = size;
	o->hash = hash;
	o->engine = e;
	o->opened = NULL;
	o->alloc = make_track(pcs, nr);
	kfence_cover_locked(hash, 1);
	kfence_fill_canary_locked(o);
	kfence_mark_page_locked(o, e, true);
	kfence_counters.allocated++;
	kfence_counters.allocations++;
	return o->addr;
}

static cold void *alloc_object(struct engine *e, size_t size, gfp_t gfp, const void *caller)
{
	uintptr_t pcs[STACKS_DEPTH];
	unsigned int nr = os_unwind(caller, pcs, STACKS_DEPTH);
	void *obj;

	lock_acquire(&kfence_pool.lock);
	obj = alloc_object_locked(e, size, pcs, nr);
	lock_release(&kfence_pool.lock);
	if (!obj)
		return NULL;
	kfence_fault_install();
	if (gfp & __GFP_ZERO)
		memset(obj, 0, size);
	if (e->ctor)
		e->ctor(obj);
	return obj;
}

void *kfence_alloc(struct engine *e, size_t size, gfp_t gfp, const void *caller,
		   unsigned int weight)
{
	long sample = load_relaxed(&options.sample);

	if (likely(!sample) || likely(!gate_opens(sample, weight)) || !kfence_is_on())
		return NULL;
	/* a constructor may write to the whole object */
	if (!size || e->ctor)
		size = load_relaxed(&e->object_size);
	if (size > PAGE_SIZE)
		return NULL;
	if (!is_compatible(e, gfp)) {
		fetch_add(&kfence_counters.skipped_incompatible, 1);
		return NULL;
	}
	return load_relaxed(&e->flags) & SLAB_SKIP_KFENCE ? NULL
							  : alloc_object(e, size, gfp, caller);
}

/* ---- free ------------------------------------------------------------------------------------ */

/* Closes the guard page that a report opened; bytes written there are cleared. */
static void close_opened_locked(struct kfence_object *o)
{
	if (!o->opened)
		return;
	memset(o->opened, 0, PAGE_SIZE);
	kfence_close_locked(o->opened);
	o->opened = NULL;
}

/* At most one report for each side of the object. */
static void check_canaries_locked(const struct kfence_object *o, const uintptr_t *pcs,
				  unsigned int nr)
{
	for (int behind = 0; behind <= 1; behind++) {
		const char *bad = kfence_bad_canary_locked(o, behind);

		if (bad)
			kfence_report_locked(KFENCE_CORRUPTION, o, bad, KFENCE_WRITE, pcs, nr);
	}
}

static void close_object_locked(struct kfence_object *o, enum kfence_state state,
				const uintptr_t *pcs, unsigned int nr)
{
	close_opened_locked(o);
	o->state = state;
	o->free = make_track(pcs, nr);
	check_canaries_locked(o, pcs, nr);
	kfence_close_locked(kfence_object_page(o));
	kfence_cover_locked(o->hash, -1);
	kfence_counters.allocated--;
}

static void free_locked(struct kfence_object *o, const uintptr_t *pcs, unsigned int nr)
{
	close_object_locked(o, KFENCE_FREED, pcs, nr);
	kfence_mark_page_locked(o, o->engine, false);
	list_add_tail(&o->list, &kfence_pool.free);
	kfence_counters.frees++;
}

/* The object is the program's still, and no lock is held, which its destructor may not bear. */
static void destruct(const struct kfence_object *o, void *obj)
{
	if (o && o->state == KFENCE_ALLOCATED && o->addr == obj && o->engine->dtor)
		o->engine->dtor(obj);
}

void kfence_free(void *obj, const void *caller)
{
	struct kfence_object *o = kfence_object_at(kfence_page_index(obj));
	uintptr_t pcs[STACKS_DEPTH];
	unsigned int nr = os_unwind(caller, pcs, STACKS_DEPTH);

	destruct(o, obj);
	lock_acquire(&kfence_pool.lock);
	if (o && o->state == KFENCE_ALLOCATED && o->addr == obj)
		free_locked(o, pcs, nr);
	else
		kfence_report_locked(KFENCE_INVALID_FREE, o, obj, KFENCE_WRITE, pcs, nr);
	lock_release(&kfence_pool.lock);
	report_deliver();
}

bool kfence_report_read(const void *p, const void *caller)
{
	struct kfence_object *o = kfence_object_at(kfence_page_index(p));
	uintptr_t pcs[STACKS_DEPTH];
	unsigned int nr = os_unwind(caller, pcs, STACKS_DEPTH);
	bool freed;

	lock_acquire(&kfence_pool.lock);
	freed = o && o->addr == p && o->state != KFENCE_ALLOCATED && o->state != KFENCE_UNUSED;
	if (freed) {
		kfence_report_locked(KFENCE_USE_AFTER_FREE, o, p, KFENCE_READ, pcs, nr);
		kfence_open_locked(kfence_object_page(o));
	}
	lock_release(&kfence_pool.lock);
	report_deliver();
	return freed;
}

size_t kfence_size(const void *p)
{
	const struct kfence_object *o = kfence_object_at(kfence_page_index(p));

	return o && o->addr == p ? load_relaxed(&o->size) : 0;
}

bool kfence_describe(const void *p, struct kfence_info *info)
{
	const struct kfence_object *o = kfence_in_pool(p) ? kfence_object_at(kfence_page_index(p))
							  : NULL;

	if (!o || o->state == KFENCE_UNUSED)
		return false;
	*info = (struct kfence_info){
		.start = o->addr,
		.engine = o->engine,
		.allocated = o->alloc.stack,
		.freed = o->state == KFENCE_ALLOCATED ? 0 : o->free.stack,
	};
	return true;
}

void kfence_walk(struct page *slab, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	const struct kfence_object *o = kfence_object_at(kfence_page_index(page_address(slab)));

	if (o && o->state == KFENCE_ALLOCATED)
		visit(page_address(slab), o->addr, arg);
}

struct kfence_share kfence_share_of(const struct engine *e)
{
	struct kfence_share share = { 0 };

	if (!kfence_is_on())
		return share;
	lock_acquire(&kfence_pool.lock);
	for (unsigned int i = 0; i < kfence_pool.nr_objects; i++) {
		const struct kfence_object *o = &kfence_pool.object[i];

		share.pages += o->engine == e;
		share.inuse += o->engine == e && o->state == KFENCE_ALLOCATED;
	}
	lock_release(&kfence_pool.lock);
	return share;
}

static void orphan_locked(struct kfence_object *o, const uintptr_t *pcs, unsigned int nr)
{
	if (o->state == KFENCE_ALLOCATED) {
		close_object_locked(o, KFENCE_ZOMBIE, pcs, nr);
		kfence_counters.zombies++;
	}
	o->engine = NULL;
	kfence_mark_page_locked(o, NULL, false);
}

void kfence_cache_gone(struct engine *e)
{
	uintptr_t pcs[STACKS_DEPTH];
	unsigned int nr;

	if (!kfence_is_on())
		return;
	nr = os_unwind(NULL, pcs, STACKS_DEPTH);
	lock_acquire(&kfence_pool.lock);
	for (unsigned int i = 0; i < kfence_pool.nr_objects; i++)
		if (kfence_pool.object[i].engine == e)
			orphan_locked(&kfence_pool.object[i], pcs, nr);
	lock_release(&kfence_pool.lock);
	report_deliver();
}

/* ---- fork ------------------------------------------------------------------------------------ */

void kfence_each_lock(void (*act)(struct lock *l))
{
	act(&kfence_pool.lock);
}
