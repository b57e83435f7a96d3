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
 * Flow:       included by hit.h and cache/group/array.c; calls extension.c for the first
 *             word of a slab.
 */
#ifndef CACHE_GROUP_WORD_H
#define CACHE_GROUP_WORD_H

#include "cache/extension.h"
#include "cache/group/group.h"

/* Where it is if the slab has words already; else NULL. Three loads, or two. */
static always_inline uint32_t *group_word_of(const struct page *slab, const void *obj)
{
	if (slab->layout->key)
		return (uint32_t *)((uintptr_t)obj + slab->layout->key);
	return page_ext_look(PAGE_EXT_GROUPS, slab, ext_index(slab, obj));
}

/* false: there is no memory for the slab's words. */
static always_inline bool group_set_word(struct cache *c, const void *obj, uint32_t id)
{
	uint32_t *word = group_word_of(page_head_unchecked(obj), obj);

	if (unlikely(!word))
		word = ext_find(PAGE_EXT_GROUPS, c, obj, true).word;
	if (word)
		store_relaxed(word, group_has_keys(c) ? group_key(id) : id);
	return word;
}

#endif /* CACHE_GROUP_WORD_H */
