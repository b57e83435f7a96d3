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
	if (place->keyed)
		return group_of_key(word);
	return likely(word != GROUP_MOVES) ? word : GROUP_NONE;
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

/* NULL: there is no memory for the slab's words. */
static always_inline uint32_t *group_make_word(struct cache *c, const void *obj)
{
	uint32_t *word;

	if (group_has_keys(c))
		return group_key_of(c, obj);
	word = group_word_of(page_head_unchecked(obj), obj);
	return likely(word) ? word : ext_find(PAGE_EXT_GROUPS, c, obj, true).word;
}

/* Of an object that stays the library's for now. false: there is no memory for the slab's words. */
static always_inline bool group_set_word(struct cache *c, const void *obj, uint32_t id)
{
	uint32_t *word = group_make_word(c, obj);

	if (likely(word))
		store_relaxed(word, group_has_keys(c) ? group_key(id) : id);
	return word;
}

/*
 * Of an object that is the program's next. A compare and exchange, for who moves objects looks at
 * it by one, too: either he finds this word, or it is found here that the object is about to move.
 */
static always_inline bool group_store_word(uint32_t *word, uint32_t value)
{
	uint32_t old;

	do {
		old = load_relaxed(word);
		if (unlikely(old == GROUP_MOVES))
			return false;
	} while (unlikely(!cmpxchg(word, old, value)));
	return true;
}

static always_inline enum group_added group_set_last_word(struct cache *c, const void *obj,
							  uint32_t id)
{
	uint32_t *word = group_make_word(c, obj);

	if (unlikely(!word))
		return GROUP_NOT_ADDED;
	return likely(group_store_word(word, group_has_keys(c) ? group_key(id) : id))
		       ? GROUP_ADDED
		       : GROUP_ABOUT_TO_MOVE;
}

#endif /* CACHE_GROUP_WORD_H */
