/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/freeptr.h - the free pointer inside a free object (spec 4.5)
 *
 * Data:       one word at object + layout->offset.
 * Invariants: plain: the next free object or NULL. Hardened: that XOR slub.random XOR
 *             byteswap(address of the word), NULL included.
 * Locks:      the caller owns the object, or only reads (the word may then be anything: sequences
 *             compare it again before they use it).
 * Flow:       used by slab.h, cache/debug/hardened.c, front/cpuslab_hit.h, inspect/fronts.c and
 *             inspect/slab_map.c.
 */
#ifndef ENGINE_SLUB_FREEPTR_H
#define ENGINE_SLUB_FREEPTR_H

#include "base/atomic.h"
#include "engine/slub/slub.h"

static inline uintptr_t *freeptr_slot(const struct slab_layout *layout, void *obj)
{
	return (uintptr_t *)((char *)obj + layout->offset);
}

static inline uintptr_t freeptr_code(const struct slub *s, uintptr_t value, const uintptr_t *slot)
{
	if (likely(!s->hardened))
		return value;
	return value ^ s->random ^ __builtin_bswap64((uintptr_t)slot);
}

static inline void *freeptr_get(const struct slub *s, const struct slab_layout *layout, void *obj)
{
	uintptr_t *slot = freeptr_slot(layout, obj);

	return (void *)freeptr_code(s, load_relaxed(slot), slot);
}

static inline void freeptr_set(const struct slub *s, const struct slab_layout *layout, void *obj,
			       void *next)
{
	uintptr_t *slot = freeptr_slot(layout, obj);

	store_relaxed(slot, freeptr_code(s, (uintptr_t)next, slot));
}

/*
 * Can a link lead to obj: does it lie in the slab? NULL does not. Costs one
 * comparison for each link followed.
 */
static inline bool freeptr_is_inside(const struct page *slab, const void *obj)
{
	return (size_t)((const char *)obj - (const char *)page_address(slab)) <
	       PAGE_SIZE << slab->order;
}

#endif /* ENGINE_SLUB_FREEPTR_H */
