/* SPDX-License-Identifier: MIT */
/*
 * engine/descriptor.h - what the page descriptor of a slab says: whose it is, and its counters
 *
 * Data:       struct page.engine, .layout and .counters of a PAGE_SLAB.
 * Invariants: the same for all engines and for debug slabs.
 * Locks:      none; each access is one load or store.
 * Flow:       included by cache/, debug/, engine/ and front/.
 */
#ifndef ENGINE_DESCRIPTOR_H
#define ENGINE_DESCRIPTOR_H

#include <string.h>

#include "base/atomic.h"
#include "engine/engine.h"
#include "os/cpu/cpu.h"
#include "page/page.h"

BUILD_ASSERT(sizeof(struct slab_counters) == sizeof(uint64_t));

static always_inline uint64_t engine_counters_word(struct slab_counters counters)
{
	uint64_t word;

	memcpy(&word, &counters, sizeof(word));
	return word;
}

/* A copy that is whole, if not up to date, without a lock too. */
static always_inline struct slab_counters engine_counters(const struct page *slab)
{
	uint64_t word = load_relaxed(&slab->counters);
	struct slab_counters counters;

	memcpy(&counters, &word, sizeof(counters));
	return counters;
}

static always_inline void engine_set_counters(struct page *slab, struct slab_counters counters)
{
	store_relaxed(&slab->counters, engine_counters_word(counters));
}

/*
 * The stamp of a slab of SLUB: bit 0, whether it is worth emptying (slub/sparse.c), and the lane
 * that takes from it + 1 (slub/lane.c). Changed under list_lock; read without it, as a hint.
 */
#define ENGINE_LANES OS_LANES
#define ENGINE_NO_LANE (~0u)

static inline bool engine_slab_is_sparse(const struct page *slab)
{
	return load_relaxed(&slab->stamp) & 1u;
}

static inline void engine_set_slab_sparse(struct page *slab, bool sparse)
{
	store_relaxed(&slab->stamp, (load_relaxed(&slab->stamp) & ~1u) | sparse);
}

static inline unsigned int engine_slab_lane(const struct page *slab)
{
	return (load_relaxed(&slab->stamp) >> 1) - 1;
}

static inline void engine_set_slab_lane(struct page *slab, unsigned int lane)
{
	store_relaxed(&slab->stamp, (load_relaxed(&slab->stamp) & 1u) | (lane + 1) << 1);
}

/*
 * New pages become a slab on no list. Atomic, because a hit path of front/cpuslab.c may look at
 * pages that were another's.
 */
static inline void engine_own_pages(struct engine *e, struct page *slab,
				    const struct slab_layout *layout)
{
	slab->lru.next = NULL;
	slab->lru.prev = NULL;
	store_relaxed(&slab->engine, e);
	store_relaxed(&slab->layout, layout);
	store_relaxed(&slab->stamp, 0);
}

#endif /* ENGINE_DESCRIPTOR_H */
