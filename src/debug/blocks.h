/* SPDX-License-Identifier: MIT */
/*
 * debug/blocks.h - who holds whole pages: user tracking (U) of what is too large for any cache
 *
 * Data:       a record for each block that was allocated while tracking was on, found by its address; a
 *             table of fixed size, mapped when tracking is switched on for the first time.
 * Invariants: a record stands for one live block, and is gone before the block's address can be given out
 *             again.
 * Locks:      RANK_BLOCKS around the table; nothing is called under it.
 * Flow:       called where kmalloc and malloc allocate, resize and free whole pages, by cache/control.c;
 *             read by tools from outside.
 *
 * The kernel does not track large kmallocs; programs leak in large blocks as well as in small ones.
 */
#ifndef DEBUG_BLOCKS_H
#define DEBUG_BLOCKS_H

#include "base/atomic.h"
#include "debug/debug.h"

#define BLOCKS_MAX (1u << 18) /* of 32 KiB at least under the drop-in: 8 GiB */

struct block_record {
	uint64_t address; /* 0: nobody's */
	uint64_t size;	  /* bytes asked for */
	struct track track;
	uint32_t next; /* record of the same bucket, or free one; 0: none */
	uint32_t reserved[3];
};

BUILD_ASSERT(sizeof(struct block_record) == 64);

struct blocks {
	uint32_t on;   /* tracking is on; atomic */
	uint32_t held; /* records in use; atomic */
	uint32_t high; /* records 1 .. high were ever in use */
	uint32_t free; /* first free one below */
	uint32_t lost; /* blocks that found no room */
	uint32_t bucket[BLOCKS_MAX];
	struct block_record record[BLOCKS_MAX];
};

/* NULL before tracking was on for the first time. */
extern struct blocks *blocks_table;

/* What tools call it: "kmalloc-large", or what root_init() was told. */
extern const char *blocks_name;

/* Switches tracking on or off; records stay until their blocks are freed. 0 or -ENOMEM. */
int blocks_switch(bool on);

static inline bool blocks_are_tracked(void)
{
	const struct blocks *table = load_acquire(&blocks_table); /* pairs with blocks_switch() */

	return unlikely(table) && load_relaxed(&table->on);
}

/* Use the inline ones below. */
cold void blocks_add_slow(const void *p, size_t size, const void *caller);
cold bool blocks_take_slow(const void *p, struct block_record *record);
/* One that was taken goes back: its block was not resized after all. */
void blocks_add_record(const void *p, size_t size, const struct track *track);

/* A block of whole pages was allocated, or resized by caller. p may be NULL. */
static inline void blocks_add(const void *p, size_t size, const void *caller)
{
	if (blocks_are_tracked() && p)
		blocks_add_slow(p, size, caller);
}

/* Takes a block's record out of the table before it is resized. false: it has none. p may be anything. */
static inline bool blocks_take(const void *p, struct block_record *record)
{
	const struct blocks *table = load_acquire(&blocks_table); /* as above */

	return unlikely(table) && load_relaxed(&table->held) && blocks_take_slow(p, record);
}

/* Before it is freed. */
static inline void blocks_remove(const void *p)
{
	struct block_record record;

	blocks_take(p, &record);
}

/* The bucket of an address, for readers from outside too. */
static inline uint32_t blocks_bucket(uint64_t address)
{
	return (uint32_t)((address >> 12) * 0x9e3779b97f4a7c15ull >> 32) % BLOCKS_MAX;
}

void blocks_fork_prepare(void);
void blocks_fork_parent(void);
void blocks_fork_child(void);

/* Every record in its bucket, as many as are held; no other thread may change any. */
void blocks_check(void);

#endif /* DEBUG_BLOCKS_H */
