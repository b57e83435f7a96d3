/* SPDX-License-Identifier: MIT */
/*
 * debug/blocks.c - who holds whole pages
 *
 * Data:       blocks_table: buckets of records, linked by number; records are taken from the list of
 *             free ones, then from the end.
 * Invariants: see blocks.h. Checked by blocks_check().
 * Locks:      blocks_lock (RANK_BLOCKS) to change anything; on and held are looked at without.
 * Flow:       see blocks.h; calls object.c (which unwinds), os/vm.c.
 *
 * The table is virtual memory until it is used, and is never given back: readers from outside may hold its
 * address.
 */
#include "debug/blocks.h"

#include <errno.h>

#include "base/assert.h"
#include "base/bits.h"
#include "debug/slab.h"
#include "os/lock.h"
#include "os/vm.h"

static struct lock blocks_lock = { 0, RANK_BLOCKS };

struct blocks *blocks_table;
const char *blocks_name = "kmalloc-large";

int blocks_switch(bool on)
{
	struct blocks *table;

	lock_acquire(&blocks_lock);
	table = blocks_table;
	if (!table && on) {
		table = os_map(ALIGN_UP(sizeof(*table), os_page_size()), os_page_size());
		store_release(&blocks_table, table); /* pairs with blocks_are_tracked() */
	}
	if (table)
		store_relaxed(&table->on, on);
	lock_release(&blocks_lock);
	return table || !on ? 0 : -ENOMEM;
}

/* The number of a record that nobody has, or 0. */
static uint32_t take_record_locked(struct blocks *table)
{
	uint32_t number = table->free;

	if (number)
		table->free = table->record[number].next;
	else if (table->high < BLOCKS_MAX - 1)
		number = ++table->high;
	return number;
}

static void add_locked(struct blocks *table, uint64_t address, size_t size,
		       const struct track *track)
{
	uint32_t *bucket = &table->bucket[blocks_bucket(address)];
	uint32_t number = take_record_locked(table);

	if (!number) {
		count_event(&table->lost);
		return;
	}
	table->record[number] = (struct block_record){
		.address = address,
		.size = size,
		.track = *track,
		.next = *bucket,
	};
	*bucket = number;
	store_relaxed(&table->held, table->held + 1);
}

void blocks_add_record(const void *p, size_t size, const struct track *track)
{
	lock_acquire(&blocks_lock);
	add_locked(blocks_table, (uintptr_t)p, size, track);
	lock_release(&blocks_lock);
}

void blocks_add_slow(const void *p, size_t size, const void *caller)
{
	struct track track = debug_make_track(caller, true);

	blocks_add_record(p, size, &track);
}

/* false: it is older than the tracking, or nothing of ours. */
static bool take_locked(struct blocks *table, uint64_t address, struct block_record *taken)
{
	uint32_t *link = &table->bucket[blocks_bucket(address)];
	struct block_record *record;
	uint32_t number;

	while (*link && table->record[*link].address != address)
		link = &table->record[*link].next;
	number = *link;
	if (!number)
		return false;
	record = &table->record[number];
	*taken = *record;
	*link = record->next;
	*record = (struct block_record){ .next = table->free };
	table->free = number;
	store_relaxed(&table->held, table->held - 1);
	return true;
}

bool blocks_take_slow(const void *p, struct block_record *record)
{
	bool taken;

	lock_acquire(&blocks_lock);
	taken = take_locked(blocks_table, (uintptr_t)p, record);
	lock_release(&blocks_lock);
	return taken;
}

void blocks_fork_prepare(void)
{
	lock_fork_prepare(&blocks_lock);
}

void blocks_fork_parent(void)
{
	lock_fork_parent(&blocks_lock);
}

void blocks_fork_child(void)
{
	lock_fork_child(&blocks_lock);
}

void blocks_check(void)
{
	const struct blocks *table = blocks_table;
	uint32_t held = 0;

	for (uint32_t bucket = 0; table && table->high && bucket < BLOCKS_MAX; bucket++)
		for (uint32_t i = table->bucket[bucket]; i; i = table->record[i].next) {
			CHECK(i <= table->high && held++ < table->high);
			CHECK(blocks_bucket(table->record[i].address) == bucket);
		}
	CHECK(!table || held == table->held);
}
