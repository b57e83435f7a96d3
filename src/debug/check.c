/* SPDX-License-Identifier: MIT */
/*
 * debug/check.c - checks objects, slabs and free lists; reports damage and repairs it (spec 7.2)
 *
 * Data:       none of its own.
 * Invariants: a check that fails has reported; whatever it returns, the free list can be followed
 *             and the counters agree with it afterwards, as far as it checked them. debug_check()
 *             at the end asserts our own invariants.
 * Locks:      list_lock of the slab's node, or the slab is private.
 * Flow:       called by debug/; calls report.c.
 */
#include "base/assert.h"
#include "debug/report/report.h"
#include "debug/slab.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The first byte that is not value; NULL: there is none. */
static unsigned char *first_wrong(unsigned char *p, unsigned char value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return p + i;
	return NULL;
}

/* The last one before end; there is one. */
static unsigned char *last_wrong(unsigned char *end, unsigned char value)
{
	do
		end--;
	while (*end == value);
	return end;
}

/* n bytes at p must be value. Otherwise they are reported and restored. */
static bool check_bytes(struct engine *e, struct page *slab, void *obj, enum report_area area,
			unsigned char *p, unsigned char value, size_t n)
{
	unsigned char *first = first_wrong(p, value, n);
	unsigned char *last;

	if (likely(!first))
		return true;
	last = last_wrong(p + n, value);
	report_bytes(e, slab, obj, area, first, last, value);
	report_fix_bytes(e, area, first, last, value);
	memset(first, value, (size_t)(last - first) + 1);
	return false;
}

void debug_check_pad(struct engine *e, struct page *slab)
{
	size_t length = PAGE_SIZE << slab->order;
	size_t rest = length % slab->layout->stride;
	unsigned char *pad = (unsigned char *)page_address(slab) + length - rest;
	unsigned char *first;
	unsigned char *last;

	if (!(slab->layout->debug & SLAB_POISON))
		return;
	first = first_wrong(pad, POISON_INUSE, rest);
	if (likely(!first))
		return;
	last = last_wrong(pad + rest, POISON_INUSE);
	report_padding(e, slab, first, last, pad);
	report_fix_bytes(e, AREA_SLAB_PADDING, first, last, POISON_INUSE);
	memset(first, POISON_INUSE, (size_t)(last - first) + 1);
}

/* ---- one object ------------------------------------------------------------------------------ */

static bool check_red_zones(struct engine *e, struct page *slab, void *obj, unsigned char red)
{
	const struct slab_layout *layout = slab->layout;
	unsigned int size = layout->object_size;
	unsigned char *p = obj;
	unsigned int asked;

	if (!check_bytes(e, slab, obj, AREA_LEFT_REDZONE, p - layout->red_left_pad, red,
			 layout->red_left_pad) ||
	    !check_bytes(e, slab, obj, AREA_RIGHT_REDZONE, p + size, red, layout->inuse - size))
		return false;
	if (red != RED_ACTIVE)
		return true;
	asked = debug_size_asked(slab, obj);
	return check_bytes(e, slab, obj, AREA_KMALLOC_REDZONE, p + asked, red, size - asked);
}

bool debug_check_poison(struct engine *e, struct page *slab, void *obj, unsigned int size)
{
	unsigned char *p = obj;

	return check_bytes(e, slab, obj, AREA_POISON, p, POISON_FREE, size - 1) &&
	       check_bytes(e, slab, obj, AREA_END_POISON, p + size - 1, POISON_END, 1);
}

/* Damage here is reported and repaired, and the object stays in use. */
static void check_object_padding(struct engine *e, struct page *slab, void *obj)
{
	const struct slab_layout *layout = slab->layout;
	unsigned int end = debug_info_end(layout, debug_of_slab(slab)->orig_size);

	check_bytes(e, slab, obj, AREA_OBJECT_PADDING, (unsigned char *)obj + end, POISON_INUSE,
		    layout->stride - layout->red_left_pad - end);
}

static bool check_free_pointer(struct engine *e, struct page *slab, void *obj)
{
	void *next = debug_next_free(slab, obj);

	if (!next || debug_is_object(slab, next))
		return true;
	report_object(e, slab, obj, REPORT_FREE_POINTER);
	debug_set_next_free(slab, obj, NULL); /* loses the rest of the list */
	return false;
}

bool debug_check_object(struct engine *e, struct page *slab, void *obj, unsigned char red)
{
	const struct slab_layout *layout = slab->layout;
	unsigned int size = layout->object_size;

	if (layout->debug & SLAB_RED_ZONE) {
		if (!check_red_zones(e, slab, obj, red))
			return false;
	} else if (layout->debug & SLAB_POISON) {
		check_bytes(e, slab, obj, AREA_ALIGNMENT, (unsigned char *)obj + size, POISON_INUSE,
			    layout->inuse - size);
	}
	if (layout->debug & SLAB_POISON) {
		if (red == RED_INACTIVE && debug_poisons_objects(slab) &&
		    !debug_check_poison(e, slab, obj, size))
			return false;
		check_object_padding(e, slab, obj);
	}
	/* While the object is in use, the program's bytes are in the place of the free pointer. */
	if (red == RED_ACTIVE && !debug_freeptr_outside(layout))
		return true;
	return check_free_pointer(e, slab, obj);
}

/* ---- the slab -------------------------------------------------------------------------------- */

