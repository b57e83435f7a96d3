/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/block.c - blocks that say what they are: kmalloc on SLOB (spec 1.6)
 *
 * Data:       struct header, the 8 bytes before the object.
 * Invariants: the size is what was asked for; the owner is 0 for blocks of slob_block_alloc(), else
 *             the number of the cache.
 * Locks:      slob_heap.lock; headers belong to whoever has the object.
 * Flow:       called through struct engine_heap and by slob.c; calls heap.c.
 *
 * The kernel leaves the upper half of the header empty. Here it holds the owner, so that objects of
 * size-class caches, which a program frees by their address alone, find home.
 */
#include <string.h>

#include "base/bits.h"
#include "engine/slob/slob.h"
#include "os/die.h"
#include "page/run.h"

struct header {
	uint32_t size; /* bytes */
	uint32_t owner;
};

BUILD_ASSERT(sizeof(struct header) == SLOB_HEADER);

static inline struct header *header_of(const void *p)
{
	return (struct header *)((char *)p - SLOB_HEADER);
}

static cold _Noreturn void die_header(const void *p)
{
	os_die_fmt("SLOB: %p has no header of such an object: freed twice, not the start of an "
		   "object, or written before its start",
		   p);
}

struct slob_shape slob_block_shape(size_t size, size_t align)
{
	if (is_pow2(size))
		align = MAX(align, size);
	return (struct slob_shape){
		.size = (unsigned int)size + SLOB_HEADER,
		.align = (unsigned int)MAX(align, (size_t)SLOB_HEADER),
		.header = SLOB_HEADER,
	};
}

void *slob_block_open(void *block, size_t size, unsigned int owner)
{
	*(struct header *)block = (struct header){ (uint32_t)size, owner };
	return (char *)block + SLOB_HEADER;
}

void *slob_block_close(void *p, size_t size, unsigned int owner)
{
	const struct header *h = header_of(p);

	if (unlikely(h->size != size || h->owner != owner))
		die_header(p);
	return (char *)p - SLOB_HEADER;
}

/*
 * An alignment that a header does not leave room for in a page is met by a run of pages of its own,
 * which run_free() takes, as it does what is larger than max_size. In the kernel nobody can ask.
 */
void *slob_block_alloc(struct slob_heap *heap, size_t size, size_t align, gfp_t gfp, int node)
{
	struct slob_shape shape = slob_block_shape(size, align);
	void *block;

	if (unlikely(!slob_block_fits(size, shape.align)))
		return run_alloc(size, align, node, NULL);
	lock_acquire(&heap->lock);
	block = slob_take_locked(heap, &shape, gfp, node);
	if (likely(block))
		slob_add_locked(&heap->counters.blocks, 1);
	lock_release(&heap->lock);
	return likely(block) ? slob_block_open(block, size, 0) : NULL;
}

void slob_block_free(void *p)
{
	struct slob_heap *heap = slob_heap_of(p);
	size_t size = header_of(p)->size;
	struct page *empty = NULL;
	void *block;

	if (unlikely(!size || !slob_block_fits(size, SLOB_HEADER)))
		die_header(p);
	block = slob_block_close(p, size, 0);
	lock_acquire(&heap->lock);
	slob_put_locked(heap, block, (unsigned int)size + SLOB_HEADER, &empty);
	slob_sub_locked(&heap->counters.blocks, 1);
	lock_release(&heap->lock);
	slob_free_pages(empty);
}

size_t slob_block_size(const void *p)
{
	return ALIGN_UP((size_t)header_of(p)->size, SLOB_UNIT);
}

unsigned int slob_block_owner(const void *p)
{
	return header_of(p)->owner;
}
