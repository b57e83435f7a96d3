/* SPDX-License-Identifier: MIT */
/*
 * inspect/debug_size.c - the memory that debug flags may take of a process
 *
 * Why:        docs/adr/0093.
 * Data:       struct snapshot of the caller.
 * Invariants: numbers of the process are checked before anything is computed with them.
 * Locks:      none.
 * Flow:       called by tools/uslab/command/need.c; calls snapshot_read(), debug/layout.c and
 *             engine/slub/order.c.
 *
 * Debug slabs are the same for every engine. What is not known from outside is slab_min_objects and
 * the like of the process (USLAB_CONF): a layout that it has not made yet is as without these. They
 * change the order of a slab, and so only how much is left at its end.
 */
#include "inspect/debug_size.h"

#include <string.h>

#include "base/bits.h"
#include "debug/debug.h"
#include "debug/pages/blocks.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "inspect/internal.h"

/* New objects of a cache with any of these are in debug slabs. */
#define IN_DEBUG_SLABS (DEBUG_LAYOUT_FLAGS | SLAB_CONSISTENCY_CHECKS | SLAB_TRACE)
#define MAX_BYTES (PAGE_SIZE << ARENA_CHUNK_ORDER) /* of an object, and of its alignment */

/* ---- layouts --------------------------------------------------------------------------------- */

static bool is_possible(const struct slab_layout *layout)
{
	return layout->stride && layout->order <= ARENA_CHUNK_ORDER && layout->objects &&
	       (uint64_t)layout->objects * layout->stride <= PAGE_SIZE << layout->order;
}

/* The one that the process has made. false: none yet. */
static bool read_made(struct snapshot *s, unsigned int index, slab_flags_t flags,
		      struct slab_layout *layout)
{
	uint64_t layouts = s->work[index].debug_layouts;

	return layouts &&
	       snapshot_read(s, layouts + debug_layout_index(flags) * sizeof(*layout), layout,
			     sizeof(*layout)) &&
	       is_possible(layout);
}

/* As cache_set_debug() has it: do its objects remember how many bytes were asked for? */
static bool has_orig_size(struct snapshot *s, unsigned int index)
{
	const struct snapshot_cache *c = &s->cache[index];
	uint64_t layouts = s->work[index].debug_layouts;
	uint8_t known;

	if (layouts && snapshot_read(s,
				     layouts - offsetof(struct debug, layouts) +
					     offsetof(struct debug, orig_size),
				     &known, sizeof(known)))
		return known;
	return c->id < USLAB_ID_FIRST_FREE && !c->ctor;
}

bool debug_size_layout(struct snapshot *s, unsigned int index, slab_flags_t flags,
		       struct slab_layout *layout)
{
	const struct snapshot_cache *c = &s->cache[index];
	struct topology machine;
	int order;

	if (!c->id)
		return false;
	if (read_made(s, index, flags, layout))
		return true;
	if (!c->object_size || c->object_size > MAX_BYTES || !is_pow2(c->align) ||
	    c->align > MAX_BYTES || !snapshot_read(s, s->root.topology, &machine, sizeof(machine)))
		return false;
	debug_layout_sizes(layout, c->object_size, c->align,
			   (flags & DEBUG_LAYOUT_FLAGS) | (c->flags & SLAB_TYPESAFE_BY_RCU),
			   c->ctor, has_orig_size(s, index));
	order = slub_order_on(layout->stride, &machine);
	if (order < 0)
		return false;
	layout->order = (unsigned int)order;
	layout->objects = (unsigned int)((PAGE_SIZE << order) / layout->stride);
	return is_possible(layout);
}

/* ---- what they take -------------------------------------------------------------------------- */

static uint64_t bytes_of(const struct slab_layout *layout, unsigned long objects)
{
	uint64_t slabs = objects / layout->objects + (objects % layout->objects != 0);

	return slabs * (PAGE_SIZE << layout->order);
}

