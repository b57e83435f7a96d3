/* SPDX-License-Identifier: MIT */
/*
 * page/large.c - blocks too large for the arena, each a mapping of its own
 *
 * Data:       large_blocks: open addressing with linear probing, start address -> size, a power of
 *             two of slots, mapped; it doubles at half full and never shrinks.
 * Invariants: no empty slot between an entry's home slot and its place; 2 * entries <= slots.
 *             An entry marked MOVING belongs to the thread that resizes that block: no other thread
 *             finds it, since its address may be mapped and entered again at any moment. Checked by
 *             large_check().
 * Locks:      large_lock (RANK_LARGE) for the table; not held over mmap, munmap, mremap of blocks.
 * Flow:       see large.h; calls keep.c, thp.c, os/memory/.
 */
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/mix.h"
#include "os/lock/lock.h"
#include "os/memory/policy.h"
#include "os/memory/vm.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/thp.h"
#include "page/zone.h"

#define MOVING LARGE_MOVING
#define NOWHERE (~0ul)

BUILD_ASSERT(sizeof(struct large_block) == 32);

static struct lock large_lock = { 0, RANK_LARGE };
static unsigned long nr_entries; /* large_lock */

struct large_block *large_blocks;
unsigned long large_slots;
struct large_counters large_counters;

/* ---- the table: all with large_lock held ----------------------------------------------------- */

/* Mappings differ in their middle bits: multiply and take the upper ones. */
static unsigned long home_slot(uintptr_t addr)
{
	return (mix_multiply(addr >> PAGE_SHIFT) >> 32) & (large_slots - 1);
}

static unsigned long find_locked(uintptr_t addr, bool moving)
{
	unsigned long slot;

	if (!nr_entries)
		return NOWHERE;
	for (slot = home_slot(addr); large_blocks[slot].addr; slot = (slot + 1) & (large_slots - 1))
		if (large_blocks[slot].addr == addr &&
		    !!(large_blocks[slot].size & MOVING) == moving)
			return slot;
	return NOWHERE;
}

static void insert_locked(uintptr_t addr, size_t size, struct large_notes notes)
{
	unsigned long slot = home_slot(addr);

	while (large_blocks[slot].addr)
		slot = (slot + 1) & (large_slots - 1);
	large_blocks[slot] = (struct large_block){ addr, size, notes, 0 };
	nr_entries++;
}

/* Empties a slot and moves entries that were pushed past it back over it. */
static void remove_locked(unsigned long slot)
{
	unsigned long mask = large_slots - 1;
	unsigned long next = slot;

	for (;;) {
		next = (next + 1) & mask;
		if (!large_blocks[next].addr)
			break;
		/* An entry may move to the hole unless its home lies after the hole. */
		if (((next - home_slot(large_blocks[next].addr)) & mask) >=
		    ((next - slot) & mask)) {
			large_blocks[slot] = large_blocks[next];
			slot = next;
		}
	}
	large_blocks[slot].addr = 0;
	nr_entries--;
}

