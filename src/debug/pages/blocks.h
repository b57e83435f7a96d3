/* SPDX-License-Identifier: MIT */
/*
 * debug/pages/blocks.h - who allocated whole pages, and with which debug flags (F, Z, P, U)
 *
 * Why:        docs/adr/0017, docs/adr/0023.
 * Data:       a record for each block that was allocated while debug flags were on, found by its
 *             address; a table of fixed size, mapped when debug flags are switched on for the first
 *             time. Records of blocks that were freed, oldest first.
 * Invariants: a record stands for one live block, for a freed one whose pages are quarantined
 *             (FREED), or for a freed one without pages (GONE), at whose address there may be
 *             another block by now. The record of a live block is removed before its address can be
 *             allocated again.
 * Locks:      RANK_BLOCKS around the table; nothing is called under it but reports.
 * Flow:       called by pages.c, pages.h, cache/, inspect/blocks.c and malloc/slow.c; read by tools
 *             from outside.
 *
 * The kernel does not track large kmallocs; programs leak in large blocks as well as in small ones.
 */
#ifndef DEBUG_BLOCKS_H
#define DEBUG_BLOCKS_H

#include "base/atomic.h"
#include "base/mix.h"
#include "debug/debug.h"

#define BLOCKS_MAX (1u << 18) /* of 32 KiB at least under the drop-in: 8 GiB */

/* Debug flags that whole pages can have, and those of them for which the pages are checked. */
#define BLOCKS_DEBUG_FLAGS (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)
#define BLOCKS_CHECKED (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON)

/* Of freed blocks: at most so many records, and so many bytes of quarantined pages. */
#define BLOCKS_FREED_MAX 1024u
#define BLOCKS_FREED_BYTES (32ul << 20)

enum block_state { BLOCK_LIVE, BLOCK_FREED, BLOCK_GONE };

struct block_record {
	uint64_t address; /* 0: the record is free */
	uint64_t size;	  /* bytes asked for */
	struct track track;
	uint32_t next;	      /* record of the same bucket, or free one; 0: none */
	uint32_t newer;	      /* FREED, GONE: the one that was freed next; 0: none */
	uint64_t base;	      /* where its pages begin */
	uint64_t bytes;	      /* of all its pages, red zones included */
	uint64_t body;	      /* of the pages between the red zones */
	uint32_t debug_flags; /* when it was allocated; BLOCKS_DEBUG_FLAGS */
	uint32_t state;
	struct track freed;
	uint64_t reserved;
};

BUILD_ASSERT(sizeof(struct block_record) == 128);

struct blocks {
	uint32_t debug_flags; /* of new blocks; atomic */
	uint32_t held;	      /* records of live blocks; atomic */
	uint32_t high;	      /* records 1 .. high were ever in use */
	uint32_t free;	      /* first free one below */
	uint32_t lost;	      /* blocks for which there was no record left */
	uint32_t checked;     /* records with a flag of BLOCKS_CHECKED; atomic */
	uint32_t freed;	      /* records of freed blocks; atomic */
	uint32_t oldest;      /* of these */
	uint32_t newest;
	uint32_t quarantined;	 /* records FREED; atomic */
	uint64_t freed_bytes;	 /* of these; atomic */
	uint64_t tracking_since; /* as in struct debug; atomic */
	uint32_t bucket[BLOCKS_MAX];
	struct block_record record[BLOCKS_MAX];
};

/* NULL until debug flags are switched on for the first time. */
extern struct blocks *blocks_table;

/* What tools call them: "kmalloc-large", or the name given to root_init(). */
extern const char *blocks_name;

/* Sets the debug flags of new blocks; records stay until their blocks are freed. 0 or -ENOMEM. */
int blocks_switch(slab_flags_t debug_flags);

static inline slab_flags_t blocks_debug_flags(void)
{
	const struct blocks *table = load_acquire(&blocks_table); /* pairs with blocks_switch() */

	return unlikely(table) ? load_relaxed(&table->debug_flags) : 0;
}

/* Is there any record at all? */
static inline bool blocks_are_known(void)
{
	const struct blocks *table = load_acquire(&blocks_table); /* as above */

	return unlikely(table) && (load_relaxed(&table->held) || load_relaxed(&table->freed));
}

/*
 * Adds a record for a live block, and removes one of a block GONE at its address. false: the table
 * is full.
 */
bool blocks_add(const struct block_record *record);
/* Takes a live block's record out of the table. false: it has none. p may be any address. */
bool blocks_take(const void *p, struct block_record *record);
/* A copy of the record of that address, in any state; a live one first. */
bool blocks_look_up(const void *p, struct block_record *record);
/* The same for the checked block, live or FREED, in whose pages p lies. Searches all records. */
bool blocks_find_around(const void *p, struct block_record *record);

/*
 * Adds a record that was taken as that of a freed block: FREED or GONE. false: the table is full.
 */
bool blocks_add_freed(const struct block_record *record);
/* Removes the record of a block GONE from that address. */
void blocks_forget(const void *p);
/*
 * Takes the FREED block of exactly so many bytes and this alignment that was freed last; false:
 * there is none.
 */
bool blocks_take_freed(uint64_t bytes, uint64_t before, size_t align, struct block_record *record);
/* Takes the oldest FREED block if the limits are exceeded, or if all. Removes records GONE. */
bool blocks_take_surplus(bool all, struct block_record *record);

/* Calls check for each checked block, live or FREED, under the lock. Returns how many. */
unsigned long blocks_each(void (*check)(const struct block_record *record));

/* The bucket of an address, for readers from outside too. */
static inline uint32_t blocks_bucket(uint64_t address)
{
	return (uint32_t)(mix_multiply(address >> 12) >> 32) % BLOCKS_MAX;
}

void blocks_each_lock(void (*act)(struct lock *l));

/* Asserts that every record is in its bucket, and the counters; no other thread may change any. */
void blocks_check(void);

#endif /* DEBUG_BLOCKS_H */
