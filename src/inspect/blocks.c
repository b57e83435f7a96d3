/* SPDX-License-Identifier: MIT */
/*
 * inspect/blocks.c - whole pages with their users (debug/pages/blocks.h), from outside
 *
 * Data:       none; struct snapshot of the caller, whose buffer is used.
 * Invariants: at most BLOCKS_MAX records are read, and followed.
 * Locks:      none; a record that changes while it is read may be given with
 *             the user of another block.
 * Flow:       called by snapshot.c, tracks.c and address.c.
 */
#include "debug/pages/blocks.h"

#include "base/bits.h"
#include "inspect/internal.h"
#include "inspect/tracks.h"

#define PIECE (SNAPSHOT_BUFFER / sizeof(struct block_record))

/* Address of the table in the process; 0: blocks were never tracked. */
static uint64_t find_table(struct snapshot *s)
{
	uint64_t table;

	return s->root.blocks && snapshot_read(s, s->root.blocks, &table, sizeof(table)) ? table
											 : 0;
}

void blocks_fill_row(struct snapshot *s, struct snapshot_cache *c)
{
	uint64_t table = find_table(s);
	uint32_t debug_flags;
	uint32_t held;
	uint64_t since;

	if (!table ||
	    !snapshot_read(s, table + offsetof(struct blocks, debug_flags), &debug_flags,
			   sizeof(debug_flags)) ||
	    !snapshot_read(s, table + offsetof(struct blocks, held), &held, sizeof(held)) ||
	    !snapshot_read(s, table + offsetof(struct blocks, tracking_since), &since,
			   sizeof(since)))
		return;
	c->flags = debug_flags;
	c->tracked = held;
	c->tracking_since = since;
}

static uint64_t record_at(uint64_t table, uint32_t number)
{
	return table + offsetof(struct blocks, record) +
	       (uint64_t)number * sizeof(struct block_record);
}

static void fill_record(const struct snapshot *s, const struct block_record *block,
			struct track_record *record)
{
	*record = (struct track_record){
		.cache = s->blocks_row,
		.address = block->address,
		.size = block->size,
		.live = true,
		.alloc = block->track,
	};
}

long blocks_visit(struct snapshot *s, void (*visit)(const struct track_record *record, void *arg),
		  void *arg)
{
	const struct block_record *block = (const struct block_record *)s->buffer;
	uint64_t table = find_table(s);
	struct track_record record;
	uint32_t high = 0;
	long count = 0;

	if (table)
		snapshot_read(s, table + offsetof(struct blocks, high), &high, sizeof(high));
	high = MIN(high, BLOCKS_MAX - 1);
	for (uint32_t i = 1; i <= high && !s->error; i += PIECE) {
		uint32_t nr = MIN((uint32_t)PIECE, high - i + 1);

		if (!snapshot_read(s, record_at(table, i), s->buffer, nr * sizeof(*block)))
			break;
		for (uint32_t j = 0; j < nr; j++) {
			if (!block[j].address || block[j].state != BLOCK_LIVE ||
			    !(block[j].debug_flags & SLAB_STORE_USER))
				continue;
			fill_record(s, &block[j], &record);
			visit(&record, arg);
			count++;
		}
	}
	return count;
}

/* The record of that address. */
static bool find_record(struct snapshot *s, uint64_t table, uint64_t address,
			struct block_record *block)
{
	uint32_t number = 0;

	snapshot_read(s,
		      table + offsetof(struct blocks, bucket) +
			      blocks_bucket(address) * sizeof(uint32_t),
		      &number, sizeof(number));
	for (uint32_t steps = 0; number && number < BLOCKS_MAX && steps < BLOCKS_MAX; steps++) {
		if (!snapshot_read(s, record_at(table, number), block, sizeof(*block)))
			return false;
		if (block->address == address && block->state == BLOCK_LIVE)
			return true;
		number = block->next;
	}
	return false;
}

/* The red zone before the block has as many pages as its alignment. */
bool blocks_find(struct snapshot *s, uint64_t pages, uint64_t bytes, struct track_record *record)
{
	uint64_t table = find_table(s);
	struct block_record block;

	for (uint64_t before = 0; table && before < bytes; before = before ? 2 * before : PAGE_SIZE)
		if (find_record(s, table, pages + before, &block) && block.base == pages &&
		    block.debug_flags & SLAB_STORE_USER) {
			fill_record(s, &block, record);
			return true;
		}
	return false;
}
