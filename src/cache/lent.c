/* SPDX-License-Identifier: MIT */
/*
 * cache/lent.c - lends sheaves: fills one, allocates from it, takes it back (kernel: since 6.18)
 *
 * Why:        docs/adr/0039, docs/adr/0049.
 * Data:       none of its own.
 * Invariants: see lent.h. A sheaf that is being filled is on no list.
 * Locks:      none held here. lent_alloc() takes none, unless the cache is watched or something is
 *             to be reported.
 * Flow:       called by api/sheaf_api.c; called back by page/nested.c; calls alloc.c, watch.c, the
 *             front, lent_list.c.
 */
#include "cache/lent.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/group/group.h"
#include "cache/object.h"
#include "debug/report/report.h"
#include "front/sheaves.h"
#include "os/process/die.h"
#include "page/meta.h"

#define NOTE_MAX 256 /* bytes, with a name and an address */

/* ---- what is no sheaf of this cache ---- */

static cold void report(struct cache *c, const struct slab_sheaf *sheaf, const char *function,
			const char *what, const char *name)
{
	char note[NOTE_MAX];

	if (lock_is_inside()) /* a report takes locks */
		return;
	os_format(note, sizeof(note), "uslab: %s(): the sheaf at 0x%lx %s%s", function,
		  (unsigned long)sheaf, what, name);
	report_slab_noted(&c->engine, NULL, REPORT_SHEAF, note);
	report_deliver();
}

/* Reports a sheaf that is none of c. Returns whose it is; NULL: it is not lent, or nobody knows. */
static cold struct cache *find_owner(struct cache *c, const struct slab_sheaf *sheaf,
				     const char *function)
{
	struct cache *owner = !lock_is_inside() && lent_is_listed(sheaf) ? sheaf->cache : NULL;

	report(c, sheaf, function, owner ? "is one of " : "is not lent: returned already?",
	       owner ? owner->name : "");
	return owner;
}

static always_inline bool is_of(struct cache *c, const struct slab_sheaf *sheaf,
				const char *function)
{
	if (likely(sheaf->cache == c))
		return true;
	find_owner(c, sheaf, function);
	return false;
}

/* ---- sheaves ---- */

static size_t sheaf_bytes(uint32_t capacity)
{
	return sizeof(struct slab_sheaf) + capacity * sizeof(void *);
}

/* What a block of metadata of that size, which is a power of two, has room for. NULL: no memory. */
static struct slab_sheaf *sheaf_new(struct cache *c, uint32_t size)
{
	size_t bytes = sheaf_bytes(size);
	struct slab_sheaf *sheaf;

	if (size > INT32_MAX / 2 || size > (page_map.limit << PAGE_SHIFT) / c->engine.size)
		return NULL; /* more objects than there can be */
	bytes = 2ul << ilog2(bytes - 1);
	sheaf = meta_alloc(bytes);
	if (!sheaf)
		return NULL;
	sheaf->cache = c;
	sheaf->capacity = (uint32_t)((bytes - sizeof(*sheaf)) / sizeof(void *)) & INT32_MAX;
	return sheaf;
}

/* It is on no list, and its objects are somewhere else. */
static void sheaf_delete(struct slab_sheaf *sheaf)
{
	sheaf->cache = NULL;
	meta_free(sheaf, sheaf_bytes(sheaf->capacity));
}

/* ---- objects ---- */

static void give_back(struct slab_sheaf *sheaf)
{
	struct cache *c = sheaf->cache;

	if (cache_is_watched(c, ~0u))
		cache_give_watched(c, sheaf->count, sheaf->obj);
	else
		c->front.ops->free_bulk(&c->front, sheaf->count, sheaf->obj);
	sheaf->count = 0;
}

/* Until there are size objects, at most its capacity. -ENOMEM: there are more, or as before. */
static int fill(struct slab_sheaf *sheaf, gfp_t gfp, uint32_t size, const void *caller)
{
	struct cache *c = sheaf->cache;
	void **p = sheaf->obj + sheaf->count;
	uint32_t nr = size - sheaf->count;

	if (cache_is_watched(c, WATCH_ALLOC))
		cache_poll_now();
	if (load_acquire(&c->watch) & WATCH_ALLOC) /* pairs with cache_watch_locked() */
		sheaf->count += cache_take_watched(c, gfp, nr, p, caller);
	else
		sheaf->count += cache_take_bulk(c, gfp, nr, p);
	return sheaf->count == size ? 0 : -ENOMEM;
}

/* ---- sheaves of the front, where that has some ---- */

BUILD_ASSERT(sizeof(struct slab_sheaf) == sizeof(struct sheaf));
BUILD_ASSERT(offsetof(struct slab_sheaf, obj) == offsetof(struct sheaf, obj));

static bool lends_sheaves(struct cache *c)
{
	return front_has_sheaves(&c->front) && !cache_is_watched(c, ~0u);
}

/* One header in the place of the other: the entries stay where they are. */
static struct slab_sheaf *as_lent(struct sheaf *of_front)
{
	struct slab_sheaf *sheaf = (struct slab_sheaf *)of_front;
	struct front *f = of_front->front;
	uint32_t nr = of_front->nr;
	uint16_t capacity = of_front->capacity;

	*sheaf = (struct slab_sheaf){ .cache = container_of(f, struct cache, front),
				      .count = nr,
				      .capacity = capacity,
				      .is_of_front = true };
	return sheaf;
}

