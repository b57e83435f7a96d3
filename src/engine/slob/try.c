/* SPDX-License-Identifier: MIT */
/*
 * engine/slob/try.c - one object of a cache, out of the heap and back, without waiting
 *
 * Why:        docs/adr/0048.
 * Data:       none of its own.
 * Invariants: as in slob.c. A page whose free list cannot be right is passed over, for an ordinary
 *             call to report.
 * Locks:      the heap's lock, which is tried; a new page is fetched under it.
 * Flow:       called through slob_1991_ops; calls heap.c, block.c, direct.c.
 */
#include "engine/slob/slob.h"

void *slob_try_alloc(struct engine *e, int node)
{
	const struct slob *s = slob_of(e);
	void *block;

	if (s->direct)
		return slob_direct_try_alloc(e, node);
	if (!lock_try(&s->heap->lock))
		return NULL;
	block = slob_try_take_locked(s->heap, &s->shape, node);
	slob_add_locked(&e->heap_objects, block != NULL);
	lock_release(&s->heap->lock);
	return block && s->shape.header ? slob_block_open(block, s->shape.size - SLOB_HEADER, e->id)
					: block;
}

static bool try_put_locked(struct engine *e, void *obj)
{
	const struct slob *s = slob_of(e);
	void *block = obj;

	if (s->shape.header)
		block = slob_block_close(obj, s->shape.size - SLOB_HEADER, e->id);
	if (!block || (uintptr_t)obj & (s->shape.align - 1))
		return false;
	return slob_try_put_locked(s->heap, block, s->shape.size);
}

bool slob_try_free(struct engine *e, void *obj)
{
	const struct slob *s = slob_of(e);
	bool done;

	if (load_relaxed(&e->verify_frees))
		return false;
	if (s->direct)
		return slob_direct_try_free(e, obj);
	if (!lock_try(&s->heap->lock))
		return false;
	done = try_put_locked(e, obj);
	slob_sub_locked(&e->heap_objects, done);
	lock_release(&s->heap->lock);
	return done;
}
