/* SPDX-License-Identifier: MIT */
/*
 * cache/debug/misuse.c - wrong frees: found without debug flags, reported, refused
 *
 * Why:        docs/adr/0020.
 * Data:       none.
 * Invariants: a free is refused only if it is certain that the object is free: a mark alone is a
 *             suspicion. Reports are delivered with no lock held.
 * Locks:      cache_lock, while it is found out whether an object is free.
 * Flow:       called by api/kmalloc_api.c, api/mempool_api.c, api/resize_api.c, cache/,
 *             malloc/resize.c and malloc/slow.c; calls the front's drain, the engine's is_free,
 *             debug/pages/pages.c, debug/report/report.c.
 *
 * Is an object free? It is if it lies in the array of this CPU, or in a lent sheaf. Else the front
 * is drained, so that free objects lie in their slabs, or are held by a thread that is about to
 * allocate or flush them. Such an object keeps its mark, so the check is repeated; one that was
 * allocated has lost it.
 */
#include "base/atomic.h"
#include "cache/instrument/instrument.h"
#include "cache/lent.h"
#include "cache/object.h"
#include "debug/debug.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/pages.h"
#include "debug/report/report.h"
#include "front/depot.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "page/nested.h"
#include "page/large.h"
#include "page/reserve.h"

#define MAX_LOOKS 3

/* ---- is it free? ---- */

/*
 * Read without a sequence: an entry at or below the top is a free object, and what the caller owns
 * can be none of these at any time.
 */
static bool held_here(const struct cache *c, const void *obj)
{
	int cpu = percpu_cpu();
	uintptr_t top;

	if (cpu < 0 || c->front.ops != &front_array_ops)
		return false;
	top = load_relaxed(percpu_word(c->front.id, cpu));
	for (unsigned int i = sheaf_index(top); i; i--) {
		const void *entry = load_relaxed(&sheaf_base(top)[i]);

		if (!entry || entry == obj)
			return entry;
	}
	return false;
}

static bool lies_in_slab(struct cache *c, struct page *slab, void *obj)
{
	bool is_free = false;

	lock_acquire(&cache_lock);
	instrument_enter();
	for (unsigned int i = 0; i < MAX_LOOKS && !is_free && mark_is_set(obj, c->engine.mark);
	     i++) {
		c->front.ops->drain(&c->front);
		/* a slab that was freed has no live object */
		is_free = page_slab_of(obj) != slab || load_relaxed(&slab->engine) != &c->engine ||
			  c->engine.ops->is_free(&c->engine, slab, obj);
	}
	instrument_leave();
	cache_unlock();
	return is_free;
}

/* ---- reports ---- */

void cache_report_free(struct cache *c, struct page *slab, void *obj, enum report_repair undone)
{
	report_misuse(&c->engine, slab, obj, REPORT_FREE_ALREADY, NULL);
	report_not_done(&c->engine, obj, undone);
	report_deliver();
}

static bool report_if_free(struct cache *c, void *obj, enum report_repair undone)
{
	struct page *slab = page_slab_of(obj);

	if (!slab || !(held_here(c, obj) || lent_holds(obj) || lies_in_slab(c, slab, obj)))
		return false;
	cache_report_free(c, slab, obj, undone);
	return true;
}

bool cache_is_free_already(struct cache *c, void *obj)
{
	return report_if_free(c, obj, FIX_NOT_FREED);
}

bool cache_resizes_freed(const void *p, const void *caller)
{
	struct page *slab = page_slab_of(p);
	struct cache *c;
	bool is_free;

	if (!slab)
		return false;
	if (unlikely(kfence_is_object(slab))) /* else only a fault would show it, in the library */
		return !nested_call() && kfence_report_read(p, caller);
	c = container_of(slab->engine, struct cache, engine);
	if (likely(!debug_is_slab(slab)))
		return c->engine.mark && unlikely(mark_is_set(p, c->engine.mark)) &&
		       !nested_call() && report_if_free(c, (void *)p, FIX_NOT_RESIZED);
	if (nested_call())
		return false;
	instrument_enter();
	is_free = debug_report_free(slab, (void *)p);
	instrument_leave();
	return is_free;
}

