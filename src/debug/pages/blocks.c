/* SPDX-License-Identifier: MIT */
/*
 * debug/pages/blocks.c - the table of who allocated whole pages
 *
 * Data:       blocks_table: buckets of records, linked by number; records are taken from the list
 *             of free ones, then from the end.
 * Invariants: see blocks.h. Checked by blocks_check().
 * Locks:      blocks_lock (RANK_BLOCKS) to change anything; debug flags and counts are read
 *             without.
 * Flow:       see blocks.h; calls os/memory/vm.c.
 *
 * The table is only reserved until it is used, and is never unmapped: readers from outside may have
 * its address.
 */
#include "debug/pages/blocks.h"

#include <errno.h>

#include "base/assert.h"
#include "base/bits.h"
#include "os/time/clock.h"
#include "os/lock/lock.h"
#include "os/memory/vm.h"

static struct lock blocks_lock = { 0, RANK_BLOCKS };

struct blocks *blocks_table;
const char *blocks_name = "kmalloc-large";

int blocks_switch(slab_flags_t debug_flags)
{
	struct blocks *table;

	lock_acquire(&blocks_lock);
	table = blocks_table;
	if (!table && debug_flags) {
		table = os_map(ALIGN_UP(sizeof(*table), os_page_size()), os_page_size());
		store_release(&blocks_table, table); /* pairs with blocks_debug_flags() */
	}
	if (table) {
		if ((table->debug_flags ^ debug_flags) & SLAB_STORE_USER)
			store_relaxed(&table->tracking_since,
				      debug_flags & SLAB_STORE_USER ? os_clock_ms() : 0);
		store_relaxed(&table->debug_flags, (uint32_t)(debug_flags & BLOCKS_DEBUG_FLAGS));
	}
	lock_release(&blocks_lock);
	return table || !debug_flags ? 0 : -ENOMEM;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The number of a free record, or 0. */
static uint32_t take_number_locked(struct blocks *table)
{
	uint32_t number = table->free;

	if (number)
		table->free = table->record[number].next;
	else if (table->high < BLOCKS_MAX - 1)
		number = ++table->high;
	return number;
}

static bool is_checked(const struct block_record *record)
{
	return record->debug_flags & BLOCKS_CHECKED;
}

/* Adds the record to the counters. */
static void count_locked(struct blocks *table, const struct block_record *record, uint32_t by)
{
	if (record->state == BLOCK_LIVE)
		store_relaxed(&table->held, table->held + by);
	else
		store_relaxed(&table->freed, table->freed + by);
	if (is_checked(record))
		store_relaxed(&table->checked, table->checked + by);
	if (record->state != BLOCK_FREED)
		return;
	store_relaxed(&table->quarantined, table->quarantined + by);
	store_relaxed(&table->freed_bytes,
		      table->freed_bytes + (uint64_t)(int32_t)by * record->bytes);
}

/* Its number; 0: the table is full. */
static uint32_t insert_locked(struct blocks *table, const struct block_record *record)
{
	uint32_t *bucket = &table->bucket[blocks_bucket(record->address)];
	uint32_t number = take_number_locked(table);

	if (!number) {
		count_event(&table->lost);
		return 0;
	}
	table->record[number] = *record;
	table->record[number].next = *bucket;
	table->record[number].newer = 0;
	*bucket = number;
	count_locked(table, record, 1);
	return number;
}

static bool is_state(const struct block_record *record, uint32_t states)
{
	return 1u << record->state & states;
}

#define LIVE (1u << BLOCK_LIVE)
#define FREED (1u << BLOCK_FREED)
#define GONE (1u << BLOCK_GONE)

/*
 * The link that holds the number of the record of that address, in one of these states; 0 in it:
 * there is none.
 */
static uint32_t *find_locked(struct blocks *table, uint64_t address, uint32_t states)
{
	uint32_t *link = &table->bucket[blocks_bucket(address)];

	while (*link && (table->record[*link].address != address ||
			 !is_state(&table->record[*link], states)))
		link = &table->record[*link].next;
	return link;
}

static void remove_locked(struct blocks *table, uint32_t *link, struct block_record *taken)
{
	uint32_t number = *link;
	struct block_record *record = &table->record[number];

	*taken = *record;
	*link = record->next;
	count_locked(table, record, -1u);
	*record = (struct block_record){ .next = table->free };
	table->free = number;
}

/* ---- freed blocks, oldest first ---- */

static void queue_locked(struct blocks *table, uint32_t number)
{
	if (table->newest)
		table->record[table->newest].newer = number;
	else
		table->oldest = number;
	table->newest = number;
}

/* Takes the record after number (0: the oldest) out of the queue and the table. */
static void take_queued_locked(struct blocks *table, uint32_t before, struct block_record *taken)
{
	uint32_t *link = before ? &table->record[before].newer : &table->oldest;
	struct block_record *record = &table->record[*link];
	uint32_t number = *link;
	uint32_t *bucket = &table->bucket[blocks_bucket(record->address)];

	*link = record->newer;
	if (table->newest == number)
		table->newest = before;
	while (*bucket != number)
		bucket = &table->record[*bucket].next;
	remove_locked(table, bucket, taken);
}

/* Removes the records GONE of that address: another block lies there by now. */
static void forget_locked(struct blocks *table, uint64_t address)
{
	uint32_t number = *find_locked(table, address, GONE);
	uint32_t before = 0;
	struct block_record gone;

	if (!number)
		return;
	for (uint32_t i = table->oldest; i != number; i = table->record[i].newer)
		before = i;
	take_queued_locked(table, before, &gone);
}

/* ---- live blocks ----------------------------------------------------------------------------- */

bool blocks_add(const struct block_record *record)
{
	bool added;

	lock_acquire(&blocks_lock);
	if (blocks_table->freed)
		forget_locked(blocks_table, record->address);
	added = insert_locked(blocks_table, record);
	lock_release(&blocks_lock);
	return added;
}

bool blocks_take(const void *p, struct block_record *record)
{
	struct blocks *table = blocks_table;
	uint32_t *link;
	bool taken;

	lock_acquire(&blocks_lock);
	link = find_locked(table, (uintptr_t)p, LIVE);
	taken = *link;
	if (taken)
		remove_locked(table, link, record);
	lock_release(&blocks_lock);
	return taken;
}

bool blocks_look_up(const void *p, struct block_record *record)
{
	struct blocks *table = blocks_table;
	uint32_t number;

	lock_acquire(&blocks_lock);
	number = *find_locked(table, (uintptr_t)p, LIVE);
	if (!number)
		number = *find_locked(table, (uintptr_t)p, FREED | GONE);
	if (number)
		*record = table->record[number];
	lock_release(&blocks_lock);
	return number;
}

bool blocks_find_around(const void *p, struct block_record *record)
{
	struct blocks *table = blocks_table;
	bool found = false;

	if (!load_relaxed(&table->checked))
		return false;
	lock_acquire(&blocks_lock);
	for (uint32_t i = 1; i <= table->high && !found; i++) {
		const struct block_record *r = &table->record[i];

		found = r->address && is_checked(r) && is_state(r, LIVE | FREED) &&
			(uintptr_t)p - r->base < r->bytes;
		if (found)
			*record = *r;
	}
	lock_release(&blocks_lock);
	return found;
}

/* ---- freed blocks ---------------------------------------------------------------------------- */

bool blocks_add_freed(const struct block_record *record)
{
	uint32_t number;

	lock_acquire(&blocks_lock);
	number = insert_locked(blocks_table, record);
	if (number)
		queue_locked(blocks_table, number);
	lock_release(&blocks_lock);
	return number;
}

void blocks_forget(const void *p)
{
	lock_acquire(&blocks_lock);
	forget_locked(blocks_table, (uintptr_t)p);
	lock_release(&blocks_lock);
}

bool blocks_take_freed(uint64_t bytes, uint64_t before, size_t align, struct block_record *record)
{
	struct blocks *table = blocks_table;
	uint32_t found = 0;
	uint32_t last = 0;
	bool any = false;

	if (!load_relaxed(&table->freed_bytes))
		return false;
	lock_acquire(&blocks_lock);
	for (uint32_t i = table->oldest; i; last = i, i = table->record[i].newer) {
		const struct block_record *r = &table->record[i];

		if (!is_state(r, FREED) || r->bytes != bytes || r->address - r->base != before ||
		    r->address & (align - 1))
			continue;
		found = last;
		any = true;
	}
	if (any)
		take_queued_locked(table, found, record);
	lock_release(&blocks_lock);
	return any;
}

static bool is_surplus_locked(const struct blocks *table, bool all)
{
	return table->oldest &&
	       (all || table->freed > BLOCKS_FREED_MAX || table->freed_bytes > BLOCKS_FREED_BYTES);
}

bool blocks_take_surplus(bool all, struct block_record *record)
{
	bool taken = false;

	lock_acquire(&blocks_lock);
	while (!taken && is_surplus_locked(blocks_table, all)) {
		take_queued_locked(blocks_table, 0, record);
		taken = record->state == BLOCK_FREED;
	}
	lock_release(&blocks_lock);
	return taken;
}

unsigned long blocks_each(void (*check)(const struct block_record *record))
{
	struct blocks *table = load_acquire(&blocks_table); /* pairs with blocks_switch() */
	unsigned long nr = 0;

	if (!table)
		return 0;
	lock_acquire(&blocks_lock);
	for (uint32_t i = 1; i <= table->high; i++) {
		const struct block_record *r = &table->record[i];

		if (!r->address || !is_checked(r) || !is_state(r, LIVE | FREED))
			continue;
		check(r);
		nr++;
	}
	lock_release(&blocks_lock);
	return nr;
}

/* ---- fork, check ----------------------------------------------------------------------------- */

void blocks_each_lock(void (*act)(struct lock *l))
{
	act(&blocks_lock);
}

static void check_queue(const struct blocks *table)
{
	uint32_t freed = 0;
	uint32_t quarantined = 0;
	uint64_t bytes = 0;
	uint32_t last = 0;

	for (uint32_t i = table->oldest; i; i = table->record[i].newer) {
		CHECK(i <= table->high && freed++ < table->freed);
		CHECK(is_state(&table->record[i], FREED | GONE));
		if (is_state(&table->record[i], FREED)) {
			bytes += table->record[i].bytes;
			quarantined++;
		}
		last = i;
	}
	CHECK(quarantined == table->quarantined);
	CHECK(freed == table->freed && bytes == table->freed_bytes && last == table->newest);
}

void blocks_check(void)
{
	const struct blocks *table = blocks_table;
	uint32_t checked = 0;
	uint32_t held = 0;
	uint32_t all = 0;

	if (!table)
		return;
	for (uint32_t bucket = 0; table->high && bucket < BLOCKS_MAX; bucket++)
		for (uint32_t i = table->bucket[bucket]; i; i = table->record[i].next) {
			CHECK(i <= table->high && all++ < table->high);
			CHECK(blocks_bucket(table->record[i].address) == bucket);
			held += table->record[i].state == BLOCK_LIVE;
			checked += is_checked(&table->record[i]);
		}
	CHECK(held == table->held && checked == table->checked);
	CHECK(all == table->held + table->freed);
	check_queue(table);
}
