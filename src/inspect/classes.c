/* SPDX-License-Identifier: MIT */
/*
 * inspect/classes.c - what kmalloc()'s caches are like, for tools that make others of their kind
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       see classes.h; calls cache/kmalloc/kmalloc.c.
 */
#include "inspect/classes.h"

#include "cache/cache.h"

void classes_look(struct classes *classes)
{
	const struct engine_ops *ops = kmalloc_cache(1)->engine.ops;

	*classes = (struct classes){ .heap = ops->heap,
				     .min = ops->kmalloc_min ? ops->kmalloc_min : KMALLOC_MIN_SIZE,
				     .flags = ops->kmalloc_flags };
}
