/* SPDX-License-Identifier: MIT */
/*
 * cache/group/word.h - the word of an object in a plain slab: the number of its group, or 0; where
 * it lies behind the object a key
 *
 * Why:        docs/adr/0071.
 * Data:       none: words are page/ext.h's, or the slab's.
 * Invariants: see cache/group/object.c. Objects of a cache that has no other watch bit than
 *             WATCH_GROUPS lie in plain slabs, and these functions are for such objects.
 * Locks:      none.
 * Flow:       included by hit.h, array.c, group.c and object.c; calls extension.c for the first
 *             word of a slab.
 */
#ifndef CACHE_GROUP_WORD_H
#define CACHE_GROUP_WORD_H

#include "cache/extension.h"
#include "cache/group/group.h"

/* What stands for the group of that number at a place, and the other way round. */
static inline uint32_t group_word(const struct ext_place *place, uint32_t id)
{
	return place->keyed ? group_key(id) : id;
}

static inline uint32_t group_of_word(const struct ext_place *place, uint32_t word)
{
	return place->keyed ? group_of_key(word) : word;
}

/* The number of the group there; GROUP_NONE also where there is no word. */
static inline uint32_t group_at_place(const struct ext_place *place)
{
	return place->word ? group_of_word(place, load_relaxed(place->word)) : GROUP_NONE;
}

/* Where it is if the slab has words already; else NULL. Three loads, or two. */
static always_inline uint32_t *group_word_of(const struct page *slab, const void *obj)
{
	if (slab->layout->key)
		return (uint32_t *)((uintptr_t)obj + slab->layout->key);
	return page_ext_look(PAGE_EXT_GROUPS, slab, ext_index(slab, obj));
}

/* Of a cache with keys, whose plain objects have their marks right before them. */
static always_inline uint32_t *group_key_of(const struct cache *c, const void *obj)
{
	return (uint32_t *)((uintptr_t)obj + c->engine.mark) + 1;
}

/* false: there is no memory for the slab's words. */
static always_inline bool group_set_word(struct cache *c, const void *obj, uint32_t id)
{
	uint32_t *word;

	if (group_has_keys(c)) {
		store_relaxed(group_key_of(c, obj), group_key(id));
		return true;
	}
	word = group_word_of(page_head_unchecked(obj), obj);
	if (unlikely(!word))
		word = ext_find(PAGE_EXT_GROUPS, c, obj, true).word;
	if (word)
		store_relaxed(word, id);
	return word;
}

#endif /* CACHE_GROUP_WORD_H */
