/* SPDX-License-Identifier: MIT */
/*
 * page/meta.c - blocks for the allocator's own data
 *
 * Why:        docs/adr/0031, docs/adr/0080.
 * Data:       bump: the rest of the newest chunk or of a larger free block; lane_rest: of the block
 *             that a lane of CPUs takes its own from; free_blocks[shift]: blocks of 1 << shift
 *             bytes, linked through their first word, otherwise zero.
 * Invariants: used + free blocks + rests == mapped: nothing is lost to alignment (what a block must
 *             skip goes to the free lists in smaller blocks). Checked by meta_check().
 * Locks:      meta_lock (RANK_META).
 * Flow:       see meta.h; calls os/memory/.
 */
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/lock/lock.h"
#include "os/memory/vm.h"
#include "page/meta.h"
#include "page/realtime.h"

#define MIN_SHIFT 4    /* 16 bytes */
#define CHUNK_SHIFT 16 /* 64 KiB: the largest block that comes out of a chunk */
#define MAX_SHIFT 46   /* no mapping is larger than user space */
#define MAX_ALIGN 4096ul
#define CHUNK_BYTES (256ul << 10)
#define LANE_SHIFT 12 /* 4 KiB: what a lane takes at a time */

struct free_block {
	struct free_block *next;
};

struct rest {
	char *start; /* NULL: there was none yet */
	char *end;
};

static struct lock meta_lock = { 0, RANK_META };
static struct rest bump;			      /* meta_lock */
static struct rest lane_rest[OS_LANES];		      /* meta_lock */
static struct free_block *free_blocks[MAX_SHIFT + 1]; /* meta_lock */

struct meta_counters meta_counters;
struct meta_range meta_ranges[META_RANGES];

static unsigned int size_shift(size_t size)
{
	unsigned int shift = size ? fls(size - 1) : 0;

	return MAX(shift, MIN_SHIFT);
}

static void push_locked(void *p, unsigned int shift)
{
	struct free_block *block = p;

	block->next = free_blocks[shift];
	free_blocks[shift] = block;
}

static void *pop_locked(unsigned int shift)
{
	struct free_block *block = free_blocks[shift];

	if (block) {
		free_blocks[shift] = block->next;
		block->next = NULL;
	}
	return block;
}

/* Gives all before `to` to the free lists, each block as large as alignment and space allow. */
static void split_rest_locked(struct rest *rest, char *to)
{
	while (rest->start < to) {
		unsigned long space = (unsigned long)(to - rest->start);
		unsigned int shift = MIN(ilog2(space), CHUNK_SHIFT);
		unsigned int aligned = (unsigned int)__builtin_ctzl((uintptr_t)rest->start);

		if (aligned < ilog2(MAX_ALIGN))
			shift = MIN(shift, aligned);
		push_locked(rest->start, shift);
		rest->start += 1ul << shift;
	}
}

/* In place of what there was, which goes to the free lists. */
static void new_rest_locked(struct rest *rest, char *start, size_t size)
{
	split_rest_locked(rest, rest->end);
	rest->start = start;
	rest->end = start + size;
}

/* A block from where a rest starts; NULL: it has no space. */
static void *cut_locked(struct rest *rest, unsigned int shift)
{
	size_t size = 1ul << shift;
	char *start = (char *)ALIGN_UP((uintptr_t)rest->start, MIN(size, MAX_ALIGN));

	if (!rest->start || start + size > rest->end)
		return NULL;
	split_rest_locked(rest, start);
	rest->start = start + size;
	return start;
}

/* Mappings are never unmapped, and the system puts them side by side where it can. */
static void note_range_locked(char *start, size_t size)
{
	struct meta_range *range = meta_ranges;

	for (; range < meta_ranges + META_RANGES; range++) {
		if (range->start && range->start != start + size &&
		    range->start + range->size != start)
			continue;
		store_relaxed(&range->size, range->size + size);
		if (!range->start || range->start > start)
			store_relaxed(&range->start, start);
		return;
	}
}

static void count_mapping_locked(void *p, size_t size)
{
	note_range_locked(p, size);
	store_relaxed(&meta_counters.mapped, meta_counters.mapped + size);
	os_small_pages(p, size);
	os_name(p, size, "uslab meta");
}

/* The smallest free block that is larger than one of 1 << shift bytes, or a new chunk. */
static char *find_space_locked(unsigned int shift, size_t *size)
{
	char *chunk;

	for (shift++; shift <= CHUNK_SHIFT; shift++) {
		*size = 1ul << shift;
		if (free_blocks[shift])
			return pop_locked(shift);
	}
	realtime_note_exceeded();
	chunk = os_map(CHUNK_BYTES, os_page_size());
	if (chunk)
		count_mapping_locked(chunk, CHUNK_BYTES);
	*size = CHUNK_BYTES;
	return chunk;
}

