/* SPDX-License-Identifier: MIT */
/*
 * debug/stacks.c - stores each distinct call stack once, by a number (the kernel's stack depot)
 *
 * Data:       stacks_depot; next_handle: that of the next record.
 * Invariants: a record is complete before its bucket points at it, a chunk is zero before its
 *             address is published: readers need no lock.
 * Locks:      stacks_lock (RANK_STACKS) to add a record.
 * Flow:       see stacks.h; calls page/meta.c.
 */
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/mix.h"
#include "debug/stacks.h"
#include "os/lock/lock.h"
#include "page/meta.h"

#define UNITS (STACKS_CHUNK / STACKS_UNIT) /* of a chunk */

static struct lock stacks_lock = { 0, RANK_STACKS };
static uint32_t next_handle = 1; /* stacks_lock; 0 is no stack */

struct stacks *stacks_depot;

static uint32_t hash_of(const uint64_t *pcs, unsigned int nr)
{
	uint64_t hash = mix_multiply(nr + 1);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		hash = mix_multiply(hash ^ pcs[i]);
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

static uint32_t units_of(unsigned int nr)
{
	return (uint32_t)DIV_ROUND_UP(sizeof(struct stack_record) + nr * sizeof(uint64_t),
				      STACKS_UNIT);
}

/* Where a handle points; NULL: outside of all chunks. Pairs with open_chunk_locked(). */
static struct stack_record *record_at(struct stacks *depot, uint32_t handle)
{
	uint32_t chunk = handle / UNITS;
	uint64_t start;

	if (!depot || chunk >= STACKS_CHUNKS)
		return NULL;
	start = load_acquire(&depot->chunk[chunk]);
	return start ? (void *)(start + handle % UNITS * STACKS_UNIT) : NULL;
}

static bool is_record(const struct stack_record *record, uint32_t handle)
{
	return record->nr && record->nr <= STACKS_DEPTH &&
	       handle % UNITS + units_of(record->nr) <= UNITS &&
	       record->hash == hash_of(record->pc, record->nr);
}

/* The handle of a stack that was saved before, or 0. Pairs with add_locked(). */
static uint32_t find(struct stacks *depot, uint32_t hash, const uint64_t *pcs, unsigned int nr)
{
	uint32_t handle = depot ? load_acquire(&depot->bucket[hash % STACKS_BUCKETS]) : 0;

	while (handle) {
		const struct stack_record *record = record_at(depot, handle);

		if (record->hash == hash && record->nr == nr &&
		    !memcmp(record->pc, pcs, nr * sizeof(*pcs)))
			return handle;
		handle = record->next;
	}
	return 0;
}

static struct stacks *open_depot_locked(void)
{
	struct stacks *depot = stacks_depot;

	if (!depot) {
		depot = meta_alloc(sizeof(*depot));
		store_release(&stacks_depot, depot);
	}
	return depot;
}

static bool open_chunk_locked(struct stacks *depot, uint32_t chunk)
{
	void *start = NULL;

	if (chunk < STACKS_CHUNKS && !depot->chunk[chunk]) {
		start = meta_alloc(STACKS_CHUNK);
		store_release(&depot->chunk[chunk], (uintptr_t)start);
	}
	return chunk < STACKS_CHUNKS && depot->chunk[chunk];
}

/* The handle for a record of so many units, which lie in one chunk, or 0. */
static uint32_t take_units_locked(struct stacks *depot, uint32_t units)
{
	uint32_t handle = next_handle;

	if (handle % UNITS + units > UNITS)
		handle = ALIGN_UP(handle, (uint32_t)UNITS);
	if (!open_chunk_locked(depot, handle / UNITS))
		return 0;
	next_handle = handle + units;
	return handle;
}

/* Pairs with find(): the bucket is written last. */
static uint32_t add_locked(struct stacks *depot, uint32_t hash, const uint64_t *pcs,
			   unsigned int nr)
{
	uint32_t *bucket = &depot->bucket[hash % STACKS_BUCKETS];
	uint32_t handle = take_units_locked(depot, units_of(nr));
	struct stack_record *record;

	if (!handle) {
		count_event(&depot->lost);
		return 0;
	}
	record = record_at(depot, handle);
	record->next = *bucket;
	record->hash = hash;
	record->nr = nr;
	memcpy(record->pc, pcs, nr * sizeof(*pcs));
	store_release(bucket, handle);
	count_event(&depot->nr_stacks);
	return handle;
}

static cold uint32_t save_slow(uint32_t hash, const uint64_t *pcs, unsigned int nr)
{
	struct stacks *depot;
	uint32_t handle = 0;

	lock_acquire(&stacks_lock);
	depot = open_depot_locked();
	if (depot) {
		handle = find(depot, hash, pcs, nr); /* another thread may have added it */
		if (!handle)
			handle = add_locked(depot, hash, pcs, nr);
	}
	lock_release(&stacks_lock);
	return handle;
}

uint32_t stacks_save(const uintptr_t *pcs, unsigned int nr)
{
	const uint64_t *words = (const uint64_t *)pcs;
	uint32_t handle, hash;

	BUILD_ASSERT(sizeof(*pcs) == sizeof(*words));
	if (!nr)
		return 0;
	nr = MIN(nr, STACKS_DEPTH);
	hash = hash_of(words, nr);
	handle = find(load_acquire(&stacks_depot), hash, words, nr);
	return handle ? handle : save_slow(hash, words, nr);
}

unsigned int stacks_fetch(uint32_t handle, const uint64_t **pcs)
{
	const struct stack_record *record = NULL;

	if (handle)
		record = record_at(load_acquire(&stacks_depot), handle);
	if (!record || !is_record(record, handle))
		return 0;
	*pcs = record->pc;
	return record->nr;
}

void stacks_each_lock(void (*act)(struct lock *l))
{
	act(&stacks_lock);
}
