/* SPDX-License-Identifier: MIT */
/*
 * front/depot.h - full and empty sheaves of a node (the kernel's barn)
 *
 * Data:       per cache and node two stacks of sheaves, with objects and empty ones.
 * Invariants: nr_full <= max_full, nr_empty <= max_empty; entry 0 of a sheaf in a depot links to
 *             the next one; a sheaf is referred to by the address of its top entry, so that the
 *             reference carries the count. Checked by depot_check().
 * Locks:      depot.lock (RANK_DEPOT), held for a few loads and stores.
 * Flow:       called by array.c, array_bulk.c, array_sheaf.h, cache/debug/misuse.c,
 *             inspect/address.c and inspect/fronts.c; calls page/meta.c.
 *
 * A sheaf: 32 pointers, aligned to 256 bytes. With capacity c the entries used are 32-c .. 31, and
 * entry 31-c is NULL: the bottom. top == &entry[31-c]: empty; top == &entry[31]: full.
 */
#ifndef FRONT_DEPOT_H
#define FRONT_DEPOT_H

#include "os/lock/lock.h"
#include "page/page.h"

struct depot {
	struct lock lock;
	uint32_t nr_full; /* sheaves with objects */
	uint32_t nr_empty;
	uint32_t max_full;
	uint32_t max_empty;
	uintptr_t full; /* top of the newest, 0: none */
	uintptr_t empty;
	unsigned long nr_objects; /* in the sheaves with objects */
} __attribute__((aligned(CACHE_LINE)));

static inline void **sheaf_base(uintptr_t top)
{
	return (void **)(top & ~(uintptr_t)(USLAB_SHEAF_SIZE - 1));
}

/* Index of the top entry, 31 - capacity (empty) .. 31 (full). */
static inline unsigned int sheaf_index(uintptr_t top)
{
	return (unsigned int)(top & (USLAB_SHEAF_SIZE - 1)) / sizeof(void *);
}

static inline unsigned int sheaf_count(uintptr_t top, unsigned int capacity)
{
	return sheaf_index(top) - (USLAB_SHEAF_CAPACITY - capacity);
}

static inline uintptr_t sheaf_empty_top(void **base, unsigned int capacity)
{
	return (uintptr_t)&base[USLAB_SHEAF_CAPACITY - capacity];
}

/* A new empty sheaf: its top, or 0 when out of memory. */
uintptr_t sheaf_new(unsigned int capacity);
void sheaf_delete(uintptr_t top);

void depot_init(struct depot *d, unsigned int max_full, unsigned int max_empty);

/* A sheaf with objects, or 0. */
uintptr_t depot_get_full(struct depot *d, unsigned int capacity);
/* An empty sheaf, or 0. */
uintptr_t depot_get_empty(struct depot *d);
/* false: the depot is full, the caller keeps the sheaf. */
bool depot_put_full(struct depot *d, uintptr_t top, unsigned int capacity);
bool depot_put_empty(struct depot *d, uintptr_t top);
/* Puts a full sheaf and gets an empty one under one lock; 0: nothing was exchanged. */
uintptr_t depot_exchange_full(struct depot *d, uintptr_t top, unsigned int capacity);
/* Puts an empty sheaf and gets one with objects; 0: nothing was exchanged. */
uintptr_t depot_exchange_empty(struct depot *d, uintptr_t top, unsigned int capacity);

void depot_check(struct depot *d, unsigned int capacity);

#endif /* FRONT_DEPOT_H */
