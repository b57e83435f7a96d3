/* SPDX-License-Identifier: MIT */
/*
 * inspect/memory.c - the resident pages of the arena by kind, and those of each cache
 *
 * Data:       struct memory of the caller; descriptors are read into the buffer of its snapshot.
 * Invariants: each page belongs to one block at most, and is counted with it; see memory.h. At most
 *             MAX_READS layouts are read: a process may name another one on each page.
 * Locks:      none.
 * Flow:       see memory.h. memory_take: blocks of the arena, one after the other, then
 *             memory_own.c for what lies outside, then the caches' shares.
 *
 * Descriptors and states are read in turns, of 1024 pages each, so that they are of about the same
 * time. A block that is allocated or freed in between is counted as what it was.
 */
#include "inspect/memory.h"

#include <string.h>

#include "base/bits.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "inspect/internal.h"

#define MAX_READS 4096u

BUILD_ASSERT(MEMORY_PIECE * sizeof(struct page) <= SNAPSHOT_BUFFER);

/* The block that is being counted. */
struct block {
	struct page head;
	unsigned long left;	/* pages to come */
	unsigned long pages;	/* those that were seen */
	unsigned long resident; /* bytes of these */
};

static const struct {
	const char *key;
	const char *help;
} kinds[] = {
#define MEMORY_KIND(item, key, help) { key, help },
#include "inspect/memory.def"
};

const char *memory_key(enum memory_kind kind)
{
	return kinds[kind].key;
}

const char *memory_help(enum memory_kind kind)
{
	return kinds[kind].help;
}

bool memory_states(struct memory *m, uint64_t addr, size_t nr)
{
	if (!m->error)
		m->error = m->pages->states(m->pages->ctx, addr, nr, m->state);
	return !m->error;
}

