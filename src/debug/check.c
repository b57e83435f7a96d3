/* SPDX-License-Identifier: MIT */
/*
 * debug/check.c - is it as it should be? What programs damage is reported and repaired (spec 7.2)
 *
 * Data:       none of its own.
 * Invariants: a check that fails has reported; whatever it returns, the free list can be followed
 *             and the counters agree with it afterwards, as far as it looked at them. debug_check()
 *             at the end is about our own books, and dies.
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

/* n bytes at p must be value. Otherwise: report, and the wrong span is made right. */
static bool check_bytes(struct engine *e, struct page *slab, void *obj, const char *what,
			unsigned char *p, unsigned char value, size_t n)
{
	unsigned char *first = first_wrong(p, value, n);
	unsigned char *last;

	if (likely(!first))
		return true;
	last = last_wrong(p + n, value);
	report_bytes(e, slab, obj, what, first, last, value);
	report_fix_bytes(e, what, first, last, value);
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
	report_fix_bytes(e, "slab padding", first, last, POISON_INUSE);
	memset(first, POISON_INUSE, (size_t)(last - first) + 1);
}

/* ---- one object ------------------------------------------------------------------------------ */

static bool check_red_zones(struct engine *e, struct page *slab, void *obj, unsigned char red)
{
	const struct slab_layout *layout = slab->layout;
	unsigned int size = layout->object_size;
	unsigned char *p = obj;
	unsigned int asked;

	if (!check_bytes(e, slab, obj, "Left Redzone", p - layout->red_left_pad, red,
			 layout->red_left_pad) ||
	    !check_bytes(e, slab, obj, "Right Redzone", p + size, red, layout->inuse - size))
		return false;
	if (red != RED_ACTIVE)
		return true;
	asked = debug_size_asked(slab, obj);
	return check_bytes(e, slab, obj, "kmalloc Redzone", p + asked, red, size - asked);
}

static bool check_poison(struct engine *e, struct page *slab, void *obj)
{
	unsigned int size = slab->layout->object_size;
	unsigned char *p = obj;

	return check_bytes(e, slab, obj, "Poison", p, POISON_FREE, size - 1) &&
	       check_bytes(e, slab, obj, "End Poison", p + size - 1, POISON_END, 1);
}

/* Damage here is repaired and no reason to give the object up. */
static void check_object_padding(struct engine *e, struct page *slab, void *obj)
{
	const struct slab_layout *layout = slab->layout;
	unsigned int end = debug_info_end(layout, debug_of_slab(slab)->orig_size);

	check_bytes(e, slab, obj, "Object padding", (unsigned char *)obj + end, POISON_INUSE,
		    layout->stride - layout->red_left_pad - end);
}

static bool check_free_pointer(struct engine *e, struct page *slab, void *obj)
{
	void *next = debug_next_free(slab, obj);

	if (!next || debug_is_object(slab, next))
		return true;
	report_object(e, slab, obj, "Freepointer corrupt");
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
		check_bytes(e, slab, obj, "Alignment padding", (unsigned char *)obj + size,
			    POISON_INUSE, layout->inuse - size);
	}
	if (layout->debug & SLAB_POISON) {
		if (red == RED_INACTIVE && debug_poisons_objects(slab) &&
		    !check_poison(e, slab, obj))
			return false;
		check_object_padding(e, slab, obj);
	}
	/* The program's own bytes are in the place of the free pointer. */
	if (red == RED_ACTIVE && !debug_freeptr_outside(layout))
		return true;
	return check_free_pointer(e, slab, obj);
}

/* ---- the slab -------------------------------------------------------------------------------- */

bool debug_check_slab_locked(struct engine *e, struct page *slab)
{
	struct slab_counters counters = debug_counters(slab);
	unsigned int max = debug_capacity(slab);

	if (slab->type != PAGE_SLAB) {
		report_slab(e, slab, "Not a valid slab page");
		return false;
	}
	if (counters.objects > max) {
		report_slab(e, slab, "objects %u > max %u", counters.objects, max);
		return false;
	}
	if (counters.inuse > counters.objects) {
		report_slab(e, slab, "inuse %u > max %u", counters.inuse, counters.objects);
		return false;
	}
	if (counters.frozen) {
		report_slab(e, slab, "Slab disabled since SLUB metadata consistency check failed");
		return false;
	}
	debug_check_pad(e, slab);
	return true;
}

/* The counters say what was counted, from now on. */
static void adjust_counters(struct engine *e, struct page *slab, unsigned int counted)
{
	struct slab_counters counters = debug_counters(slab);
	unsigned int max = debug_capacity(slab);

	if (counters.objects != max) {
		report_slab(e, slab, "Wrong number of objects. Found %u but should be %u",
			    counters.objects, max);
		counters.objects = (uint16_t)(max & 0x7fff);
		report_fix(e, "Number of objects adjusted");
	}
	if (counters.inuse + counted != max) {
		report_slab(e, slab, "Wrong object count. Counter is %u but counted were %u",
			    counters.inuse, max - counted);
		counters.inuse = (uint16_t)(max - counted);
		report_fix(e, "Object count adjusted");
	}
	debug_set_counters(slab, counters);
}

/*
 * A list that runs in a circle. The kernel counts one object more than there are and goes on with
 * what follows from that; here the list is given up, so that nobody gets an object twice.
 */
static void give_up_list(struct engine *e, struct page *slab)
{
	struct slab_counters counters = debug_counters(slab);
	unsigned int max = debug_capacity(slab);

	report_slab(e, slab, "Wrong object count. Counter is %u but counted were %d",
		    counters.inuse, -1);
	counters.objects = (uint16_t)(max & 0x7fff);
	counters.inuse = (uint16_t)max;
	debug_set_counters(slab, counters);
	slab->freelist = NULL;
	report_fix(e, "Object count adjusted");
}

/* slab->freelist itself leads nowhere. */
static void clear_list(struct engine *e, struct page *slab)
{
	struct slab_counters counters = debug_counters(slab);

	report_slab(e, slab, "Freepointer corrupt");
	counters.inuse = counters.objects;
	debug_set_counters(slab, counters);
	slab->freelist = NULL;
	report_fix(e, "Freelist cleared");
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
			report_object(e, slab, last, "Freechain corrupt");
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

/* ---- our own books --------------------------------------------------------------------------- */

static void check_books(struct engine *e, const struct page *slab, enum debug_list list)
{
	struct slab_counters counters = debug_counters(slab);
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
	struct debug_node *node = e->debug->node[nr];
	unsigned long partial = 0;
	unsigned long objects = 0;
	unsigned long slabs = 0;
	struct list_head *pos;

	lock_acquire(&node->list_lock);
	list_for_each(pos, &node->partial) {
		check_books(e, list_entry(pos, struct page, lru), LIST_PARTIAL);
		objects += debug_counters(list_entry(pos, struct page, lru)).objects;
		CHECK(++partial <= node->nr_partial);
	}
	CHECK(partial == node->nr_partial);
	list_for_each(pos, &node->full) {
		check_books(e, list_entry(pos, struct page, lru), LIST_FULL);
		objects += debug_counters(list_entry(pos, struct page, lru)).objects;
		slabs++;
	}
	/* Retired slabs are on no list. */
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
