/* SPDX-License-Identifier: MIT */
/*
 * page/reserve.c - memory without locks, for calls that must not wait for one
 *
 * Data:       reserve_base, where the range begins; taken[], one bit for each block; mapped[],
 *             larger blocks.
 * Invariants: reserve_base is written once. A bit is set by the thread that gets the block, and
 *             cleared by the one that frees it, after the memory was given back. An entry of
 *             mapped[] is CLAIMED while its owner works on it; its size is right while its address
 *             is there. Checked by reserve_check().
 * Locks:      none. taken[]: compare and swap, which takes a block (acquire), pairs with the
 *             fetch_and that frees it (release). mapped[].addr: likewise.
 * Flow:       see page/reserve.h.
 */
#include "page/reserve.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/memory/vm.h"

#define CLASSES RESERVE_PARTS
#define WORD_BITS 64u
#define MAX_WORDS ((RESERVE_PART >> RESERVE_MIN_SHIFT) / WORD_BITS)
#define CLAIMED 1ul

uintptr_t reserve_base;
static uint64_t taken[CLASSES][MAX_WORDS];
static unsigned char committed[CLASSES];
struct reserve_counters reserve_counters;

static struct {
	uintptr_t addr; /* 0: free */
	size_t size;
} mapped[RESERVE_MAX_MAPPED];
static unsigned int nr_mapped; /* not less than there are */

/* ---- blocks of the range ---- */

static uintptr_t range(void)
{
	uintptr_t start = load_acquire(&reserve_base); /* pairs with the exchange below */
	void *fresh;

	if (likely(start))
		return start;
	fresh = os_reserve(RESERVE_RANGE, RESERVE_PART);
	if (!fresh)
		return 0;
	/* of several threads at once one sets the range */
	if (cmpxchg(&reserve_base, 0ul, (uintptr_t)fresh))
		os_name(fresh, RESERVE_RANGE, "uslab-reserve");
	else
		os_release(fresh, RESERVE_RANGE);
	return load_acquire(&reserve_base);
}

static unsigned int blocks_of(unsigned int class)
{
	return (unsigned int)(RESERVE_PART >> (class + RESERVE_MIN_SHIFT));
}

static bool commit(uintptr_t start, unsigned int class)
{
	if (load_acquire(&committed[class])) /* pairs with the store below */
		return true;
	if (os_commit((void *)(start + class * RESERVE_PART), RESERVE_PART))
		return false;
	store_release(&committed[class], 1);
	return true;
}

/*
 * A free block's number, or -1. Sizes of which there are fewer than WORD_BITS have part of a word.
 */
