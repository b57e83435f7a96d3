/* SPDX-License-Identifier: MIT */
/*
 * inspect/classes.h - what kmalloc()'s caches are like, for tools that make others of their kind
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       called by tools (uslab replay, uslab compare).
 */
#ifndef INSPECT_CLASSES_H
#define INSPECT_CLASSES_H

#include <stdbool.h>

struct classes {
	bool heap;	    /* the engine has one, so kmalloc() needs no caches */
	unsigned int min;   /* bytes of the smallest */
	unsigned int flags; /* that the engine adds: SLAB_HWCACHE_ALIGN, or 0 */
};

/* In a process that has called the library before, so that it is ready. */
void classes_look(struct classes *classes);

#endif /* INSPECT_CLASSES_H */
