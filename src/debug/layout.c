/* SPDX-License-Identifier: MIT */
/*
 * debug/layout.c - how an object lies in a debug slab (spec 4.4)
 *
 *     left pad | object .. | right red zone | free pointer | tracks | size asked | padding
 *              0           object_size      inuse                                stride - left pad
 *
 * Data:       struct slab_layout, filled in here, const once a slab points at it.
 * Invariants: the object is aligned as the cache says; stride is a multiple of that.
 * Locks:      none; pure but for the options of engine/slub/order.c.
 * Flow:       called by attach.c, check.c, report.c and inspect/debug_size.c; calls engine/slub for
 *             the order.
 */
#include "base/bits.h"
#include "debug/debug.h"
#include "engine/slub/slub.h"

#define WORD ((unsigned int)sizeof(void *))

/* Must the free pointer lie behind the object? */
static bool needs_outside(unsigned int object_size, slab_flags_t flags, bool has_ctor)
{
	return has_ctor || flags & (SLAB_TYPESAFE_BY_RCU | SLAB_POISON) ||
	       (flags & SLAB_RED_ZONE && object_size < WORD);
}

void debug_layout_sizes(struct slab_layout *layout, unsigned int object_size, unsigned int align,
			slab_flags_t flags, bool has_ctor, bool orig_size)
{
	unsigned int size = ALIGN_UP(object_size, WORD);

	if (flags & SLAB_RED_ZONE && size == object_size)
		size += WORD; /* the right red zone is never empty */
	*layout = (struct slab_layout){
		.object_size = object_size,
		.inuse = size,
		.offset = ALIGN_DOWN(object_size / 2, WORD),
		.kind = LAYOUT_DEBUG,
		.debug = flags & DEBUG_LAYOUT_FLAGS,
	};
	if (needs_outside(object_size, flags, has_ctor))
		layout->offset = size;
	size = debug_info_end(layout, orig_size);
	if (flags & SLAB_RED_ZONE) {
		layout->red_left_pad = ALIGN_UP(WORD, align);
		size += WORD + layout->red_left_pad;
	}
	layout->stride = ALIGN_UP(size, align);
	layout->magic = SLAB_MAGIC(layout->stride);
}

int debug_layout_orders(struct slab_layout *layout)
{
	return slub_layout_orders(layout, false);
}

unsigned int debug_info_end(const struct slab_layout *layout, bool orig_size)
{
	unsigned int end = debug_tracks_offset(layout);

	if (layout->debug & SLAB_STORE_USER)
		end += 2 * (unsigned int)sizeof(struct track) +
		       (orig_size ? (unsigned int)sizeof(uint32_t) : 0);
	return end;
}