static int take_bit(unsigned int class)
{
	unsigned int blocks = blocks_of(class);
	uint64_t none = blocks < WORD_BITS ? ~0ull << blocks : 0;

	for (unsigned int i = 0; i * WORD_BITS < blocks; i++) {
		uint64_t *word = &taken[class][i];
		uint64_t old = load_relaxed(word);

		while (~(old | none)) {
			unsigned int bit = (unsigned int)__builtin_ctzll(~(old | none));

			if (__atomic_compare_exchange_n(word, &old, old | 1ull << bit, 0,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return (int)(i * WORD_BITS + bit);
		}
	}
	return -1;
}

static void *alloc_from(unsigned int class)
{
	uintptr_t start = range();
	int bit;

	if (!start || !commit(start, class))
		return NULL;
	bit = take_bit(class);
	if (bit < 0)
		return NULL;
	return (void *)(start + class * RESERVE_PART +
			((uintptr_t)bit << (class + RESERVE_MIN_SHIFT)));
}

struct place {
	unsigned int class;
	uint64_t *word;
	uint64_t bit;
};

static bool in_range(const void *p)
{
	uintptr_t start = load_acquire(&reserve_base);

	return start && (uintptr_t)p - start < RESERVE_RANGE;
}

/* false: no block starts there. */
static bool find(const void *p, struct place *place)
{
	unsigned long offset = (uintptr_t)p - load_relaxed(&reserve_base);
	unsigned long in_part = offset % RESERVE_PART;
	unsigned int shift;
	unsigned long i;

	place->class = (unsigned int)(offset / RESERVE_PART);
	shift = place->class + RESERVE_MIN_SHIFT;
	i = in_part >> shift;
	place->word = &taken[place->class][i / WORD_BITS];
	place->bit = 1ull << i % WORD_BITS;
	return i << shift == in_part;
}

static bool free_in_range(void *p)
{
	struct place place;
	size_t size;

	if (!find(p, &place) || !(load_relaxed(place.word) & place.bit))
		return false;
	size = 1ul << (place.class + RESERVE_MIN_SHIFT);
	if (size % os_page_size() == 0)
		os_purge(p, size);
	/* release: pairs with take_bit(); of two frees of the same block one fails */
	return __atomic_fetch_and(place.word, ~place.bit, __ATOMIC_RELEASE) & place.bit;
}

/* ---- larger ones ---- */

static int find_mapped(const void *p)
{
	if (!p || (uintptr_t)p & CLAIMED)
		return -1;
	for (unsigned int i = 0; load_relaxed(&nr_mapped) && i < RESERVE_MAX_MAPPED; i++)
		if (load_acquire(&mapped[i].addr) == (uintptr_t)p) /* pairs with map_block() */
			return (int)i;
	return -1;
}

static void *map_block(size_t size, size_t align)
{
	void *p = NULL;
	unsigned int i;

	size = ALIGN_UP(size, os_page_size());
	fetch_add(&nr_mapped, 1);
	for (i = 0; i < RESERVE_MAX_MAPPED; i++)
		if (cmpxchg(&mapped[i].addr, 0ul, CLAIMED))
			break;
	if (i < RESERVE_MAX_MAPPED) {
		p = os_map(size, MAX(align, os_page_size()));
		mapped[i].size = size;
		store_release(&mapped[i].addr, (uintptr_t)p); /* pairs with find_mapped() */
	}
	if (!p)
		fetch_sub(&nr_mapped, 1);
	return p;
}

static bool free_mapped(void *p)
{
	int i = find_mapped(p);

	if (i < 0 || !cmpxchg(&mapped[i].addr, (uintptr_t)p, CLAIMED))
		return false;
	os_release(p, mapped[i].size);
	store_release(&mapped[i].addr, 0ul); /* pairs with map_block() */
	fetch_sub(&nr_mapped, 1);
	return true;
}

/* ---- both ---- */

void *reserve_alloc(size_t size, size_t align)
{
	size_t most = MAX(MAX(size, align), 1ul << RESERVE_MIN_SHIFT);
	unsigned int class;
	void *p = NULL;

	if (size > PTRDIFF_MAX / 2 || align > PTRDIFF_MAX / 2)
		return NULL;
	class = fls(most - 1) - RESERVE_MIN_SHIFT;
	for (; !p && class < CLASSES; class ++)
		p = alloc_from(class);
	if (!p)
		p = map_block(MAX(size, 1ul), align);
	if (!p) {
		fetch_add(&reserve_counters.failed, 1);
		return NULL;
	}
	fetch_add(&reserve_counters.blocks, 1);
	fetch_add(&reserve_counters.served, 1);
	return p;
}

bool reserve_owns(const void *p)
{
	return in_range(p) || find_mapped(p) >= 0;
}

size_t reserve_size(const void *p)
{
	struct place place;
	int i;

	if (in_range(p))
		return find(p, &place) && load_relaxed(place.word) & place.bit
			       ? 1ul << (place.class + RESERVE_MIN_SHIFT)
			       : 0;
	i = find_mapped(p);
	return i < 0 ? 0 : mapped[i].size;
}

bool reserve_free(void *p)
{
	if (!(in_range(p) ? free_in_range(p) : free_mapped(p)))
		return false;
	fetch_sub(&reserve_counters.blocks, 1);
	return true;
}

unsigned long reserve_count(void)
{
	return load_relaxed(&reserve_counters.blocks);
}

void reserve_check(void)
{
	unsigned long blocks = 0;
	unsigned int larger = 0;

	for (unsigned int class = 0; class < CLASSES; class ++)
		for (unsigned int i = 0; i < MAX_WORDS; i++)
			blocks += bits_count(taken[class][i]);
	for (unsigned int i = 0; i < RESERVE_MAX_MAPPED; i++) {
		CHECK(mapped[i].addr != CLAIMED);
		larger += mapped[i].addr != 0;
	}
	CHECK(larger == nr_mapped);
	CHECK(blocks + larger == reserve_counters.blocks);
}
