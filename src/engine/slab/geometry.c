/* SPDX-License-Identifier: MIT */
/*
 * engine/slab/geometry.c - sizes, orders, and where the index array goes (spec 3.3 to 3.5)
 *
 * Data:       the knob slab_max_order.
 * Invariants: num * size, the index array (if on the slab) and left_over make up the slab.
 * Locks:      none; the knob is set before the first cache exists. The rest are pure functions.
 * Flow:       called by slab.c and cache/config/options.c.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slab/slab.h"
#include "page/buddy.h"

#define WORD ((unsigned int)sizeof(void *))

/* The kernel's default on a machine of more than 32 MB; there is no other that this runs on. */
static unsigned int max_order_knob = 1;

unsigned int slab_max_order(void)
{
	return max_order_knob;
}

int slab_set_max_order(unsigned int order)
{
	if (order > BUDDY_MAX_ORDER)
		return -EINVAL;
	max_order_knob = order;
	return 0;
}

/*
 * Bytes of an object of the kmalloc cache that would hold the index array. We take the array from
 * page/meta.c, but orders are the kernel's. None of these caches is off-slab itself, which the
 * kernel would refuse. kmalloc-96 is aligned to cache lines, so that it is as large as kmalloc-128;
 * kmalloc-192 does not matter: objects that are so many are too small for an array of their own.
 */
static unsigned int kmalloc_stride(unsigned int bytes)
{
	return MAX(1u << fls(bytes - 1), 32u);
}

/* calculate_slab_order: fills in order, num and left_over. false: no order will do. */
static bool choose_order(struct slab_geometry *g, enum slab_placement placement, slab_flags_t flags,
			 unsigned int max_order)
{
	unsigned int each = g->size + (placement == SLAB_INDEX_ON);
	unsigned int order;

	g->num = 0;
	for (order = 0; order <= BUDDY_MAX_ORDER; order++) {
		unsigned int bytes = (unsigned int)PAGE_SIZE << order;
		unsigned int num = bytes / each;

		if (!num)
			continue;
		if (num > SLAB_MAX_NUM)
			break;
		if (placement == SLAB_INDEX_OFF && kmalloc_stride(num) > g->size / 2)
			continue;
		g->order = order;
		g->num = num;
		g->left_over = bytes % each;
		if ((flags & SLAB_RECLAIM_ACCOUNT) || order >= max_order ||
		    g->left_over * 8 <= bytes)
			break;
	}
	g->placement = placement;
	g->colour = g->left_over / g->colour_off;
	return g->num;
}

/* The content of free objects must survive in some caches, and the array must fit. */
static bool place_in_object(struct slab_geometry *g, unsigned int object_size, slab_flags_t flags,
			    bool has_ctor, unsigned int max_order)
{
	if (has_ctor || (flags & SLAB_TYPESAFE_BY_RCU))
		return false;
	return choose_order(g, SLAB_INDEX_OBJECT, flags, max_order) && g->num <= object_size;
}

/* Not if the array would fit in what is left over anyway. */
static bool place_off(struct slab_geometry *g, slab_flags_t flags, unsigned int max_order)
{
	if (flags & SLAB_NOLEAKTRACE)
		return false;
	return choose_order(g, SLAB_INDEX_OFF, flags, max_order) && g->left_over < g->num;
}

int slab_geometry(struct slab_geometry *g, unsigned int object_size, unsigned int align,
		  slab_flags_t flags, bool has_ctor, unsigned int max_order)
{
	if (object_size > PAGE_SIZE << BUDDY_MAX_ORDER)
		return -E2BIG;
	align = MAX(align, WORD);
	*g = (struct slab_geometry){
		.size = ALIGN_UP(MAX(object_size, (unsigned int)SLAB_MIN_SIZE), align),
		.colour_off = MAX(align, (unsigned int)CACHE_LINE),
	};
	if (place_in_object(g, object_size, flags, has_ctor, max_order) ||
	    place_off(g, flags, max_order) || choose_order(g, SLAB_INDEX_ON, flags, max_order))
		return 0;
	return -E2BIG;
}

unsigned int slab_batchcount(unsigned int size)
{
	unsigned int limit = 120;

	if (size > 131072)
		limit = 1;
	else if (size > PAGE_SIZE)
		limit = 8;
	else if (size > 1024)
		limit = 24;
	else if (size > 256)
		limit = 54;
	return (limit + 1) / 2;
}

unsigned long slab_free_limit(unsigned int num, unsigned int cpus, unsigned int batchcount)
{
	return (1ul + cpus) * batchcount + num;
}
