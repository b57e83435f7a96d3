/* SPDX-License-Identifier: MIT */
/*
 * page/ext.h - object extensions: words beside each object, for who counts objects by their owner
 *
 * Why:        docs/adr/0050, docs/adr/0061.
 * Data:       for each block of pages of the arena that has extensions of a kind a vector, found by
 *             the index of its head: two levels of pointers, and a word of 32 bits for each object.
 *             All of it is metadata (page/meta.h), never a cache's, and there is none before the
 *             first word of that kind is asked for.
 * Invariants: a vector has as many words as its block was said to have when it was made, and goes
 *             when the pages of its block do (page_forget_block()). A word belongs to whoever has
 *             the object. Checked by page_ext_check().
 * Locks:      none. Pointers are set once, by compare and swap; who comes second takes the other's.
 *             A vector is freed by the thread that frees the block, when it has no live object: so
 *             nobody else has a word of it.
 * Flow:       called by page.c, buddy.c, cache/check.c, cache/extension.c and cache/group/word.h;
 *             calls meta.c.
 */
#ifndef PAGE_EXT_H
#define PAGE_EXT_H

#include "base/atomic.h"
#include "page/page.h"

enum page_ext {
	PAGE_EXT_TAGS,	 /* cache/profile/profile.h */
	PAGE_EXT_GROUPS, /* cache/group/group.h */
	PAGE_EXT_KINDS
};

#define PAGE_EXT_LEAF 1024u /* pages whose heads' vectors one leaf has */

struct page_ext_leaf {
	uint32_t *vector[PAGE_EXT_LEAF]; /* its number of words, then these */
};

/* By kind, leaves by the index of pages; NULL: no object has an extension of that kind so far. */
extern struct page_ext_leaf **page_ext_directory[PAGE_EXT_KINDS];

/*
 * The word of object number index of that block, of nr objects; NULL: it has none, or (make) there
 * is no memory for it. make: the caller has a live object of the block, and waits for no lock
 * (os/lock/lock.h).
 */
uint32_t *page_ext_word(enum page_ext kind, const struct page *head, unsigned int nr,
			unsigned int index, bool make);

/* The same for what is there already. Each acquire pairs with the release that published it. */
static always_inline uint32_t *page_ext_look(enum page_ext kind, const struct page *head,
					     unsigned int index)
{
	unsigned long page = (unsigned long)(head - page_map.pages);
	struct page_ext_leaf **directory = load_acquire(&page_ext_directory[kind]);
	struct page_ext_leaf *leaf;
	uint32_t *vector;

	if (unlikely(!directory))
		return NULL;
	leaf = load_acquire(&directory[page / PAGE_EXT_LEAF]);
	if (unlikely(!leaf))
		return NULL;
	vector = load_acquire(&leaf->vector[page % PAGE_EXT_LEAF]);
	return likely(vector && index < load_relaxed(vector)) ? vector + 1 + index : NULL;
}

cold void page_ext_forget_slow(enum page_ext kind, const struct page *head);

/*
 * The pages of a block are freed. Relaxed: who frees it has had all objects back, and so knows of
 * the directory if one of them had a word.
 */
static inline void page_ext_forget(const struct page *head)
{
	for (unsigned int kind = 0; kind < PAGE_EXT_KINDS; kind++)
		if (unlikely(load_relaxed(&page_ext_directory[kind])))
			page_ext_forget_slow((enum page_ext)kind, head);
}

/* Asserts that only heads of blocks in use have vectors; no other thread may change any. */
void page_ext_check(void);

#endif /* PAGE_EXT_H */