/* Makes space for one more entry. false: out of memory. */
static bool reserve_slot_locked(void)
{
	struct large_block *old = large_blocks;
	unsigned long old_slots = large_slots;
	unsigned long slots;
	unsigned long i;

	if (2 * (nr_entries + 1) <= large_slots)
		return true;
	slots = large_slots ? 2 * large_slots : os_page_size() / sizeof(*large_blocks);
	large_blocks = os_map(slots * sizeof(*large_blocks), os_page_size());
	if (!large_blocks) {
		large_blocks = old;
		return false;
	}
	large_slots = slots;
	nr_entries = 0;
	for (i = 0; i < old_slots; i++)
		if (old[i].addr)
			insert_locked(old[i].addr, old[i].size, old[i].notes);
	if (old)
		os_release(old, old_slots * sizeof(*old));
	return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Whole pages of the system for size bytes; 0: absurd. */
static size_t mapped_size(size_t size)
{
	size_t page = os_page_size();

	return size <= PTRDIFF_MAX - page ? ALIGN_UP(MAX(size, 1ul), page) : 0;
}

/*
 * Counts so many bytes more, before they are there, if the limit allows it (page/limit.h), maybe
 * after free memory was given back.
 */
static bool count_up(size_t bytes)
{
	for (unsigned int attempt = 0; attempt < 2; attempt++) {
		fetch_add(&large_counters.bytes, bytes);
		if (limit_admits())
			return true;
		fetch_sub(&large_counters.bytes, bytes);
		if (!attempt)
			zone_make_room(bytes >> PAGE_SHIFT);
	}
	return false;
}

/* After they are gone, or were counted elsewhere. */
static void count_down(size_t bytes)
{
	/* pairs with limit_held() */
	__atomic_fetch_sub(&large_counters.bytes, bytes, __ATOMIC_RELEASE);
}

/* NULL: out of memory, also after all that is kept was unmapped. */
static void *map_new(size_t mapped, size_t align)
{
	void *p = os_map(mapped, align);

	if (!p && keep_release(SIZE_MAX))
		p = os_map(mapped, align);
	if (p)
		thp_advise_large(p, mapped);
	return p;
}

/* A mapping of a freed block, or a new one. */
static void *map_block(size_t mapped, size_t align, bool *zeroed)
{
	size_t filled;
	void *p;

	realtime_note_exceeded();
	p = keep_take(mapped, align, zeroed);
	if (p)
		return p;
	p = map_new(mapped, align);
	filled = p ? keep_fill(p, mapped) : 0;
	if (filled == KEEP_GONE)
		p = map_new(mapped, align);
	*zeroed = filled == 0 || filled == KEEP_GONE;
	return p;
}

static void unmap_block(void *p, size_t mapped)
{
	if (!keep_put(p, mapped))
		os_release(p, mapped);
}

/* Into the table. false: out of memory. */
static bool enter_block(void *p, size_t mapped)
{
	bool entered;

	lock_acquire(&large_lock);
	entered = reserve_slot_locked();
	if (entered)
		insert_locked((uintptr_t)p, mapped, (struct large_notes){ { 0 } });
	lock_release(&large_lock);
	return entered;
}

void *large_alloc(size_t size, size_t align, bool *zeroed)
{
	size_t mapped = mapped_size(size);
	bool fresh = false;
	void *p;

	if (!mapped || !count_up(mapped))
		return NULL;
	p = map_block(mapped, MAX(align, os_page_size()), &fresh);
	if (p)
		os_policy_apply(p, mapped);
	if (p && !enter_block(p, mapped)) {
		os_release(p, mapped);
		p = NULL;
	}
	if (!p) {
		count_down(mapped);
		return NULL;
	}
	if (zeroed)
		*zeroed = fresh;
	fetch_add(&large_counters.count, 1);
	return p;
}

static size_t size_at_locked(const void *p)
{
	unsigned long slot = find_locked((uintptr_t)p, false);

	return slot != NOWHERE ? large_blocks[slot].size : 0;
}

static size_t size_around_locked(const void *p)
{
	for (unsigned long slot = 0; slot < large_slots; slot++) {
		const struct large_block *block = &large_blocks[slot];

		if (block->addr && !(block->size & MOVING) &&
		    (uintptr_t)p - block->addr < block->size)
			return block->size;
	}
	return 0;
}

static size_t look_up(const void *p, size_t (*look_locked)(const void *p))
{
	size_t size;
	bool inside;

	/* Relaxed: a thread that has a live block's address has seen the count that includes it. */
	if (load_relaxed(&large_counters.count) == 0)
		return 0;
	inside = lock_is_inside();
	if (likely(!inside))
		lock_acquire(&large_lock);
	else if (!lock_take_inside(&large_lock))
		return 0; /* the table may be half changed: see large.h */
	size = look_locked(p);
	if (likely(!inside))
		lock_release(&large_lock);
	else
		lock_leave_inside(&large_lock);
	return size;
}

size_t large_size(const void *p)
{
	return look_up(p, size_at_locked);
}

size_t large_size_around(const void *p)
{
	return look_up(p, size_around_locked);
}

size_t large_exchange_note(const void *p, enum page_ext kind, uint32_t note, uint32_t *old)
{
	unsigned long slot;
	size_t size = 0;

	if (load_relaxed(&large_counters.count) == 0) /* as in look_up() */
		return 0;
	lock_acquire(&large_lock);
	slot = find_locked((uintptr_t)p, false);
	if (slot != NOWHERE) {
		size = large_blocks[slot].size;
		*old = large_blocks[slot].notes.of[kind];
		large_blocks[slot].notes.of[kind] = note;
	}
	lock_release(&large_lock);
	return size;
}

/* Out of the table; its size, which the caller is to count down; 0: there is no such block. */
static size_t forget_block(void *p)
{
	unsigned long slot;
	size_t size = 0;

	lock_acquire(&large_lock);
	slot = find_locked((uintptr_t)p, false);
	if (slot != NOWHERE) {
		size = large_blocks[slot].size;
		remove_locked(slot);
	}
	lock_release(&large_lock);
	if (!size)
		return 0;
	fetch_sub(&large_counters.count, 1);
	return size;
}

bool large_free(void *p)
{
	size_t size = forget_block(p);

	if (!size)
		return false;
	unmap_block(p, size);
	count_down(size);
	return true;
}

bool large_discard(void *p)
{
	size_t size = forget_block(p);

	if (!size)
		return false;
	os_release(p, size);
	count_down(size);
	return true;
}

/* Hides p's entry from others and returns its size; 0: no such block. */
static size_t begin_resize(uintptr_t addr)
{
	unsigned long slot;
	size_t size = 0;

	lock_acquire(&large_lock);
	slot = find_locked(addr, false);
	if (slot != NOWHERE) {
		size = large_blocks[slot].size;
		large_blocks[slot].size |= MOVING;
	}
	lock_release(&large_lock);
	return size;
}

/*
 * Replaces an entry hidden by begin_resize(). Several may be hidden under one address when it was
 * mapped again after a move; whichever is replaced, one is left for each thread that hid one.
 */
static void end_resize(uintptr_t old_addr, uintptr_t new_addr, size_t new_size)
{
	unsigned long slot;
	struct large_notes notes;

	lock_acquire(&large_lock);
	slot = find_locked(old_addr, true);
	CHECK(slot != NOWHERE);
	notes = large_blocks[slot].notes;
	remove_locked(slot);
	insert_locked(new_addr, new_size, notes);
	lock_release(&large_lock);
}

/* Of a block that ends at end: how much moves at once from p on. */
static size_t unit_size(const char *p, const char *end)
{
	size_t part = KEEP_UNIT - ((uintptr_t)p & (KEEP_UNIT - 1));

	return MIN(part, (size_t)(end - p));
}

/*
 * Block p is of several mappings: unit by unit, and what does not move so is copied. Returns how
 * much; less than size: the unit after that is none of ours any more.
 */
static size_t move_units(char *p, char *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		size_t part = unit_size(p + done, p + size);
		enum os_move how = os_move(p + done, to + done, part);

		if (how == OS_MOVE_LOST)
			break;
		if (how != OS_MOVED)
			memcpy(to + done, p + done, part);
		done += part;
	}
	return done;
}

