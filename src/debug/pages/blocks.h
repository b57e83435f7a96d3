/* SPDX-License-Identifier: MIT */
/*
 * debug/pages/blocks.h - who holds whole pages, and what debug flags they have: F, Z, P and U of
 * what is too large for any cache
 *
 * Why:        docs/adr/0017, docs/adr/0023.
 * Data:       a record for each block that was allocated while debug flags were on, found by its
 *             address; a table of fixed size, mapped when debug flags are switched on for the first
 *             time. Records of blocks that were freed, oldest first.
 * Invariants: a record stands for one live block, for one that was freed and whose pages
 *             wait (FREED), or for one that is gone (GONE), at whose address there may be
 *             another block by now. Records of live blocks are gone before the block's
 *             address can be given out again.
 * Locks:      RANK_BLOCKS around the table; nothing is called under it but reports.
 * Flow:       called by pages.c, pages.h, cache/ and inspect/blocks.c; read by tools from outside.
 *
 * The kernel does not track large kmallocs; programs leak in large blocks as well as in small ones.
 */
#ifndef DEBUG_BLOCKS_H
#define DEBUG_BLOCKS_H

#include "base/atomic.h"
#include "debug/debug.h"

#define BLOCKS_MAX (1u << 18) /* of 32 KiB at least under the drop-in: 8 GiB */

/*
 * Debug flags that whole pages can have, and those of them that change what is done with the
 * pages.
 */
#define BLOCKS_DEBUG_FLAGS (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)
#define BLOCKS_CHECKED (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON)

/* Of blocks that were freed: at most so many records, and so many bytes of pages that wait. */
#define BLOCKS_FREED_MAX 1024u
#define BLOCKS_FREED_BYTES (32ul << 20)

enum block_state { BLOCK_LIVE, BLOCK_FREED, BLOCK_GONE };

struct block_record {
	uint64_t address; /* 0: nobody's */
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
	uint32_t lost;	      /* blocks that found no room */
	uint32_t checked;     /* records with a letter of BLOCKS_CHECKED; atomic */
	uint32_t freed;	      /* records of freed blocks; atomic */
	uint32_t oldest;      /* of these */
	uint32_t newest;
	uint32_t waiting;	 /* of the freed ones those whose pages wait; atomic */
	uint64_t freed_bytes;	 /* of these; atomic */
	uint64_t tracking_since; /* as in struct debug; atomic */
	uint32_t bucket[BLOCKS_MAX];
	struct block_record record[BLOCKS_MAX];
};

/* NULL before there were debug flags for the first time. */
extern struct blocks *blocks_table;

/* What tools call them: "kmalloc-large", or what root_init() was told. */
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
 * A record for a live block. What is known of a block GONE at its address is
 * forgotten. false: no room.
 */
bool blocks_add(const struct block_record *record);
/* Takes a live block's record out of the table. false: it has none. p may be anything. */
bool blocks_take(const void *p, struct block_record *record);
/* A copy of the record of that address, in any state; a live one first. */
bool blocks_look_up(const void *p, struct block_record *record);
/* The same of the checked block, live or FREED, in whose pages p lies. Looks at all records. */
bool blocks_find_around(const void *p, struct block_record *record);

/* A record that was taken comes back as that of a freed block: FREED or GONE. false: no room. */
bool blocks_add_freed(const struct block_record *record);
/* Nothing is known of a block GONE from that address any more. */
void blocks_forget(const void *p);
/*
 * Takes the FREED block of just so many bytes that was freed last and is aligned
 * so; false: there is none.
 */
bool blocks_take_freed(uint64_t bytes, uint64_t before, size_t align, struct block_record *record);
/*
 * Takes the oldest FREED block if there are more than the limits say, or all are wanted.
 * GONE ones are forgotten.
 */
bool blocks_take_surplus(bool all, struct block_record *record);

/* Calls check for each checked block, live or FREED, under the lock. Returns how many. */
unsigned long blocks_each(void (*check)(const struct block_record *record));

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
