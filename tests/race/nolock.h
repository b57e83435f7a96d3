/* SPDX-License-Identifier: MIT */
/*
 * race/nolock.h - kmalloc_nolock() and kfree_nolock() for every engine with every front: blocks
 * with stamps, and the books when all of them are back
 */
#ifndef RACE_NOLOCK_H
#define RACE_NOLOCK_H

#include "conformance/books.h"
#include "conformance/pairs.h"

#include "page/nested.h"

#define SIZE 1024 /* bytes; of what ordinary calls allocate */

static const size_t try_sizes[] = { SIZE, 64, SIZE, 4096, SIZE, 8, SIZE, 200 };

static inline void kmalloc_ready(const struct pair *pair)
{
	CHILD_CHECK(cache_set_option("engine", pair->engine->name, NULL));
	CHILD_CHECK(cache_set_option("front", pair->front->name, NULL));
	CHILD_CHECK(kmalloc_init() == 0);
	for (unsigned int node = 0; node < buddy_nr_nodes; node++)
		buddy_provide(node, 0);
	alarm(250); /* who waits for a lock waits for ever */
}

/* ---- blocks whose first and last bytes say whose they are: each instruction is a signal ---- */

struct block {
	unsigned char *p;
	size_t size;
};

static inline uint64_t stamp_of(const struct block *b)
{
	return (uintptr_t)b->p ^ b->size << 48 ^ 0x5a5a5a5a5a5a5a5aul;
}

static inline void fill(struct block *b, void *p, size_t size)
{
	uint64_t stamp;

	b->p = p;
	b->size = size;
	stamp = stamp_of(b);
	if (p) {
		memcpy(b->p, &stamp, sizeof(stamp));
		memcpy(b->p + size - sizeof(stamp), &stamp, sizeof(stamp));
	}
}

static inline void check_block_is_whole(const struct block *b)
{
	uint64_t first;
	uint64_t last;

	memcpy(&first, b->p, sizeof(first));
	memcpy(&last, b->p + b->size - sizeof(last), sizeof(last));
	CHILD_CHECK(first == stamp_of(b) && last == stamp_of(b));
}

/* Any way that there is. */
static inline void free_block(struct block *b, bool ordinary)
{
	if (!b->p)
		return;
	check_block_is_whole(b);
	if (ordinary)
		kmalloc_free(b->p, NULL);
	else
		kmalloc_try_free(b->p, NULL);
	b->p = NULL;
}

static inline void try_block(struct block *b, size_t size)
{
	fill(b, kmalloc_try_alloc(size, 0, NUMA_NO_NODE, NULL), size);
}

static inline void take_block(struct block *b)
{
	void *p = kmalloc_alloc(SIZE, GFP_KERNEL, NUMA_NO_NODE);

	CHILD_CHECK(p);
	fill(b, p, SIZE);
}

#endif /* RACE_NOLOCK_H */
