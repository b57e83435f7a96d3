/* SPDX-License-Identifier: MIT */
/*
 * cache/extension.h - where the word beside an object or block is, and how many bytes it stands for
 *
 * Why:        docs/adr/0050, docs/adr/0061.
 * Data:       none: words are page/ext.h's, and of mappings page/large.h's.
 * Invariants: the same place for the same object, whatever has happened to its cache since: debug
 *             slabs, guarded pages, blocks of heaps and whole pages have theirs.
 * Locks:      none held here; see those two.
 * Flow:       called by cache/profile/profile.c and cache/group/; calls
 *             page/ext.c, page/large.c.
 */
#ifndef CACHE_EXTENSION_H
#define CACHE_EXTENSION_H

#include "base/atomic.h"
#include "base/bits.h"
#include "cache/cache.h"
#include "page/ext.h"

struct ext_place {
	struct cache *cache; /* of an object; NULL: it is a block */
	uint32_t *word;	     /* NULL: it is a mapping of its own, at base; or there is none */
	const void *base;
	size_t bytes; /* of an object, or of all pages */
	bool keyed;   /* the word is a key (cache/group/group.h) */
};

static inline bool ext_has_word(const struct ext_place *place)
{
	return place->word || place->base;
}

/*
 * Objects are one stride apart: by how far p lies behind the start of its slab, in units that are
 * no longer than a stride, and so none has two. No division.
 */
static always_inline unsigned int ext_index(const struct page *slab, const void *p)
{
	size_t offset = (size_t)((const char *)p - (const char *)page_address(slab));

	return (unsigned int)(offset >> ilog2(slab->layout->stride));
}

/* How many words the vector of a slab has. */
static inline unsigned int ext_words(const struct page *slab)
{
	return (unsigned int)(slab->nr_pages * PAGE_SIZE >> ilog2(slab->layout->stride)) + 1;
}

/*
 * What starts at p, of cache c; NULL: the address tells, as it does to kfree(). make: if there is
 * no word it is made. No word and no bytes: nothing of ours starts there, or it is one of a cache
 * with SLAB_NO_OBJ_EXT. The caller waits for no lock.
 */
struct ext_place ext_find(enum page_ext kind, struct cache *c, const void *p, bool make);

/* Stores a word where there is one, and returns the one that was there. */
uint32_t ext_exchange(enum page_ext kind, const struct ext_place *place, uint32_t word);

#endif /* CACHE_EXTENSION_H */
