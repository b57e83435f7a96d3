/* SPDX-License-Identifier: MIT */
/*
 * engine/place.h - does an object of its slab start at an address
 *
 * Data:       none.
 * Invariants: the same for all engines and for debug slabs: objects lie one stride apart, from a
 *             place that the slab's layout and colour say.
 * Locks:      none; the page is a slab as long as an object of it is in use.
 * Flow:       used by cache/ and malloc/.
 */
#ifndef ENGINE_PLACE_H
#define ENGINE_PLACE_H

#include "engine/descriptor.h"

/* From where object 0 lies to p, bytes; huge when p lies before it. */
static always_inline unsigned int engine_offset(const struct page *slab,
						struct slab_counters counters, const void *p)
{
	unsigned int offset = (unsigned int)((const char *)p - (char *)page_address(slab));

	return offset - slab->layout->red_left_pad -
	       (unsigned int)counters.colour * slab->layout->colour_off;
}

static always_inline bool engine_starts_object(const struct page *slab, const void *p)
{
	struct slab_counters counters = engine_counters(slab);
	const struct slab_layout *layout = slab->layout;
	unsigned int offset = engine_offset(slab, counters, p);

	return offset < counters.objects * layout->stride &&
	       slab_is_multiple(offset, layout->magic);
}

/* Where the objects of one slab may start: to look at many of them one after the other. */
struct engine_places {
	const char *first;   /* object 0 */
	unsigned long bytes; /* from there to the end of the last one; 0: none is known */
	uint64_t magic;	     /* see struct slab_layout */
};

static always_inline struct engine_places engine_places(const struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);
	const struct slab_layout *layout = slab->layout;

	return (struct engine_places){
		.first = (const char *)page_address(slab) + layout->red_left_pad +
			 (size_t)counters.colour * layout->colour_off,
		.bytes = (unsigned long)counters.objects * layout->stride,
		.magic = layout->magic,
	};
}

static always_inline bool engine_is_place(const struct engine_places *places, const void *p)
{
	unsigned long offset = (unsigned long)((const char *)p - places->first);

	return offset < places->bytes && slab_is_multiple((unsigned int)offset, places->magic);
}

#endif /* ENGINE_PLACE_H */
