/* SPDX-License-Identifier: MIT */
/*
 * debug/element.c - objects of debug slabs that a memory pool keeps: poisoned as free ones
 *
 * Why:        docs/adr/0041.
 * Data:       the bytes that the program asked for, of one object that is in use for its slab.
 * Invariants: as long as the pool keeps it they are POISON_FREE, the last one POISON_END; of
 *             layouts without P, and of objects with a constructor, they stay as they were.
 * Locks:      none; the object is the caller's, who may hold a lock above RANK_REPORT.
 * Flow:       called by cache/mempool/check.c; calls check.c, object.c.
 */
#include "debug/slab.h"

static bool is_poisoned(const struct page *slab, const void *obj)
{
	return debug_poisons_objects(slab) && debug_is_object(slab, obj);
}

void debug_poison_kept(struct page *slab, void *obj)
{
	unsigned char *p = obj;
	unsigned int size;

	if (!is_poisoned(slab, obj))
		return;
	size = debug_size_asked(slab, obj);
	memset(p, POISON_FREE, size - 1);
	p[size - 1] = POISON_END;
}

void debug_check_kept(struct page *slab, void *obj)
{
	unsigned int size;

	if (!is_poisoned(slab, obj))
		return;
	size = debug_size_asked(slab, obj);
	debug_check_poison(slab->engine, slab, obj, size);
	memset(obj, POISON_INUSE, size);
}
