/* SPDX-License-Identifier: MIT */
/*
 * inspect/pages.c - counts the page descriptors of a process
 *
 * Data:       struct snapshot of the caller; descriptors are read in pieces of its buffer.
 * Invariants: every block is counted once, by its head; a head that cannot be one is left out.
 * Locks:      none. A block that is allocated or freed while its part of the array is read may be
 *             counted in either state, or not at all.
 * Flow:       called by inspect/snapshot.c. One pass over an array: no endless loop.
 */
#include "base/bits.h"
#include "page/arena.h"
#include "inspect/internal.h"

#define PIECE (SNAPSHOT_BUFFER / sizeof(struct page))

/* A slab without objects: SLUB keeps it on its node's partial list, SLAB on a list of its own. */
static bool is_partial(const struct snapshot_work *work, const struct slab_counters *is,
		       enum layout_kind kind)
{
	if (is->frozen || is->inuse >= is->objects)
		return false;
	return is->inuse || !work->free_list || kind == LAYOUT_DEBUG;
}

static void count_in_cache(struct snapshot *s, unsigned int index, const struct page *page,
			   const struct slab_counters *is, enum layout_kind kind)
{
	struct snapshot_cache *c = &s->cache[index];
	struct snapshot_node *node = &c->node[MIN(page->node, SNAPSHOT_MAX_NODES - 1)];

	c->slabs++;
	node->slabs++;
	c->slab_bytes += PAGE_SIZE << page->order;
	c->total_objects += is->objects;
	node->total_objects += is->objects;
	s->work[index].inuse += is->inuse;
	node->inuse += is->inuse;
	if (is->frozen && kind != LAYOUT_DEBUG) { /* isolated debug slabs are frozen as well */
		c->cpu_slabs++;
		node->cpu_slabs++;
	} else if (is_partial(&s->work[index], is, kind)) {
		c->partial++;
		node->partial++;
		c->objects_partial += is->inuse;
		node->objects_partial += is->inuse;
	}
}

static void count_slab(struct snapshot *s, const struct page *page)
{
	union {
		uint64_t word;
		struct slab_counters is;
	} counters = { .word = page->counters };
	int index = snapshot_find_engine(s, (uintptr_t)page->engine);
	enum layout_kind kind;
	slab_flags_t debug;

	if (index < 0) {
		s->totals.unknown_bytes += PAGE_SIZE << page->order;
		return;
	}
	kind = snapshot_kind(s, (unsigned int)index, (uintptr_t)page->layout, &debug);
	counters.is.inuse = MIN(counters.is.inuse, counters.is.objects);
	count_in_cache(s, (unsigned int)index, page, &counters.is, kind);
	if (kind == LAYOUT_DEBUG) {
		s->cache[index].debug_slabs++;
		s->work[index].debug_inuse[debug_layout_index(debug)] += counters.is.inuse;
	}
	s->cache[index].guarded += kind == LAYOUT_GUARD;
	if (debug & SLAB_STORE_USER)
		s->cache[index].tracked += counters.is.inuse;
}

static void count_page(struct snapshot *s, const struct page *page)
{
	struct snapshot_totals *t = &s->totals;
	bool possible = true;

	switch (page->type) {
	case PAGE_SLAB:
		possible = page->order <= ARENA_CHUNK_ORDER;
		if (possible)
			count_slab(s, page);
		break;
	case PAGE_HEAP:
		snapshot_heap_page(s, page);
		break;
	case PAGE_RUN:
		possible = page->nr_pages <= 1u << ARENA_CHUNK_ORDER;
		if (possible) {
			t->runs++;
			t->run_bytes += (unsigned long)page->nr_pages << PAGE_SHIFT;
		}
		break;
	case PAGE_BUDDY:
	case PAGE_LISTED:
	case PAGE_KEPT:
		possible = page->order <= ARENA_CHUNK_ORDER && page->nr_pages <= 1u << page->order;
		if (possible) {
			t->free_bytes += page_free_pages(page) << PAGE_SHIFT;
			t->dirty_bytes += (unsigned long)page->nr_pages << PAGE_SHIFT;
			if (page->type != PAGE_BUDDY)
				t->listed_bytes += page_free_pages(page) << PAGE_SHIFT;
		}
		break;
	case PAGE_NONE: /* inside a free block or a page run, or never used */
	case PAGE_TAIL: /* counted with its head */
		break;
	default:
		possible = false;
	}
	t->inconsistent += !possible;
	if (possible && t->nodes > 1)
		snapshot_node_block(s, page);
}

void snapshot_pages(struct snapshot *s)
{
	const struct page *piece = (const struct page *)s->buffer;

	for (unsigned long i = 0; i < s->nr_pages; i += PIECE) {
		unsigned long n = MIN(PIECE, s->nr_pages - i);

		/* descriptors behind an unreadable one are not readable either */
		if (!snapshot_read(s, s->descriptors + i * sizeof(*piece), s->buffer,
				   n * sizeof(*piece)))
			break;
		for (unsigned long j = 0; j < n; j++)
			count_page(s, &piece[j]);
	}
}
