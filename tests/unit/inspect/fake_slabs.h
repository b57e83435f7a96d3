/* SPDX-License-Identifier: MIT */
/*
 * unit/inspect/fake_slabs.h - debug slabs, their users and stacks in a made-up process
 */
#ifndef UNIT_INSPECT_FAKE_SLABS_H
#define UNIT_INSPECT_FAKE_SLABS_H

#include "debug/stacks.h"
#include "fake_process.h"

#define FAKE_STACKS (FAKE_CACHES + 0x80000ul) /* the pointer to it, then struct stacks */
#define FAKE_CHUNK (FAKE_STACKS + 0x20000ul)

static inline uint64_t fake_debug_addr(const struct fake_process *f, unsigned int id)
{
	return fake_cache_addr(f, id) + 0xa00;
}

/* Makes a cache one that is debugged, with these of Z, P, U. */
static inline struct debug *fake_debug(const struct fake_process *f, unsigned int id,
				       slab_flags_t flags, bool orig_size)
{
	struct cache *c = fake_at(f, fake_cache_addr(f, id));
	struct debug *d = fake_at(f, fake_debug_addr(f, id));
	struct slab_layout *layout = &d->layouts[debug_layout_index(flags)];

	BUILD_ASSERT(sizeof(struct debug) <= 0x600);
	debug_layout_sizes(layout, c->engine.object_size, 8, flags, false, orig_size);
	layout->kind = LAYOUT_DEBUG;
	layout->debug = flags;
	d->flags = flags;
	d->orig_size = orig_size;
	d->inner = (void *)(FAKE_GLOBALS + FAKE_SLUB_OPS);
	d->layout = (void *)(fake_debug_addr(f, id) + offsetof(struct debug, layouts) +
			     debug_layout_index(flags) * sizeof(*layout));
	c->engine.debug = (void *)fake_debug_addr(f, id);
	c->flags |= flags;
	return d;
}

static inline const struct slab_layout *fake_debug_layout(const struct debug *d)
{
	return &d->layouts[debug_layout_index(d->flags & DEBUG_LAYOUT_FLAGS)];
}

/* A debug slab of order 0 with all its objects in use. */
static inline struct page *fake_debug_slab(const struct fake_process *f, unsigned long index,
					   unsigned int id)
{
	const struct debug *d = fake_at(f, fake_debug_addr(f, id));
	unsigned int objects = PAGE_SIZE / fake_debug_layout(d)->stride;
	struct page *page = fake_slab(f, index, id, objects, objects, false);

	page->layout = d->layout;
	return page;
}

static inline uint64_t fake_object(const struct fake_process *f, unsigned long index,
				   unsigned int id, unsigned int i)
{
	const struct slab_layout *l = fake_debug_layout(fake_at(f, fake_debug_addr(f, id)));

	return FAKE_ARENA + index * PAGE_SIZE + l->red_left_pad + i * l->stride;
}

static inline struct track *fake_track(const struct fake_process *f, unsigned long index,
				       unsigned int id, unsigned int i)
{
	const struct slab_layout *l = fake_debug_layout(fake_at(f, fake_debug_addr(f, id)));

	return fake_at(f, fake_object(f, index, id, i) + debug_tracks_offset(l));
}

/* Puts object i in front of the slab's free list, encoded as the cache's are. */
static inline void fake_free(const struct fake_process *f, unsigned long index, unsigned int id,
			     unsigned int i)
{
	const struct debug *d = fake_at(f, fake_debug_addr(f, id));
	struct page *page = fake_page(f, index);
	uint64_t object = fake_object(f, index, id, i);
	uint64_t slot = object + fake_debug_layout(d)->offset;

	*(uint64_t *)fake_at(f, slot) =
		debug_freeptr_code(d, (uintptr_t)page->freelist, (const uintptr_t *)slot);
	page->freelist = (void *)object;
	page->counters--; /* inuse is the lowest field */
}

/* A stack of nr frames at byte `place` of chunk 0. Returns its handle. */
static inline uint32_t fake_stack(const struct fake_process *f, unsigned int place,
				  const uint64_t *pcs, unsigned int nr)
{
	struct stacks *stacks = fake_at(f, FAKE_STACKS + 8);
	struct stack_record *record = fake_at(f, FAKE_CHUNK + place);

	BUILD_ASSERT(sizeof(struct stacks) <= 0x1f000);
	fake_root(f)->stacks = FAKE_STACKS;
	*(uint64_t *)fake_at(f, FAKE_STACKS) = FAKE_STACKS + 8;
	stacks->chunk[0] = FAKE_CHUNK;
	record->nr = nr;
	memcpy(record->pc, pcs, nr * sizeof(*pcs));
	return place / STACKS_UNIT;
}

#endif /* UNIT_INSPECT_FAKE_SLABS_H */
