/* SPDX-License-Identifier: MIT */
/*
 * cache/live.c - the objects of one slab that are in use, by the engine's walk
 *
 * Data:       none.
 * Invariants: see live.h.
 * Locks:      see live.h.
 * Flow:       see live.h.
 */
#include "cache/live.h"

#include <string.h>

#include "page/page.h"

static void note_live(void *slab, void *obj, void *arg)
{
	struct live_objects *live = arg;
	size_t offset = (size_t)((char *)obj - (char *)slab);
	size_t i = offset / live->stride;

	live->start = (char *)slab + offset % live->stride;
	live->end = (unsigned int)i + 1;
	live->word[i / 64] |= 1ull << (i % 64);
}

void live_read(struct cache *c, struct page *slab, struct live_objects *live)
{
	memset(live->word, 0, sizeof(live->word));
	live->end = 0;
	live->stride = slab->layout->stride;
	c->engine.ops->walk_slab(&c->engine, slab, note_live, live);
}
