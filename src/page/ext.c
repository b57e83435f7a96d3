/* SPDX-License-Identifier: MIT */
/*
 * page/ext.c - object extensions: a word beside each object, for who counts objects by their owner
 *
 * Data:       page_ext_directory: a leaf for each 4 MiB of the arena, which has the vectors of the
 *             blocks whose heads lie there. A vector is its number of words, then these.
 * Invariants: see ext.h.
 * Locks:      none; metadata's inside.
 * Flow:       see ext.h.
 *
 * Who may meet on one pointer: threads that have live objects of one block (one level up: of one
 * leaf), and each makes the vector. cmpxchg (release) publishes one, all zero; the others load it
 * (acquire), and give theirs back. With the block's last object gone there is nobody but the thread
 * that frees its pages.
 */
#include "page/ext.h"

#include "base/assert.h"
#include "page/meta.h"

#define LEAF_BLOCKS 1024u /* pages of a leaf */
#define DIRECTORY_BYTES (USLAB_MAX_ARENA / (LEAF_BLOCKS * PAGE_SIZE) * sizeof(void *))

struct leaf {
	void *vector[LEAF_BLOCKS]; /* uint32_t[] */
};

void *page_ext_directory;

/* What *at points at; if that is nothing, bytes of zero that it gets. NULL: nothing. */
static void *get(void **at, size_t bytes)
{
	void *there = load_acquire(at); /* pairs with the cmpxchg below */
	void *mine;

	if (there || !bytes)
		return there;
	mine = meta_alloc(bytes);
	if (!mine || cmpxchg(at, NULL, mine)) /* pairs with the load above */
		return mine;
	meta_free(mine, bytes);
	return load_acquire(at); /* as above */
}

/* Where the vector of a block is found; NULL: there is no such place. */
static void **find(const struct page *head, bool make)
{
	unsigned long index = (unsigned long)(head - page_map.pages);
	void **directory = get(&page_ext_directory, make ? DIRECTORY_BYTES : 0);
	struct leaf *leaf;

	if (!directory)
		return NULL;
	leaf = get(&directory[index / LEAF_BLOCKS], make ? sizeof(*leaf) : 0);
	return leaf ? &leaf->vector[index % LEAF_BLOCKS] : NULL;
}

static size_t vector_bytes(unsigned int nr)
{
	return (1 + (size_t)nr) * sizeof(uint32_t);
}

uint32_t *page_ext_word(const struct page *head, unsigned int nr, unsigned int index, bool make)
{
	void **at = find(head, make);
	uint32_t *vector = at ? get(at, make ? vector_bytes(nr) : 0) : NULL;

	if (!vector)
		return NULL;
	if (make)
		store_relaxed(vector, nr); /* all who make it store the same */
	return index < nr ? vector + 1 + index : NULL;
}

void page_ext_forget_slow(const struct page *head)
{
	void **at = find(head, false);
	uint32_t *vector = at ? load_acquire(at) : NULL; /* pairs with get() */

	if (!vector)
		return;
	store_relaxed(at, NULL);
	meta_free(vector, vector_bytes(load_relaxed(vector)));
}

static void check_leaf(const struct leaf *leaf, unsigned long first)
{
	for (unsigned long i = 0; i < LEAF_BLOCKS; i++) {
		const struct page *head = page_at(first + i);
		const uint32_t *vector = load_relaxed(&leaf->vector[i]);

		if (!vector)
			continue;
		CHECK(head->type == PAGE_SLAB || head->type == PAGE_HEAP || head->type == PAGE_RUN);
		CHECK(load_relaxed(vector) > 0);
	}
}

void page_ext_check(void)
{
	void **directory = load_acquire(&page_ext_directory); /* pairs with get() */
	unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	for (unsigned long i = 0; directory && i * LEAF_BLOCKS < nr_pages; i++) {
		const struct leaf *leaf = load_acquire(&directory[i]); /* likewise */

		if (leaf)
			check_leaf(leaf, i * LEAF_BLOCKS);
	}
}
