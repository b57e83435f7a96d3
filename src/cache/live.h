/* SPDX-License-Identifier: MIT */
/*
 * cache/live.h - the objects of one slab that are in use
 *
 * Data:       struct live_objects, on the stack of who asks (4 KiB).
 * Invariants: an object in use is the program's, or one that a front or a lent sheaf holds.
 * Locks:      the engine's, inside of live_read(); the caller sees to it that the slab stays one.
 * Flow:       used by live.c and cache/mobility/; calls the engine's walk_slab.
 */
#ifndef CACHE_LIVE_H
#define CACHE_LIVE_H

#include "cache/cache.h"

/* Those of a slab: start + i * stride for each bit i. */
struct live_objects {
	char *start;
	size_t stride;
	unsigned int end; /* behind the last bit; 0: there is none */
	uint64_t word[(SLAB_MAX_OBJECTS + 64) / 64];
};

/* Of a slab of c, as they are at one time. */
void live_read(struct cache *c, struct page *slab, struct live_objects *live);

/* The first one from number *i on, which becomes the number behind it. NULL: there is none. */
static inline void *live_next(const struct live_objects *live, unsigned int *i)
{
	while (*i < live->end) {
		unsigned int n = (*i)++;

		if (live->word[n / 64] >> (n % 64) & 1)
			return live->start + n * live->stride;
	}
	return NULL;
}

#endif /* CACHE_LIVE_H */
