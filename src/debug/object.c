/* SPDX-License-Identifier: MIT */
/*
 * debug/object.c - one object: its red zones and poison, its size for the program, its users
 *
 * Data:       the bytes of one slot of a debug slab.
 * Invariants: red zones of objects in use are RED_ACTIVE from the last byte that was asked for to
 *             inuse, those of free ones RED_INACTIVE from object_size to inuse (spec 4.4).
 * Locks:      list_lock of the slab's node, or the slab is private. debug_usable_size(): none;
 *             the object is the caller's.
 * Flow:       called by debug/, cache/ and malloc/; calls os/unwind/unwind.h and stacks.c.
 */
#include "debug/report/report.h"
#include "debug/slab.h"
#include "debug/stacks.h"
#include "os/time/clock.h"
#include "os/cpu/cpu.h"
#include "os/process/process.h"
#include "os/unwind/unwind.h"

/* 0, or too large a value: the program wrote behind its object. */
unsigned int debug_size_asked(const struct page *slab, void *obj)
{
	const struct slab_layout *layout = slab->layout;
	uint32_t size;

	if (!debug_knows_size(slab))
		return layout->object_size;
	size = *debug_orig_size(layout, obj);
	return size && size < layout->object_size ? size : layout->object_size;
}

void debug_set_size_asked(const struct page *slab, void *obj, size_t size)
{
	const struct slab_layout *layout = slab->layout;

	if (!debug_knows_size(slab))
		return;
	if (!size || size > layout->object_size)
		size = layout->object_size;
	*debug_orig_size(layout, obj) = (uint32_t)size;
}

void debug_fill(const struct page *slab, void *obj, unsigned char red)
{
	const struct slab_layout *layout = slab->layout;
	unsigned char *p = obj;
	unsigned int body = layout->object_size;

	if (layout->debug & SLAB_RED_ZONE) {
		if (red == RED_ACTIVE)
			body = debug_size_asked(slab, obj);
		memset(p - layout->red_left_pad, red, layout->red_left_pad);
		memset(p + body, red, layout->inuse - body);
	}
	if (debug_poisons_objects(slab)) {
		memset(p, POISON_FREE, body - 1);
		p[body - 1] = POISON_END;
	}
}

struct track debug_make_track(const void *caller, bool stack)
{
	uintptr_t pcs[STACKS_DEPTH];

	return (struct track){
		.addr = (uintptr_t)caller,
		.handle = stack ? stacks_save(pcs, os_unwind(caller, pcs, STACKS_DEPTH)) : 0,
		.cpu = os_current_cpu(),
		.pid = os_thread_id(),
		.when = os_clock_ms(),
	};
}

void debug_request_init(struct debug_request *r, const struct engine *e,
			const struct slab_layout *layout, const void *caller, size_t size)
{
	*r = (struct debug_request){
		.caller = caller,
		.size = size,
		.flags = load_relaxed(&e->debug->flags),
		.track.addr = (uintptr_t)caller,
	};
	/* Flushed by a front, after a free on a hit path: the caller is not known. */
	if (!caller || !(layout->debug & SLAB_STORE_USER))
		return;
	r->track = debug_make_track(caller, r->flags & SLAB_STORE_USER);
}

void debug_mark_sample(void *obj, uint32_t sample)
{
	const struct slab_layout *layout = page_head_of(obj)->layout;

	if (layout->debug & SLAB_STORE_USER)
		store_relaxed(&debug_track(layout, obj, TRACK_ALLOC)->sample, sample);
}

void debug_set_user(void *obj, const void *caller)
{
	struct page *slab = page_head_of(obj);
	struct engine_node *node = debug_node_of(slab);
	struct debug_request r;

	if (!(slab->layout->debug & SLAB_STORE_USER))
		return;
	debug_request_init(&r, slab->engine, slab->layout, caller, 0);
	lock_acquire(&node->list_lock);
	*debug_track(slab->layout, obj, TRACK_ALLOC) = r.track;
	lock_release(&node->list_lock);
}

/* Spec 5.7. */
size_t debug_usable_size(const struct page *slab, const void *obj)
{
	const struct slab_layout *layout = slab->layout;

	if (debug_knows_size(slab))
		return debug_size_asked(slab, (void *)obj);
	return layout->debug & (SLAB_RED_ZONE | SLAB_POISON) ? layout->object_size : layout->inuse;
}

bool debug_report_free(struct page *slab, void *obj)
{
	struct engine_node *node = debug_node_of(slab);
	bool is_free;

	if (!(load_relaxed(&debug_of_slab(slab)->flags) & SLAB_CONSISTENCY_CHECKS) ||
	    !debug_is_object(slab, obj))
		return false;
	lock_acquire(&node->list_lock);
	is_free = debug_on_freelist_locked(slab->engine, slab, obj);
	if (engine_counters(slab).colour != LIST_NONE)
		debug_place_locked(slab, true); /* the free list may have been mended */
	if (is_free)
		report_object(slab->engine, slab, obj, REPORT_FREE_ALREADY);
	lock_release(&node->list_lock);
	report_deliver();
	return is_free;
}

/* F: a pointer to no object, or to a free one, is reported, and nothing is written there. */
static bool check_resize_locked(struct engine *e, struct page *slab, void *obj)
{
	if (!debug_is_object(slab, obj)) {
		report_slab_invalid(e, slab, obj);
		return false;
	}
	if (debug_on_freelist_locked(e, slab, obj)) {
		report_object(e, slab, obj, REPORT_FREE_ALREADY);
		return false;
	}
	/*
	 * Bytes written behind the old end must be reported before they become part of the object.
	 */
	debug_check_object(e, slab, obj, RED_ACTIVE);
	return true;
}

bool debug_resize(struct page *slab, void *obj, size_t new_size)
{
	const struct slab_layout *layout = slab->layout;
	struct engine_node *node = debug_node_of(slab);
	bool in_use = debug_is_object(slab, obj);

	if (!debug_knows_size(slab))
		return false;
	lock_acquire(&node->list_lock);
	if (load_relaxed(&debug_of_slab(slab)->flags) & SLAB_CONSISTENCY_CHECKS) {
		in_use = check_resize_locked(slab->engine, slab, obj);
		if (engine_counters(slab).colour != LIST_NONE)
			debug_place_locked(slab, true); /* the free list may have been mended */
	}
	if (in_use) {
		debug_set_size_asked(slab, obj, new_size);
		if (layout->debug & SLAB_RED_ZONE)
			memset((char *)obj + new_size, RED_ACTIVE, layout->object_size - new_size);
	}
	lock_release(&node->list_lock);
	report_deliver();
	return true;
}