/* It is on no list. */
static struct sheaf *as_of_front(struct slab_sheaf *sheaf)
{
	struct sheaf *of_front = (struct sheaf *)sheaf;
	struct front *f = &sheaf->cache->front;
	uint32_t nr = sheaf->count;
	uint16_t capacity = (uint16_t)sheaf->capacity;

	*of_front = (struct sheaf){ .front = f, .nr = nr, .capacity = capacity };
	return of_front;
}

static struct slab_sheaf *lend(struct cache *c, gfp_t gfp, unsigned int size)
{
	struct sheaf *sheaf = sheaves_lend(&c->front, gfp, size);

	return sheaf ? as_lent(sheaf) : NULL;
}

/* To its capacity, from slabs (spec A6). -ENOMEM: there are fewer than size, perhaps more. */
static int refill_of_front(struct slab_sheaf *sheaf, gfp_t gfp, uint32_t size)
{
	struct front *f = &sheaf->cache->front;
	struct sheaf *of_front = as_of_front(sheaf);

	sheaves_fill(f, of_front, gfp);
	return as_lent(of_front)->count < size ? -ENOMEM : 0;
}

/* ---- the calls ---- */

struct slab_sheaf *lent_prefill(struct cache *c, gfp_t gfp, unsigned int size, const void *caller)
{
	struct slab_sheaf *sheaf;

	if (!size || nested_call())
		return NULL;
	if (lends_sheaves(c) && size <= sheaves_capacity(&c->front)) {
		sheaf = lend(c, gfp, size);
		if (sheaf) {
			lent_add(sheaf);
			return sheaf;
		}
	} else if (front_has_sheaves(&c->front)) {
		sheaves_count(&c->front, SHEAF_PREFILL_OVERSIZE, 1);
	}
	sheaf = sheaf_new(c, size); /* memory is short: what that means is known to fill() */
	if (!sheaf)
		return NULL;
	if (unlikely(fill(sheaf, gfp, size, caller))) {
		give_back(sheaf);
		sheaf_delete(sheaf);
		return NULL;
	}
	lent_add(sheaf);
	return sheaf;
}

void *lent_alloc(struct cache *c, gfp_t gfp, struct slab_sheaf *sheaf, const void *caller)
{
	static const char function[] = "kmem_cache_alloc_from_sheaf";

	if (unlikely(!sheaf) || unlikely(!is_of(c, sheaf, function)))
		return NULL;
	if (unlikely(!sheaf->count)) {
		report(c, sheaf, function, "has no object left", "");
		return NULL;
	}
	group_watch_if_asked(c, gfp);
	if (cache_is_watched(c, ~0u))
		return cache_alloc_lent_watched(c, gfp, sheaf, caller);
	return cache_zero(c, cache_unmark(c, lent_pop(sheaf)), gfp);
}

/* Puts a larger sheaf in the place of *old, with its objects and more. -ENOMEM: as before. */
static int replace(struct slab_sheaf **old, gfp_t gfp, uint32_t size, const void *caller)
{
	struct slab_sheaf *from = *old;
	struct slab_sheaf *to = sheaf_new(from->cache, size);

	if (!to)
		return -ENOMEM;
	if (fill(to, gfp, size - from->count, caller)) {
		give_back(to);
		sheaf_delete(to);
		return -ENOMEM;
	}
	lent_remove(from);
	memcpy(to->obj + to->count, from->obj, from->count * sizeof(*from->obj));
	to->count = size;
	sheaf_delete(from);
	lent_add(to);
	*old = to;
	return 0;
}

/* A larger one in the place of *at, which goes back (spec A6). -ENOMEM: as before. */
static int exchange(struct slab_sheaf **at, gfp_t gfp, uint32_t size, const void *caller)
{
	struct cache *c = (*at)->cache;
	struct slab_sheaf *to = lent_prefill(c, gfp, size, caller);

	if (!to)
		return -ENOMEM;
	lent_return(c, *at, caller);
	*at = to;
	return 0;
}

int lent_refill(struct cache *c, gfp_t gfp, struct slab_sheaf **at, unsigned int size,
		const void *caller)
{
	struct slab_sheaf *sheaf = at ? *at : NULL;
	int ret;

	if (!sheaf || !is_of(c, sheaf, "kmem_cache_refill_sheaf"))
		return -EINVAL;
	if (size <= sheaf->count)
		return 0;
	if (nested_call())
		return -ENOMEM;
	if (size > sheaf->capacity)
		return lends_sheaves(c) ? exchange(at, gfp, size, caller)
					: replace(at, gfp, size, caller);
	lent_remove(sheaf);
	ret = lends_sheaves(c) && sheaf->is_of_front ? refill_of_front(sheaf, gfp, size)
						     : fill(sheaf, gfp, size, caller);
	lent_add(sheaf);
	return ret;
}

static void return_deferred(void *c, void *sheaf, const void *caller)
{
	lent_return(c, sheaf, caller);
}

void lent_return(struct cache *c, struct slab_sheaf *sheaf, const void *caller)
{
	if (!sheaf)
		return;
	if (nested_call()) {
		nested_defer(return_deferred, c, sheaf, caller);
		return;
	}
	if (unlikely(sheaf->cache != c) && !find_owner(c, sheaf, "kmem_cache_return_sheaf"))
		return;
	lent_remove(sheaf);
	if (lends_sheaves(sheaf->cache) && sheaf->is_of_front) {
		struct sheaf *of_front = as_of_front(sheaf);

		sheaves_take_back(of_front->front, of_front);
		return;
	}
	give_back(sheaf);
	sheaf_delete(sheaf);
}