/* The row of the heap that a cache takes its blocks from; -1: it has objects of its own. */
static int heap_of(const struct snapshot *s, unsigned int index)
{
	if (!s->work[index].takes_blocks)
		return -1;
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *row = &s->cache[i];

		if (!row->id && !row->whole_pages && row->engine[0] &&
		    !strcmp(row->engine, s->cache[index].engine))
			return (int)i;
	}
	return -1;
}

/* How many of the heap's blocks can be of that class: each has more than half of its bytes. */
static unsigned long blocks_of_class(const struct snapshot_cache *heap,
				     const struct snapshot_cache *c)
{
	unsigned long most = heap->object_bytes / (c->object_size / 2 + 1);

	return MIN(heap->objects, most);
}

static struct debug_size size_of_cache(struct snapshot *s, unsigned int index, slab_flags_t flags)
{
	const struct snapshot_cache *c = &s->cache[index];
	unsigned long there = s->work[index].debug_inuse[debug_layout_index(flags)];
	struct debug_size size = { .heap = heap_of(s, index) };
	struct slab_layout layout;

	size.objects = c->objects - MIN(there, c->objects);
	if (size.heap >= 0)
		size.objects += blocks_of_class(&s->cache[size.heap], c);
	if (size.objects && debug_size_layout(s, index, flags, &layout))
		size.bytes = bytes_of(&layout, size.objects);
	return size;
}

/*
 * Blocks of whole pages go back as they are freed, so only what is beside a block counts: red
 * zones, of which the one in front of an aligned block is longer, and its record.
 */
static struct debug_size size_of_blocks(const struct snapshot *s, slab_flags_t now,
					slab_flags_t flags)
{
	unsigned long blocks = s->totals.runs + s->totals.mapped;
	struct debug_size size = { .objects = blocks, .heap = -1 };

	if (!(now & BLOCKS_DEBUG_FLAGS))
		size.bytes += MIN(blocks, (unsigned long)BLOCKS_MAX) * sizeof(struct block_record);
	if (flags & ~now & SLAB_RED_ZONE)
		size.bytes += blocks * 2 * PAGE_SIZE;
	if (flags & ~now & SLAB_POISON)
		size.freed = BLOCKS_FREED_BYTES;
	size.bytes += size.freed;
	return size;
}

/* Do new objects go to other slabs than before? */
static bool is_other(slab_flags_t now, slab_flags_t flags)
{
	return flags & IN_DEBUG_SLABS &&
	       (!(now & IN_DEBUG_SLABS) || debug_layout_index(now) != debug_layout_index(flags));
}

struct debug_size debug_size_more(struct snapshot *s, unsigned int index, slab_flags_t flags)
{
	const struct snapshot_cache *c = &s->cache[index];
	struct debug_size none = { .heap = -1 };

	if (index == s->blocks_row && c->whole_pages)
		return flags & ~c->flags & DEBUG_LAYOUT_FLAGS ? size_of_blocks(s, c->flags, flags)
							      : none;
	return c->id && is_other(c->flags, flags) ? size_of_cache(s, index, flags) : none;
}

uint64_t debug_size_pending(struct snapshot *s, unsigned int index)
{
	const struct snapshot_cache *c = &s->cache[index];
	struct debug_size size = { .bytes = 0 };

	if (c->id && c->flags & IN_DEBUG_SLABS)
		size = size_of_cache(s, index, c->flags);
	return size.heap < 0 ? size.bytes : 0;
}

uint64_t debug_size_back(struct snapshot *s, unsigned int index, slab_flags_t flags)
{
	const struct snapshot_cache *c = &s->cache[index];
	struct slab_layout layout;
	unsigned long objects = 0;

	if (!c->id || flags & IN_DEBUG_SLABS || !(c->flags & IN_DEBUG_SLABS))
		return 0;
	for (unsigned int i = 0; i < DEBUG_LAYOUTS; i++)
		objects += s->work[index].debug_inuse[i];
	if (!s->work[index].layout ||
	    !snapshot_read(s, s->work[index].layout, &layout, sizeof(layout)) ||
	    !is_possible(&layout))
		return (uint64_t)objects * c->object_size;
	return bytes_of(&layout, objects);
}