/* A block of at most 64 KiB from the rest, which may first be set to other space. */
static void *bump_locked(unsigned int shift)
{
	void *p = cut_locked(&bump, shift);
	char *start;
	size_t size;

	if (p)
		return p;
	start = find_space_locked(shift, &size);
	if (!start)
		return NULL;
	new_rest_locked(&bump, start, size);
	return cut_locked(&bump, shift);
}

/* A block beyond 64 KiB, mapped on its own; it never joins a chunk. */
static void *map_locked(unsigned int shift)
{
	void *p;

	realtime_note_exceeded();
	p = os_map(1ul << shift, os_page_size());
	if (p)
		count_mapping_locked(p, 1ul << shift);
	return p;
}

void *meta_prepare(size_t size)
{
	char *start = os_map(size, os_page_size());

	if (!start)
		return NULL;
	lock_acquire(&meta_lock);
	count_mapping_locked(start, size);
	new_rest_locked(&bump, start, size);
	lock_release(&meta_lock);
	return start;
}

static void *alloc_locked(unsigned int shift)
{
	void *p = pop_locked(shift);

	if (p)
		return p;
	return shift <= CHUNK_SHIFT ? bump_locked(shift) : map_locked(shift);
}

/* Where the lane's block is used up, one that was freed will do, before it takes a new one. */
static void *alloc_apart_locked(unsigned int shift, unsigned int lane)
{
	struct rest *rest = &lane_rest[lane];
	void *p = cut_locked(rest, shift);
	char *start;

	if (!p && shift < LANE_SHIFT && !free_blocks[shift] && !realtime_is_on()) {
		start = alloc_locked(LANE_SHIFT);
		if (start)
			new_rest_locked(rest, start, 1ul << LANE_SHIFT);
		p = cut_locked(rest, shift);
	}
	return p ? p : alloc_locked(shift);
}

static void count_used_locked(unsigned int shift)
{
	store_relaxed(&meta_counters.used, meta_counters.used + (1ul << shift));
}

void *meta_alloc(size_t size)
{
	unsigned int shift = size_shift(size);
	void *p;

	if (shift > MAX_SHIFT)
		return NULL;
	lock_acquire(&meta_lock);
	p = alloc_locked(shift);
	if (p)
		count_used_locked(shift);
	lock_release(&meta_lock);
	return p;
}

void *meta_alloc_apart(size_t size)
{
	unsigned int shift = size_shift(size);
	unsigned int lane = os_current_lane();
	void *p;

	lock_acquire(&meta_lock);
	p = alloc_apart_locked(shift, lane);
	if (p)
		count_used_locked(shift);
	lock_release(&meta_lock);
	return p;
}

void meta_free(void *p, size_t size)
{
	unsigned int shift = size_shift(size);

	if (!p)
		return;
	/* Zeroes it; a large one is purged instead, unless its memory is locked. */
	if (shift <= CHUNK_SHIFT || os_purge(p, 1ul << shift) != 0)
		memset(p, 0, 1ul << shift);
	lock_acquire(&meta_lock);
	push_locked(p, shift);
	store_relaxed(&meta_counters.used, meta_counters.used - (1ul << shift));
	lock_release(&meta_lock);
}

size_t meta_bytes(void)
{
	return load_relaxed(&meta_counters.mapped);
}

void meta_each_lock(void (*act)(struct lock *l))
{
	act(&meta_lock);
}

void meta_check(void)
{
	size_t known;
	unsigned int shift;

	lock_acquire(&meta_lock);
	known = meta_counters.used + (size_t)(bump.end - bump.start);
	for (unsigned int lane = 0; lane < OS_LANES; lane++)
		known += (size_t)(lane_rest[lane].end - lane_rest[lane].start);
	for (shift = 0; shift <= MAX_SHIFT; shift++) {
		size_t align = MIN(1ul << shift, MAX_ALIGN);
		struct free_block *block;

		for (block = free_blocks[shift]; block; block = block->next) {
			const unsigned long *word = (const unsigned long *)block;

			CHECK(((uintptr_t)block & (align - 1)) == 0);
			CHECK(word[1] == 0 && word[(1ul << shift) / sizeof(*word) - 1] == 0);
			known += 1ul << shift;
		}
	}
	CHECK(known == meta_counters.mapped);
	lock_release(&meta_lock);
}
