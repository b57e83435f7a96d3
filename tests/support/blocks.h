/* SPDX-License-Identifier: MIT */
/*
 * support/blocks.h - kmalloc's blocks: which cache they are of, and what the compiler may know
 */
#ifndef SUPPORT_BLOCKS_H
#define SUPPORT_BLOCKS_H

#include "cache/cache.h"

static inline const char *class_of(const void *p)
{
	struct cache *c = cache_of_object(p);

	return c ? c->name : "none";
}

/* The compiler knows how much was asked for, and objects when a test uses all there is. */
static inline void *hide(void *p)
{
	static void *volatile box;

	box = p;
	return box;
}

#endif /* SUPPORT_BLOCKS_H */
