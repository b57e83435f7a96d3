/* SPDX-License-Identifier: MIT */
/*
 * cache/mempool/elements.h - the elements that a memory pool keeps, and who waits for them
 *
 * Why:        docs/adr/0041.
 * Data:       elements[], min_nr, curr_nr and wait of each mempool_t (<uslab/mempool.h>).
 * Invariants: 0 <= curr_nr <= max(min_nr, 1), and elements[] has that many slots or more; each kept
 *             element is there once. If an element is kept, and threads wait for one, then one of
 *             them is awake. Checked by elements_check().
 * Locks:      RANK_POOL, found by the pool's address: under it nothing is called but check.c.
 *             Fields that are read without it are atomic. Reports are delivered here: no lock may
 *             be held.
 * Flow:       called by cache/fork.c and api/mempool_api.c; calls check.c,
 *             os/lock/wait.c.
 */
#ifndef CACHE_ELEMENTS_H
#define CACHE_ELEMENTS_H

#include <uslab/mempool.h>

#include "os/lock/lock.h"

/*
 * Puts one into each of the slots that is NULL, of count: all of them, or none and false; then
 * *wakeups (may be NULL) is what os_wait() is to be given.
 */
bool elements_take(mempool_t *pool, void **slots, unsigned int count, unsigned int *wakeups);

/* Does the pool want elements back? False for certain; true perhaps. */
bool elements_wanted(const mempool_t *pool);

enum elements_answer { ELEMENTS_KEPT, ELEMENTS_ENOUGH, ELEMENTS_TWICE };

/* Of the elements that are kept the last so many are compared with one that comes back. */
#define ELEMENTS_LOOK_NONE 0u
#define ELEMENTS_LOOK_SHORT 32u
#define ELEMENTS_LOOK_ALL (~0u)

/*
 * Keeps an element, and wakes who waits; or there are enough; or it was seen among those that are
 * kept.
 */
enum elements_answer elements_give(mempool_t *pool, void *element, unsigned int look);

/* From enter to leave this thread waits for count elements. */
void elements_enter(mempool_t *pool, unsigned int count);
void elements_leave(mempool_t *pool, unsigned int count);

/*
 * Keep min_nr from now on. table: of at least as many slots, or NULL. The table that nobody needs
 * any more is returned in *table. false, and nothing is done: NULL, and the pool's has too few.
 */
bool elements_resize(mempool_t *pool, int min_nr, void ***table);

/* Takes one that is too many; NULL: there is none. After a resize. */
void *elements_take_surplus(mempool_t *pool);

void elements_each_lock(void (*act)(struct lock *l));

/* Asserts the invariants; no other thread may use the pool. */
void elements_check(const mempool_t *pool);

#endif /* CACHE_ELEMENTS_H */
