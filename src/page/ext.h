/* SPDX-License-Identifier: MIT */
/*
 * page/ext.h - object extensions: a word beside each object, for who counts objects by their owner
 *
 * Why:        docs/adr/0050.
 * Data:       for each block of pages of the arena that has extensions a vector, found by the index
 *             of its head: two levels of pointers, and a word of 32 bits for each object. All of it
 *             is metadata (page/meta.h), never a cache's, and there is none before the first word
 *             is asked for.
 * Invariants: a vector has as many words as its block was said to have when it was made, and goes
 *             when the pages of its block do (page_forget_block()). A word belongs to whoever has
 *             the object. Checked by page_ext_check().
 * Locks:      none. Pointers are set once, by compare and swap; who comes second takes the other's.
 *             A vector is freed by the thread that frees the block, when it has no live object: so
 *             nobody else has a word of it.
 * Flow:       called by page.c, buddy.c and cache/profile/profile.c; calls meta.c.
 */
#ifndef PAGE_EXT_H
#define PAGE_EXT_H

#include "base/atomic.h"
#include "page/page.h"

/* Of pointers to leaves; NULL: no object has an extension so far. */
extern void *page_ext_directory;

/*
 * The word of object number index of that block, of nr objects; NULL: it has none, or (make) there
 * is no memory for it. make: the caller has a live object of the block, and waits for no lock
 * (os/lock/lock.h).
 */
uint32_t *page_ext_word(const struct page *head, unsigned int nr, unsigned int index, bool make);

cold void page_ext_forget_slow(const struct page *head);

/*
 * The pages of a block are freed. Relaxed: who frees it has had all objects back, and so knows of
 * the directory if one of them had a word.
 */
static inline void page_ext_forget(const struct page *head)
{
	if (unlikely(load_relaxed(&page_ext_directory)))
		page_ext_forget_slow(head);
}

/* Asserts that only heads of blocks in use have vectors; no other thread may change any. */
void page_ext_check(void);

#endif /* PAGE_EXT_H */
