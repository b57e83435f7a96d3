/* SPDX-License-Identifier: MIT */
/*
 * page/ext.c - object extensions: words beside each object, for who counts objects by their owner
 *
 * Data:       page_ext_directory: of each kind a leaf for each 4 MiB of the arena, which has the
 *             vectors of the blocks whose heads lie there.
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

#define DIRECTORY_BYTES (USLAB_MAX_ARENA / (PAGE_EXT_LEAF * PAGE_SIZE) * sizeof(void *))

struct page_ext_leaf **page_ext_directory[PAGE_EXT_KINDS];

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
static uint32_t **find(enum page_ext kind, const struct page *head, bool make)
{
	unsigned long index = (unsigned long)(head - page_map.pages);
	struct page_ext_leaf **directory =
		get((void **)&page_ext_directory[kind], make ? DIRECTORY_BYTES : 0);
	struct page_ext_leaf *leaf;

	if (!directory)
		return NULL;
	leaf = get((void **)&directory[index / PAGE_EXT_LEAF], make ? sizeof(*leaf) : 0);
	return leaf ? &leaf->vector[index % PAGE_EXT_LEAF] : NULL;
}

static size_t vector_bytes(unsigned int nr)
{
	return (1 + (size_t)nr) * sizeof(uint32_t);
}

uint32_t *page_ext_word(enum page_ext kind, const struct page *head, unsigned int nr,
			unsigned int index, bool make)
{
	uint32_t **at = find(kind, head, make);
	uint32_t *vector = at ? get((void **)at, make ? vector_bytes(nr) : 0) : NULL;

	if (!vector)
		return NULL;
	if (make)
		store_relaxed(vector, nr); /* all who make it store the same */
	return index < nr ? vector + 1 + index : NULL;
}

void page_ext_forget_slow(enum page_ext kind, const struct page *head)
{
	uint32_t **at = find(kind, head, false);
	uint32_t *vector = at ? load_acquire(at) : NULL; /* pairs with get() */

	if (!vector)
		return;
	store_relaxed(at, NULL);
	meta_free(vector, vector_bytes(load_relaxed(vector)));
}

static void check_leaf(const struct page_ext_leaf *leaf, unsigned long first)
{
	for (unsigned long i = 0; i < PAGE_EXT_LEAF; i++) {
		const struct page *head = page_at(first + i);
		const uint32_t *vector = load_relaxed(&leaf->vector[i]);

		if (!vector)
			continue;
		CHECK(head->type == PAGE_SLAB || head->type == PAGE_HEAP || head->type == PAGE_RUN);
		CHECK(load_relaxed(vector) > 0);
	}
}

static void check_kind(struct page_ext_leaf **directory)
{
	unsigned long nr_pages = load_relaxed(&page_map.nr_pages);

	for (unsigned long i = 0; directory && i * PAGE_EXT_LEAF < nr_pages; i++) {
		const struct page_ext_leaf *leaf =
			load_acquire(&directory[i]); /* pairs with get() */

		if (leaf)
			check_leaf(leaf, i * PAGE_EXT_LEAF);
	}
}

void page_ext_check(void)
{
	for (unsigned int kind = 0; kind < PAGE_EXT_KINDS; kind++)
		check_kind(load_acquire(&page_ext_directory[kind])); /* likewise */
}
