/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/freeptr.h - the free pointer inside a free object (spec 4.5)
 *
 * Data:       one word at object + layout->offset.
 * Invariants: plain: the next free object or NULL. Hardened: that XOR slub.random XOR
 *             byteswap(address of the word), NULL included.
 * Locks:      the caller owns the object, or only reads (the word may then be anything: sequences
 *             compare it again before they use it).
 * Flow:       used by engine/slub/ and front/cpuslab.c.
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
 * The same for an object that is being freed, in front of next: it cannot be the head already
 * (the "naive" detection of spec 4.5, here in every build, since it costs one comparison).
 */
static inline void freeptr_link(const struct engine *e, const struct slab_layout *layout, void *obj,
				void *next)
{
	if (unlikely(obj == next))
		slub_die_double_free(e, obj);
	freeptr_set(slub_of(e), layout, obj, next);
}

#endif /* ENGINE_SLUB_FREEPTR_H */
