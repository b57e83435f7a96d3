/* SPDX-License-Identifier: MIT */
/*
 * inspect/layouts.c - debug flags of a process's caches, layouts of new slabs, kinds of slabs
 *
 * Data:       struct snapshot of the caller.
 * Invariants: at most MAX_READS layouts are read while pages are counted: a process may name
 *             another one on each page. Debug layouts are known by their address and not read.
 * Locks:      none.
 * Flow:       called by inspect/snapshot.c for each cache, and by pages.c for each slab.
 */
#include <string.h>

#include "base/bits.h"
#include "cache/control/control.h"
#include "debug/debug.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "page/arena.h"
#include "page/reserve.h"
#include "inspect/internal.h"

#define MAX_OBJECTS 32767u /* in a slab: 15 bits */
#define MAX_READS 1024u

/* Layout of new slabs. */
static void read_layout(struct snapshot *s, struct snapshot_cache *c, uint64_t address)
{
	struct slab_layout layout;

	if (!snapshot_read(s, address, &layout, sizeof(layout)))
		return;
	if (layout.order > ARENA_CHUNK_ORDER || layout.objects > MAX_OBJECTS) {
		s->totals.inconsistent++;
		return;
	}
	c->order = layout.order;
	c->objs_per_slab = layout.objects;
	if (layout.kind == LAYOUT_DEBUG)
		c->slab_size = layout.stride;
}

uint64_t snapshot_layouts(struct snapshot *s, unsigned int index, const struct engine *e)
{
	struct snapshot_cache *c = &s->cache[index];
	struct snapshot_work *work = &s->work[index];
	uint64_t layout = (uintptr_t)e->layout;
	uint64_t ops = (uintptr_t)e->ops;
	struct debug debug;

	work->layout = layout;
	if (e->debug && snapshot_read(s, (uintptr_t)e->debug, &debug, sizeof(debug))) {
		work->debug_layouts = (uintptr_t)e->debug + offsetof(struct debug, layouts);
		ops = (uintptr_t)debug.inner;
		c->tracking_since = debug.tracking_since;
		/* if it is only sampled, its debug slabs have U, but U is not shown as its flag */
		if (!c->sampled)
			c->flags = (c->flags & ~DEBUG_SLAB_FLAGS) |
				   (debug.flags & DEBUG_SLAB_FLAGS);
		if (c->flags & DEBUG_SLAB_FLAGS && debug.layout)
			layout = (uintptr_t)debug.layout;
	}
	read_layout(s, c, layout);
	return ops;
}

enum layout_kind snapshot_kind(struct snapshot *s, unsigned int index, uint64_t address,
			       slab_flags_t *debug)
{
	const struct snapshot_work *work = &s->work[index];
	uint64_t first = work->debug_layouts;
	struct slab_layout layout;

	*debug = 0;
	if (address == work->layout)
		return LAYOUT_PLAIN;
	if (first && address >= first && address < first + sizeof(((struct debug *)0)->layouts)) {
		unsigned int flags = (unsigned int)((address - first) / sizeof(struct slab_layout));

		*debug = (flags & debug_layout_index(SLAB_RED_ZONE) ? SLAB_RED_ZONE : 0) |
			 (flags & debug_layout_index(SLAB_POISON) ? SLAB_POISON : 0) |
			 (flags & debug_layout_index(SLAB_STORE_USER) ? SLAB_STORE_USER : 0);
		return LAYOUT_DEBUG;
	}
	if (s->layouts_read >= MAX_READS)
		return LAYOUT_PLAIN;
	s->layouts_read++;
	return snapshot_read(s, address, &layout, sizeof(layout)) ? layout.kind : LAYOUT_PLAIN;
}

/* Of a core file it is not known what the time was. */
static bool is_left(struct snapshot *s, const struct snapshot_cache *c)
{
	struct control control;

	return c->sampled && !s->reader->still &&
	       snapshot_read(s, s->root.control, &control, sizeof(control)) &&
	       control_sampling_is_over(&control, c->tracking_since, reader_clock_ms(s->reader));
}

void snapshot_sampling(struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		struct snapshot_cache *c = &s->cache[i];

		c->sampling_left = is_left(s, c);
		c->sampled = c->sampled && !c->sampling_left;
	}
}

void snapshot_debug_totals(struct snapshot *s)
{
	struct snapshot_totals *t = &s->totals;
	struct report_counters reports;
	struct kfence_counters guarded;
	struct reserve_counters reserve;
	uint64_t depot = 0;
	uint32_t stacks;

	if (s->root.reports && snapshot_read(s, s->root.reports, &reports, sizeof(reports))) {
		t->reports = reports.reports;
		t->fixes = reports.fixes;
		t->undelivered = reports.undelivered;
		t->isolated = reports.isolated;
		t->suppressed = reports.suppressed;
	}
	if (s->root.reserve && snapshot_read(s, s->root.reserve, &reserve, sizeof(reserve))) {
		t->reserve_blocks = reserve.blocks;
		t->reserve_served = reserve.served;
		t->reserve_failed = reserve.failed;
		t->reserve_lost = reserve.lost;
		t->deferred_frees = reserve.waiting;
	}
	if (s->root.kfence && snapshot_read(s, s->root.kfence, &guarded, sizeof(guarded)))
		t->guard_bugs = guarded.bugs;
	if (s->root.stacks && snapshot_read(s, s->root.stacks, &depot, sizeof(depot)) && depot &&
	    snapshot_read(s, depot + offsetof(struct stacks, nr_stacks), &stacks, sizeof(stacks)))
		t->stacks = stacks;
}