unsigned long memory_count(struct memory *m, size_t nr)
{
	unsigned long bytes = 0;

	for (size_t i = 0; i < nr; i++) {
		if (m->state[i] & MEMORY_RESIDENT)
			bytes += PAGE_SIZE;
		if (m->state[i] & MEMORY_HUGE)
			m->huge += PAGE_SIZE;
		if (m->state[i] & MEMORY_SWAPPED)
			m->swapped += PAGE_SIZE;
	}
	return bytes;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Bytes from one object to the next in slabs of that layout; 0: not known. */
static unsigned int stride_of(struct memory *m, uint64_t address)
{
	struct memory_layout *known = &m->layout[(address >> 4) % MEMORY_LAYOUTS];
	struct slab_layout layout;

	if (known->address == address)
		return known->stride;
	if (m->layouts_read++ >= MAX_READS ||
	    !snapshot_read(m->s, address, &layout, sizeof(layout)))
		return 0;
	known->address = address;
	known->stride = layout.stride;
	return known->stride;
}

/*
 * The pages that are resident hold objects in use first, then free ones: pages that nobody has
 * touched hold none that is in use. Which free ones were touched is not known.
 */
static void divide_slab(struct memory *m, struct memory_cache *c, const struct block *block,
			unsigned long inuse, unsigned long objects, unsigned long stride)
{
	unsigned long bytes = block->pages << PAGE_SHIFT;
	unsigned long used = MIN(inuse * stride, bytes);
	unsigned long unused = MIN((objects - inuse) * stride, bytes - used);
	unsigned long rest = block->resident;
	unsigned long part = MIN(used, rest);
	unsigned long least = rest - MIN(rest, bytes - used);

	c->objects += inuse;
	c->strides += inuse * stride;
	c->inuse += part;
	c->estimated += part - MIN(part, least);
	rest -= part;
	part = MIN(unused, rest);
	c->free += part;
	c->tails += rest - part;
	m->kind[MEMORY_FREE] += part;
	m->kind[MEMORY_TAILS] += rest - part;
}

static void finish_slab(struct memory *m, const struct block *block)
{
	union {
		uint64_t word;
		struct slab_counters is;
	} counters = { .word = block->head.counters };
	int index = snapshot_find_engine(m->s, (uintptr_t)block->head.engine);
	unsigned int stride;

	if (index < 0) {
		m->kind[MEMORY_UNKNOWN] += block->resident;
		return;
	}
	stride = stride_of(m, (uintptr_t)block->head.layout);
	divide_slab(m, &m->cache[index], block, MIN(counters.is.inuse, counters.is.objects),
		    counters.is.objects, stride ? stride : m->s->cache[index].slab_size);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void finish_heap(struct memory *m, const struct block *block)
{
	unsigned long unused = MIN((uint32_t)block->head.counters, PAGE_SIZE);
	unsigned long used = MIN(PAGE_SIZE - unused, block->resident);

	m->kind[MEMORY_LIVE] += used;
	m->kind[MEMORY_FREE] += block->resident - used;
}

static bool is_due(const struct memory *m, const struct page *head)
{
	return m->clock[MIN(head->node, SNAPSHOT_MAX_NODES - 1)] - head->stamp >= m->delay;
}

static void finish_free(struct memory *m, const struct block *block)
{
	unsigned long dirty = (unsigned long)block->head.nr_pages << PAGE_SHIFT;
	unsigned long part = MIN(dirty, block->resident);

	m->kind[is_due(m, &block->head) ? MEMORY_DUE : MEMORY_FRESH] += part;
	m->kind[MEMORY_CLEAN] += block->resident - part;
}

static void finish_block(struct memory *m, struct block *block)
{
	switch (block->head.type) {
	case PAGE_SLAB:
		finish_slab(m, block);
		break;
	case PAGE_HEAP:
		finish_heap(m, block);
		break;
	case PAGE_RUN:
		m->kind[MEMORY_RUNS] += block->resident;
		break;
	case PAGE_BUDDY:
		finish_free(m, block);
		break;
	case PAGE_LISTED:
	case PAGE_KEPT:
		m->kind[MEMORY_LISTED] += block->resident;
		break;
	default:
		m->kind[MEMORY_BETWEEN] += block->resident;
		break;
	}
	*block = (struct block){ .left = 0 };
}

/* Pages of the block that a page is the head of; 0: it is none. */
static unsigned long block_pages(const struct page *page)
{
	unsigned long most = 1ul << ARENA_CHUNK_ORDER;

	switch (page->type) {
	case PAGE_SLAB:
		return page->order <= ARENA_CHUNK_ORDER ? 1ul << page->order : 1;
	case PAGE_BUDDY:
	case PAGE_LISTED:
	case PAGE_KEPT:
		return page->order <= ARENA_CHUNK_ORDER ? MIN(MAX(page_free_pages(page), 1ul), most)
							: 1;
	case PAGE_RUN:
		return page->nr_pages ? MIN(page->nr_pages, most) : 1;
	case PAGE_HEAP:
		return 1;
	default:
		return 0;
	}
}

/* The next page of the arena. It may begin a block before the last one, that changed, has ended. */
static void count_page(struct memory *m, struct block *block, const struct page *page,
		       unsigned long resident)
{
	unsigned long pages = block_pages(page);

	if (pages || !block->left) {
		if (block->pages)
			finish_block(m, block);
		block->head = *page;
		block->left = MAX(pages, 1ul);
	}
	block->left--;
	block->pages++;
	block->resident += resident;
	if (!block->left)
		finish_block(m, block);
}

static void count_arena(struct memory *m)
{
	struct snapshot *s = m->s;
	const struct page *piece = (const struct page *)s->buffer;
	struct block block = { .left = 0 };

	for (unsigned long i = 0; i < s->nr_pages; i += MEMORY_PIECE) {
		unsigned long n = MIN(MEMORY_PIECE, s->nr_pages - i);

		if (!snapshot_read(s, s->descriptors + i * sizeof(*piece), s->buffer,
				   n * sizeof(*piece)) ||
		    !memory_states(m, s->totals.arena_base + (i << PAGE_SHIFT), n))
			break;
		m->arena_bytes += memory_count(m, n);
		for (unsigned long j = 0; j < n; j++)
			count_page(m, &block, &piece[j],
				   m->state[j] & MEMORY_RESIDENT ? PAGE_SIZE : 0);
	}
	if (block.pages)
		finish_block(m, &block);
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* Of *rest bytes so many objects' are of another kind. */
static unsigned long take_share(unsigned long *rest, unsigned long objects, unsigned long each)
{
	unsigned long part = MIN(*rest, objects * each);

	*rest -= part;
	return part;
}

static void share_cache(struct memory *m, const struct snapshot_cache *c, struct memory_cache *of)
{
	unsigned long each = of->objects ? of->strides / of->objects : c->slab_size;
	unsigned long beside = each - MIN(each, (unsigned long)c->object_size);
	unsigned long *rest = &of->inuse;

	if (!of->objects && c->id) /* its objects lie in a heap, if it has any */
		rest = &m->kind[MEMORY_LIVE];
	of->held_cpu = take_share(rest, c->objects_cpu, each);
	of->held_node =
		take_share(rest, c->objects_depot + c->objects_shared + c->objects_alien, each);
	of->lent = take_share(rest, c->objects_lent, each);
	of->padding = of->inuse / (each ? each : 1) * beside;
	of->live = of->inuse - of->padding;
	of->estimated = MIN(of->estimated, of->inuse);
	m->kind[MEMORY_HELD_CPU] += of->held_cpu;
	m->kind[MEMORY_HELD_NODE] += of->held_node;
	m->kind[MEMORY_LENT] += of->lent;
	m->kind[MEMORY_PADDING] += of->padding;
	m->kind[MEMORY_LIVE] += of->live;
	m->estimated += of->estimated;
}

static void read_clocks(struct memory *m)
{
	struct snapshot *s = m->s;
	struct buddy_zone zone;

	m->delay = BUDDY_PURGE_DELAY_MS >> BUDDY_CLOCK_SHIFT;
	if (s->root.purge_delay)
		snapshot_read(s, s->root.purge_delay, &m->delay, sizeof(m->delay));
	for (unsigned int node = 0; node < MIN(s->totals.nodes, SNAPSHOT_MAX_NODES); node++) {
		if (!s->reader->still)
			m->clock[node] =
				(uint32_t)(reader_clock_ms(s->reader) >> BUDDY_CLOCK_SHIFT);
		else if (s->root.zones &&
			 snapshot_read(s, s->root.zones + node * sizeof(zone), &zone, sizeof(zone)))
			m->clock[node] = zone.clock;
	}
}

int memory_take(struct memory *m, struct snapshot *s, const struct memory_pages *pages)
{
	memset(m, 0, sizeof(*m));
	m->s = s;
	m->pages = pages;
	read_clocks(m);
	count_arena(m);
	for (unsigned int i = 0; i < s->nr_caches; i++)
		share_cache(m, &s->cache[i], &m->cache[i]);
	memory_own(m);
	for (unsigned int i = 0; i < NR_MEMORY_KINDS; i++)
		m->bytes += m->kind[i];
	return m->error ? m->error : s->error;
}