bool debug_check_slab_locked(struct engine *e, struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);
	unsigned int max = debug_capacity(slab);

	if (slab->type != PAGE_SLAB) {
		report_slab(e, slab, REPORT_NO_SLAB);
		return false;
	}
	if (counters.objects > max) {
		report_slab_counts(e, slab, REPORT_MOST_OBJECTS, counters.objects, (int)max);
		return false;
	}
	if (counters.inuse > counters.objects) {
		report_slab_counts(e, slab, REPORT_MOST_INUSE, counters.inuse, counters.objects);
		return false;
	}
	if (counters.frozen) {
		report_slab(e, slab, REPORT_ISOLATED);
		return false;
	}
	debug_check_pad(e, slab);
	return true;
}

/* Sets the counters to what was counted. */
static void adjust_counters(struct engine *e, struct page *slab, unsigned int counted)
{
	struct slab_counters counters = engine_counters(slab);
	unsigned int max = debug_capacity(slab);

	if (counters.objects != max) {
		report_slab_counts(e, slab, REPORT_OBJECTS, counters.objects, (int)max);
		counters.objects = (uint16_t)(max & 0x7fff);
		report_fix(e, FIX_OBJECTS, NULL);
	}
	if (counters.inuse + counted != max) {
		report_slab_counts(e, slab, REPORT_COUNT, counters.inuse, (int)(max - counted));
		counters.inuse = (uint16_t)(max - counted);
		report_fix(e, FIX_COUNT, NULL);
	}
	engine_set_counters(slab, counters);
}

/*
 * A list with a cycle. The kernel counts one object more than there are and adjusts its counters;
 * here the list is dropped, so that no object is allocated twice.
 */
static void give_up_list(struct engine *e, struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);
	unsigned int max = debug_capacity(slab);

	report_slab_counts(e, slab, REPORT_COUNT, counters.inuse, -1);
	counters.objects = (uint16_t)(max & 0x7fff);
	counters.inuse = (uint16_t)max;
	engine_set_counters(slab, counters);
	slab->freelist = NULL;
	report_fix(e, FIX_COUNT, NULL);
}

/* slab->freelist itself is no object. */
static void clear_list(struct engine *e, struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);

	report_slab(e, slab, REPORT_FREE_LIST);
	counters.inuse = counters.objects;
	engine_set_counters(slab, counters);
	slab->freelist = NULL;
	report_fix(e, FIX_FREE_LIST, NULL);
}

bool debug_on_freelist_locked(struct engine *e, struct page *slab, const void *obj)
{
	unsigned int max = debug_capacity(slab);
	unsigned int counted = 0;
	void *last = NULL;

	for (void *free = slab->freelist; free; free = debug_next_free(slab, free)) {
		if (free == obj)
			return true;
		if (!debug_is_object(slab, free)) {
			if (!last) {
				clear_list(e, slab);
				return false;
			}
			report_object(e, slab, last, REPORT_FREE_CHAIN);
			debug_set_next_free(slab, last, NULL);
			break;
		}
		if (++counted > max) {
			give_up_list(e, slab);
			return !obj;
		}
		last = free;
	}
	adjust_counters(e, slab, counted);
	return !obj;
}

void debug_mark_free_locked(const struct page *slab, struct debug_bitmap *map)
{
	memset(map, 0, sizeof(map->word[0]) * (debug_capacity(slab) / 64 + 1));
	for (void *free = slab->freelist; free; free = debug_next_free(slab, free)) {
		unsigned int i = debug_object_index(slab, free);

		if (unlikely(!debug_is_object(slab, free) || debug_bitmap_has(map, i)))
			return;
		map->word[i / 64] |= 1ull << (i % 64);
	}
}

/* ---- our own invariants ---------------------------------------------------------------------- */

static void check_slab(struct engine *e, const struct page *slab, enum debug_list list)
{
	struct slab_counters counters = engine_counters(slab);
	unsigned int counted = 0;

	CHECK(debug_is_slab(slab) && slab->engine == e);
	CHECK(slab->nr_pages == 1u << slab->order);
	CHECK(page_map.class[page_index(page_address(slab))] == 0);
	CHECK(counters.colour == list && !counters.frozen);
	CHECK(counters.objects == debug_capacity(slab));
	for (void *free = slab->freelist; free; free = debug_next_free(slab, free)) {
		CHECK(debug_is_object(slab, free));
		CHECK(++counted <= counters.objects);
	}
	CHECK(counters.inuse + counted == counters.objects);
	if (list == LIST_PARTIAL)
		CHECK(slab->freelist && slab->layout == e->debug->layout);
	else
		CHECK(!slab->freelist || slab->layout != e->debug->layout);
}

static void check_node(struct engine *e, unsigned int nr)
{
	struct engine_node *node = e->debug->node[nr];
	unsigned long partial = 0;
	unsigned long objects = 0;
	unsigned long slabs = 0;
	struct list_head *pos;

	lock_acquire(&node->list_lock);
	list_for_each(pos, &node->partial) {
		check_slab(e, list_entry(pos, struct page, lru), LIST_PARTIAL);
		objects += engine_counters(list_entry(pos, struct page, lru)).objects;
		CHECK(++partial <= node->nr_partial);
	}
	CHECK(partial == node->nr_partial);
	list_for_each(pos, &node->full) {
		check_slab(e, list_entry(pos, struct page, lru), LIST_FULL);
		objects += engine_counters(list_entry(pos, struct page, lru)).objects;
		slabs++;
	}
	/* Isolated slabs are on no list. */
	CHECK(partial + slabs <= load_relaxed(&node->nr_slabs));
	CHECK(objects <= load_relaxed(&node->total_objects));
	lock_release(&node->list_lock);
}

void debug_check(struct engine *e)
{
	const struct debug *d = e->debug;

	CHECK(d->engine == e && e->ops == &d->ops);
	CHECK(d->layout || !d->flags);
	for (unsigned int i = 0; i < d->nr_nodes; i++)
		check_node(e, i);
}
