/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/layout.c - how an object lies in its slab (spec 4.4, without debug flags)
 *
 * Why:        docs/adr/0010, docs/adr/0020, docs/adr/0071.
 * Data:       struct slab_layout, filled in here, const once a slab points at it.
 * Invariants: offset + 8 <= stride; stride is a multiple of align; offset >= inuse iff the free
 *             pointer must not overwrite the object.
 * Locks:      none; pure but for the knobs of order.c.
 * Flow:       called by slub.c and debug/layout.c. Debug layouts are made in debug/; all code of
 *             this engine reads the layout of the slab concerned, so that both kinds live side by
 *             side.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slub/slab.h"

#define WORD ((unsigned int)sizeof(void *))

void slub_layout_sizes(struct slab_layout *layout, unsigned int object_size, unsigned int align,
		       slab_flags_t flags, bool has_ctor)
{
	unsigned int size = ALIGN_UP(object_size, WORD);

	*layout = (struct slab_layout){ .object_size = object_size, .inuse = size };
	if (has_ctor || (flags & SLAB_TYPESAFE_BY_RCU)) {
		/* The content of a free object must survive: the pointer goes behind it. */
		layout->offset = size;
		size += WORD;
	} else {
		/* In the middle, away from the ends that overflows of neighbours reach. */
		layout->offset = ALIGN_DOWN(object_size / 2, WORD);
	}
	if (flags & USLAB_ACCOUNT_INLINE) { /* its mark, and its key behind that */
		layout->key = size + (unsigned int)sizeof(uint32_t);
		size += WORD;
	}
	layout->stride = ALIGN_UP(size, align);
	layout->magic = SLAB_MAGIC(layout->stride);
}

int slub_layout_orders(struct slab_layout *layout, bool pack)
{
	int order = pack ? slub_pack_order(layout->stride) : slub_default_order(layout->stride);

	if (order < 0)
		return order;
	layout->order = (unsigned int)order;
	layout->objects = (unsigned int)((PAGE_SIZE << order) / layout->stride);
	layout->min_order = MIN(get_order(layout->stride), layout->order);
	layout->min_objects = (unsigned int)((PAGE_SIZE << layout->min_order) / layout->stride);
	return 0;
}
