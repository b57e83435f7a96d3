/* SPDX-License-Identifier: MIT */
/*
 * inspect/memory_own.c - resident memory of uslab outside of the arena: its tables, its metadata,
 * large blocks
 *
 * Data:       struct memory of the caller.
 * Invariants: at most MAX_PAGES pages are looked at, whatever the process says about ranges.
 * Locks:      none.
 * Flow:       called by memory.c; calls back for states of pages.
 */
#include "base/bits.h"
#include "debug/pages/blocks.h"
#include "os/cpu/cpu.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/meta.h"
#include "page/reserve.h"
#include "page/used.h"
#include "inspect/internal.h"
#include "inspect/memory.h"

#define MAX_PAGES (1ul << 30) /* 4 TiB */
#define MAX_SLOTS (1ul << 22)

/* Whole pages that hold bytes of the range: neighbouring ranges of one kind do not share any. */
static void add(struct memory *m, enum memory_kind kind, uint64_t start, uint64_t size)
{
	uint64_t end = ALIGN_UP(start + size, PAGE_SIZE);

	if (!size || start + size < start || end < start)
		return;
	start = ALIGN_DOWN(start, PAGE_SIZE);
	while (start < end && m->left > 0) {
		size_t n = (size_t)MIN((end - start) >> PAGE_SHIFT, (uint64_t)MEMORY_PIECE);

		n = MIN(n, m->left);
		if (!memory_states(m, start, n))
			return;
		m->kind[kind] += memory_count(m, n);
		m->left -= n;
		start += (uint64_t)n << PAGE_SHIFT;
	}
}

/* Tables lie side by side; what lies between two of them is none's. */
static void add_tables(struct memory *m)
{
	struct page_map map;
	unsigned long pages;

	if (!snapshot_read(m->s, m->s->root.page_map, &map, sizeof(map)))
		return;
	pages = m->s->nr_pages;
	add(m, MEMORY_DESCRIPTORS, (uintptr_t)map.dirty, map.dirty ? pages / 8 : 0);
	add(m, MEMORY_DESCRIPTORS, (uintptr_t)map.free, map.free ? pages / 8 : 0);
	add(m, MEMORY_DESCRIPTORS, (uintptr_t)map.pages, pages * sizeof(struct page));
	add(m, MEMORY_CLASSES, (uintptr_t)map.class, map.class ? pages : 0);
	add(m, MEMORY_USED, (uintptr_t)map.used, map.used ? pages * USED_BYTES : 0);
}

static void add_windows(struct memory *m)
{
	uint64_t first = m->s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET;
	struct topology topology;
	uint64_t size;

	if (!m->s->nr_pages ||
	    !snapshot_read(m->s, m->s->root.topology, &topology, sizeof(topology)))
		return;
	size = USLAB_WINDOW_CPU0 + MAX(topology.nr_cpu_ids, topology.nr_windows);
	size = MIN(size, (uint64_t)USLAB_WINDOW_CPU0 + USLAB_MAX_CPUS) << USLAB_WINDOW_SHIFT;
	add(m, MEMORY_WINDOWS, first, size);
	add(m, MEMORY_WINDOWS, first + USLAB_WINDOW_STATE, size);
}

static void add_metadata(struct memory *m)
{
	const struct uslab_root *root = &m->s->root;
	struct meta_range range[META_RANGES];
	uint64_t start;

	if (root->meta_ranges && snapshot_read(m->s, root->meta_ranges, range, sizeof(range)))
		for (unsigned int i = 0; i < META_RANGES; i++)
			add(m, MEMORY_META, (uintptr_t)range[i].start, range[i].size);
	if (root->reserve_base && snapshot_read(m->s, root->reserve_base, &start, sizeof(start)))
		add(m, MEMORY_TABLES, start, start ? RESERVE_RANGE : 0);
	if (root->blocks && snapshot_read(m->s, root->blocks, &start, sizeof(start)))
		add(m, MEMORY_TABLES, start, start ? sizeof(struct blocks) : 0);
}

static void add_kept(struct memory *m)
{
	const struct uslab_root *root = &m->s->root;
	struct keep_range range[KEEP_COUNT];
	struct keep_counters counters;

	if (!root->keep_ranges ||
	    !snapshot_read(m->s, root->keep_counters, &counters, sizeof(counters)) ||
	    !snapshot_read(m->s, root->keep_ranges, range, sizeof(range)))
		return;
	for (unsigned long i = 0; i < MIN(counters.count, (unsigned long)KEEP_COUNT); i++)
		add(m, MEMORY_KEPT, (uintptr_t)range[i].start, range[i].size);
}

static void add_slots(struct memory *m, uint64_t table, unsigned long slots)
{
	const struct large_block *block = (const struct large_block *)m->s->buffer;
	const unsigned long piece = SNAPSHOT_BUFFER / sizeof(*block);

	for (unsigned long i = 0; i < slots; i += piece) {
		unsigned long n = MIN(piece, slots - i);

		if (!snapshot_read(m->s, table + i * sizeof(*block), m->s->buffer,
				   n * sizeof(*block)))
			return;
		for (unsigned long j = 0; j < n; j++)
			if (block[j].addr)
				add(m, MEMORY_LARGE, block[j].addr, block[j].size & ~LARGE_MOVING);
	}
}

static void add_large(struct memory *m)
{
	const struct uslab_root *root = &m->s->root;
	unsigned long slots;
	uint64_t table;

	if (!root->large_blocks || !snapshot_read(m->s, root->large_slots, &slots, sizeof(slots)) ||
	    !snapshot_read(m->s, root->large_blocks, &table, sizeof(table)) || !table)
		return;
	slots = MIN(slots, MAX_SLOTS);
	add(m, MEMORY_TABLES, table, slots * sizeof(struct large_block));
	add_slots(m, table, slots);
}

void memory_own(struct memory *m)
{
	m->left = MAX_PAGES;
	add_large(m);
	add_kept(m);
	add_tables(m);
	add_windows(m);
	add_metadata(m);
	for (unsigned int i = 0; i < m->pages->nr_ranges; i++)
		add(m, m->pages->range[i].kind, m->pages->range[i].start, m->pages->range[i].size);
}