/* The unit of a new block at offset done is lost: the old one gets back what was moved. */
static void move_back(char *p, char *to, size_t done, size_t old_size, size_t new_size)
{
	size_t rest = done + unit_size(p + done, p + old_size);

	memcpy(p, to, done);
	if (done)
		os_release(to, done);
	os_release(to + rest, new_size - rest);
}

/* mremap() does not grow a block of several neighbouring mappings. */
static void *move_block(void *p, size_t old_size, size_t new_size, bool may_move)
{
	void *moved = os_remap(p, old_size, new_size, may_move);
	size_t done;

	if (moved || !may_move || new_size < old_size)
		return moved;
	moved = os_map(new_size, os_page_size());
	if (!moved)
		return NULL;
	thp_advise_large(moved, new_size);
	done = move_units(p, moved, old_size);
	if (done < old_size) {
		move_back(p, moved, done, old_size, new_size);
		return NULL;
	}
	os_release(p, old_size);
	return moved;
}

/* Moves it, or resizes it in place, and counts. NULL: nothing has changed. */
static void *resize_block(void *p, size_t old_size, size_t new_size, bool may_move)
{
	size_t more = new_size - MIN(new_size, old_size);
	size_t less = old_size - MIN(new_size, old_size);
	void *moved;

	if (new_size == old_size)
		return p;
	if (more && !count_up(more))
		return NULL;
	moved = move_block(p, old_size, new_size, may_move);
	count_down(moved ? less : more);
	return moved;
}

void *large_resize(void *p, size_t new_size, bool may_move)
{
	size_t mapped = mapped_size(new_size);
	size_t old_size = mapped ? begin_resize((uintptr_t)p) : 0;
	void *moved;

	if (!old_size)
		return NULL;
	moved = resize_block(p, old_size, mapped, may_move);
	if (!moved) {
		end_resize((uintptr_t)p, (uintptr_t)p, old_size);
		return NULL;
	}
	end_resize((uintptr_t)p, (uintptr_t)moved, mapped);
	return moved;
}

unsigned long large_count(void)
{
	return load_relaxed(&large_counters.count);
}

unsigned long large_bytes(void)
{
	return load_relaxed(&large_counters.bytes);
}

/* ---- fork, check ----------------------------------------------------------------------------- */

void large_each_lock(void (*act)(struct lock *l))
{
	act(&large_lock);
	keep_each_lock(act);
}

void large_forked(void)
{
	unsigned long bytes = 0;

	for (unsigned long i = 0; i < large_slots; i++)
		if (large_blocks[i].addr)
			bytes += large_blocks[i].size & ~MOVING;
	store_relaxed(&large_counters.count, nr_entries);
	store_relaxed(&large_counters.bytes, bytes);
	store_relaxed(&keep_leaving, 0);
}

void large_check(void)
{
	unsigned long entries = 0;
	unsigned long i;

	lock_acquire(&large_lock);
	CHECK(large_slots == 0 || is_pow2(large_slots));
	for (i = 0; i < large_slots; i++) {
		size_t size = large_blocks[i].size & ~MOVING;
		unsigned long slot;

		if (!large_blocks[i].addr)
			continue;
		entries++;
		CHECK(size && size % os_page_size() == 0);
		CHECK(large_blocks[i].addr % os_page_size() == 0);
		for (slot = home_slot(large_blocks[i].addr); slot != i;
		     slot = (slot + 1) & (large_slots - 1))
			CHECK(large_blocks[slot].addr);
	}
	CHECK(entries == nr_entries && 2 * nr_entries <= large_slots);
	lock_release(&large_lock);
	keep_check();
}
