/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/block.c - blocks that say what they are: kmalloc on SLOB (spec 1.6)
 *
 * Data:       struct header, the 8 bytes before the object.
 * Invariants: the size is what was asked for; the owner is 0 for blocks of slob_block_alloc(), else
 *             the number of the cache.
 * Locks:      slob_heap.lock; headers belong to whoever has the object.
 * Flow:       called by slob.c, try.c and through slob_1991_heap_ops; calls heap.c.
 *
 * The kernel leaves the upper half of the header empty. Here it holds the owner, so that objects of
 * size-class caches, which a program frees by their address alone, find home.
 */
#include <string.h>

#include "base/bits.h"
#include "engine/slob/slob.h"
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

	if (unlikely(!slob_heap_page(p) || (uintptr_t)p % PAGE_SIZE < SLOB_HEADER ||
		     h->size != size || h->owner != owner))
		return NULL;
	return (char *)p - SLOB_HEADER;
}

/*
 * An alignment that a header does not leave room for in a page is met by a run of pages of its own,
 * which run_free() takes, as it does what is larger than max_size. In the kernel nobody can ask.
 */
void *slob_block_alloc(const struct engine_heap *ops, size_t size, size_t align, gfp_t gfp,
		       int node)
{
	struct slob_heap *heap = slob_heap_of(ops);
	struct slob_shape shape = slob_block_shape(size, align);
	void *block;

	if (unlikely(!slob_block_fits(size, shape.align)))
		return run_alloc(size, align, node, NULL);
	lock_acquire(&heap->lock);
	block = slob_take_locked(heap, &shape, gfp, node);
	if (likely(block))
		slob_add_locked(&heap->counters.blocks, 1);
	engine_unlock(&heap->lock, &heap->said);
	return likely(block) ? slob_block_open(block, size, 0) : NULL;
}

/* The size that the header says; 0: it is none, or says what cannot be. */
static size_t size_of(const void *p)
{
	size_t size = (uintptr_t)p % PAGE_SIZE < SLOB_HEADER ? 0 : header_of(p)->size;

	return likely(size && slob_block_fits(size, SLOB_HEADER)) ? size : 0;
}

void slob_block_free(void *p)
{
	struct page *page = slob_heap_page(p);
	struct slob_heap *heap = page ? slob_heap_of(page->heap) : &slob_heap;
	size_t size = page ? size_of(p) : 0;
	void *block = size ? slob_block_close(p, size, 0) : NULL;
	struct page *empty = NULL;

	if (unlikely(!block)) {
		engine_mistake_now(&heap->self, p, page ? ENGINE_NO_HEADER : ENGINE_NO_OBJECT);
		return;
	}
	lock_acquire(&heap->lock);
	if (likely(slob_put_locked(heap, &heap->self, block, (unsigned int)size + SLOB_HEADER,
				   &empty)))
		slob_sub_locked(&heap->counters.blocks, 1);
	engine_unlock(&heap->lock, &heap->said);
	slob_free_pages(empty);
}

void *slob_block_try_alloc(const struct engine_heap *ops, size_t size, size_t align, int node)
{
	struct slob_heap *heap = slob_heap_of(ops);
	struct slob_shape shape = slob_block_shape(size, align);
	void *block;

	if (!slob_block_fits(size, shape.align) || !lock_try(&heap->lock))
		return NULL;
	block = slob_try_take_locked(heap, &shape, node);
	if (block)
		slob_add_locked(&heap->counters.blocks, 1);
	lock_release(&heap->lock);
	return block ? slob_block_open(block, size, 0) : NULL;
}

bool slob_block_try_free(const struct engine_heap *ops, void *p)
{
	struct slob_heap *heap = slob_heap_of(ops);
	size_t size = size_of(p);
	void *block = size ? slob_block_close(p, size, 0) : NULL;
	bool done;

	if (!block || !lock_try(&heap->lock))
		return false;
	done = slob_try_put_locked(heap, block, (unsigned int)size + SLOB_HEADER);
	slob_sub_locked(&heap->counters.blocks, done);
	lock_release(&heap->lock);
	return done;
}

/* Not beyond the page, whatever the header says: somebody is about to copy so much. */
size_t slob_block_size(const void *p)
{
	return MIN(ALIGN_UP(size_of(p), SLOB_UNIT), PAGE_SIZE - (uintptr_t)p % PAGE_SIZE);
}

size_t slob_block_usable(size_t size)
{
	return ALIGN_UP(size, SLOB_UNIT);
}

unsigned int slob_block_owner(const void *p)
{
	return (uintptr_t)p % PAGE_SIZE < SLOB_HEADER ? 0 : header_of(p)->owner;
}
