/* SPDX-License-Identifier: MIT */
/*
 * debug/validate.c - checks, shrinks, walks and counts all debug slabs of a cache (spec 7.8, 4.14)
 *
 * Data:       a bitmap of a slab's objects on the stack (4 KiB).
 * Invariants: after debug_shrink() partial lists are sorted by free objects, ascending, as far as
 *             32, and no slab is empty.
 * Locks:      list_lock of each node in turn; reports are delivered when it is released.
 * Flow:       called by alloc.c, wrap.c and cache/debug/debug.c; calls check.c, slab.c.
 */
#include "debug/report/report.h"
#include "debug/slab.h"

#define SHRINK_PROMOTE_MAX 32

static void unlock(struct engine_node *node)
{
	lock_release(&node->list_lock);
	report_deliver();
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Stops at the first bad object. */
static void validate_slab_locked(struct engine *e, struct page *slab)
{
	unsigned int objects = debug_capacity(slab);
	struct debug_bitmap map;

	if (!debug_check_slab_locked(e, slab) || !debug_on_freelist_locked(e, slab, NULL))
		return;
	debug_mark_free_locked(slab, &map);
	for (unsigned int i = 0; i < objects; i++)
		if (!debug_check_object(e, slab, debug_object(slab, i),
					debug_bitmap_has(&map, i) ? RED_INACTIVE : RED_ACTIVE))
			return;
}

static unsigned long validate_list_locked(struct engine *e, struct list_head *list)
{
	unsigned long slabs = 0;
	struct list_head *pos;

	list_for_each(pos, list) {
		validate_slab_locked(e, list_entry(pos, struct page, lru));
		slabs++;
	}
	return slabs;
}

/* A repair may have made a slab full, or not full. */
static void place_list_locked(struct list_head *list)
{
	struct list_head *pos;
	struct list_head *tmp;

	list_for_each_safe(pos, tmp, list)
		debug_place_locked(list_entry(pos, struct page, lru), true);
}

unsigned long debug_validate(struct engine *e)
{
	const struct debug *d = e->debug;
	unsigned long slabs = 0;

	for (unsigned int i = 0; i < d->nr_nodes; i++) {
		struct engine_node *node = d->node[i];
		unsigned long partial;

		lock_acquire(&node->list_lock);
		partial = validate_list_locked(e, &node->partial);
		if (partial != node->nr_partial)
			report_wrong_partial(e, partial, node->nr_partial);
		slabs += partial + validate_list_locked(e, &node->full);
		place_list_locked(&node->partial);
		place_list_locked(&node->full);
		unlock(node);
	}
	return slabs;
}

/* ---- shrinking ------------------------------------------------------------------------------- */

/* Returns the empty slabs. */
static struct page *forget_empty_locked(struct engine_node *node)
{
	struct list_head *const lists[] = { &node->partial, &node->full };
	struct page *empty = NULL;
	struct list_head *pos;
	struct list_head *tmp;

	for (unsigned int i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_safe(pos, tmp, lists[i]) {
			struct page *slab = list_entry(pos, struct page, lru);

			if (debug_is_surplus_locked(slab, true))
				debug_forget_locked(slab, &empty);
		}
	return empty;
}

static void sort_partial_locked(struct engine_node *node)
{
	struct list_head promote[SHRINK_PROMOTE_MAX];
	struct list_head *pos;
	struct list_head *tmp;

	for (unsigned int i = 0; i < SHRINK_PROMOTE_MAX; i++)
		list_init(&promote[i]);
	list_for_each_safe(pos, tmp, &node->partial) {
		struct page *slab = list_entry(pos, struct page, lru);
		struct slab_counters counters = engine_counters(slab);
		unsigned int free = counters.objects - counters.inuse;

		if (free && free <= SHRINK_PROMOTE_MAX) {
			list_del(&slab->lru);
			list_add(&slab->lru, &promote[free - 1]);
		}
	}
	for (unsigned int i = SHRINK_PROMOTE_MAX; i-- > 0;)
		list_splice(&promote[i], &node->partial);
}

int debug_shrink(struct engine *e)
{
	const struct debug *d = e->debug;
	int remain = 0;

	for (unsigned int i = 0; i < d->nr_nodes; i++) {
		struct engine_node *node = d->node[i];
		struct page *empty;

		lock_acquire(&node->list_lock);
		empty = forget_empty_locked(node);
		sort_partial_locked(node);
		lock_release(&node->list_lock);
		debug_slab_free_list(e, empty);
		if (load_relaxed(&node->nr_slabs))
			remain = 1;
	}
	return remain;
}

/* ---- for reports and statistics -------------------------------------------------------------- */

/* As in the kernel full slabs are not listed. */
static void walk_slab_locked(struct page *slab, void (*visit)(void *slab, void *obj, void *arg),
			     void *arg)
{
	unsigned int objects = debug_capacity(slab);
	struct debug_bitmap map;

	debug_mark_free_locked(slab, &map);
	for (unsigned int n = 0; n < objects; n++)
		if (!debug_bitmap_has(&map, n))
			visit(page_address(slab), debug_object(slab, n), arg);
}

void debug_walk_slab(struct page *slab, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	struct engine_node *node = debug_node_of(slab);

	lock_acquire(&node->list_lock);
	if (!engine_counters(slab).frozen)
		walk_slab_locked(slab, visit, arg);
	unlock(node);
}

void debug_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg)
{
	const struct debug *d = e->debug;
	struct list_head *pos;

	for (unsigned int i = 0; i < d->nr_nodes; i++) {
		lock_acquire(&d->node[i]->list_lock);
		list_for_each(pos, &d->node[i]->partial)
			walk_slab_locked(list_entry(pos, struct page, lru), visit, arg);
		unlock(d->node[i]);
	}
}

static unsigned long count_free_locked(const struct list_head *list)
{
	const struct list_head *pos;
	unsigned long free = 0;

	list_for_each(pos, list) {
		struct slab_counters counters = engine_counters(list_entry(pos, struct page, lru));

		free += counters.objects - counters.inuse;
	}
	return free;
}

unsigned long debug_count_free(struct engine_node *node)
{
	unsigned long free;

	lock_acquire(&node->list_lock);
	free = count_free_locked(&node->partial) + count_free_locked(&node->full);
	lock_release(&node->list_lock);
	return free;
}

void debug_add_stats(struct engine *e, struct engine_stats *stats)
{
	const struct debug *d = e->debug;

	for (unsigned int i = 0; i < d->nr_nodes; i++) {
		struct engine_node *node = d->node[i];

		lock_acquire(&node->list_lock);
		stats->nr_slabs += load_relaxed(&node->nr_slabs);
		stats->nr_partial += node->nr_partial;
		stats->total_objects += load_relaxed(&node->total_objects);
		stats->slab_bytes += load_relaxed(&node->nr_pages) * PAGE_SIZE;
		stats->free_objects +=
			count_free_locked(&node->partial) + count_free_locked(&node->full);
		lock_release(&node->list_lock);
	}
}