bool cache_is_free(const void *p)
{
	struct page *slab = page_slab_of(p);
	struct kfence_info info;
	struct cache *c;

	if (!slab || debug_is_slab(slab))
		return false;
	if (unlikely(kfence_is_object(slab))) /* it may be inaccessible */
		return !nested_call() && kfence_describe(p, &info) && info.freed;
	c = container_of(slab->engine, struct cache, engine);
	return c->engine.mark && unlikely(mark_is_set(p, c->engine.mark)) && !nested_call() &&
	       (held_here(c, p) || lent_holds(p) || lies_in_slab(c, slab, (void *)p));
}

#define NOTE_MAX 256 /* bytes, with a name and an address */

/*
 * Where does a pointer lie at which no block starts? bytes: of the whole pages around it; 0: none.
 */
static void describe_place(char *to, size_t room, const struct page *page, size_t bytes,
			   const void *p)
{
	if (page && page->type == PAGE_HEAP)
		os_format(to, room,
			  "lies in a heap, where no such block in use starts there: "
			  "freed twice?");
	else if (page && page->type == PAGE_SLAB)
		os_format(to, room, "lies inside of an object of %s, not at its start",
			  page->engine->name);
	else if (bytes)
		os_format(to, room, "lies inside of a block of %zu bytes, not at its start", bytes);
	else if (page_in_arena(p))
		os_format(to, room, "lies in free memory: freed twice?");
	else if (reserve_owns(p))
		os_format(to, room,
			  "lies in memory for signal handlers, where no block starts "
			  "there: freed twice?");
	else
		os_format(to, room, "was not allocated by uslab%s",
			  (uintptr_t)p & (PAGE_SIZE - 1)
				  ? ""
				  : ", or was a large block that was freed already");
}

void cache_report_pointer(const struct cache_call *call, struct cache *c, const void *p)
{
	struct page *page = page_head_of(p);
	bool in_slab = page && page->type == PAGE_SLAB;
	bool in_heap = page && page->type == PAGE_HEAP;
	size_t bytes = page ? page->nr_pages * PAGE_SIZE : large_size_around(p);
	struct engine *e = c ? &c->engine : NULL;
	char note[NOTE_MAX];
	size_t len =
		os_format(note, sizeof(note), "uslab: %s(): 0x%lx ", call->name, (unsigned long)p);

	if (pages_report_freed(p, call->undone))
		return;
	if (in_slab)
		e = page->engine;
	else if (bytes && !in_heap)
		e = report_blocks();
	if (in_slab && engine_starts_object(page, p)) {
		os_format(note + len, sizeof(note) - len, "is a free object of %s", e->name);
		report_misuse(e, page, p, REPORT_FREE_ALREADY, note);
	} else {
		describe_place(note + len, sizeof(note) - len, page, bytes, p);
		report_invalid(e, in_slab || in_heap ? page : NULL, p, note);
	}
	if (call->undone)
		report_not_done(e, p, call->undone);
	report_deliver();
}

void cache_report_block(const struct cache_call *call, const void *p, enum report_kind kind,
			const char *what)
{
	struct page *slab = page_slab_of(p);
	struct engine *e = slab ? slab->engine : NULL;
	char note[NOTE_MAX];

	os_format(note, sizeof(note), "uslab: %s(): 0x%lx %s", call->name, (unsigned long)p, what);
	report_misuse(e, slab, p, kind, note);
	report_not_done(e, p, call->undone);
	report_deliver();
}

bool cache_refuses_free(const struct cache_call *call, void *p)
{
	struct page *slab = page_slab_of(p);
	bool is_free;

	if (!slab)
		return false;
	if (unlikely(debug_is_slab(slab))) {
		instrument_enter();
		is_free = debug_report_free(slab, p);
		instrument_leave();
		return is_free;
	}
	is_free = unlikely(cache_is_free(p));
	if (is_free)
		cache_report_block(call, p, REPORT_FREE_ALREADY, "is a free object");
	return is_free;
}

bool cache_has_checks(const void *p)
{
	const struct page *slab = page_slab_of(p);

	return debug_is_slab(slab) &&
	       load_relaxed(&slab->engine->debug->flags) & SLAB_CONSISTENCY_CHECKS;
}
