/* SPDX-License-Identifier: MIT */
/*
 * cache/mempool/check.h - elements that come to a memory pool or leave it: poison, and mistakes
 *
 * Data:       none.
 * Invariants: an object of a debug slab with P is poisoned while a pool keeps it, as a free one is.
 * Locks:      see each function.
 * Flow:       called by elements.c and api/mempool_api.c; calls debug/element.c and
 *             cache/debug/misuse.c.
 */
#ifndef CACHE_MEMPOOL_CHECK_H
#define CACHE_MEMPOOL_CHECK_H

#include "cache/cache.h"

/*
 * An element whose contents are nobody's is kept from now on, or was until now. A report is to be
 * delivered by the caller, who may hold RANK_POOL.
 */
void element_enters(void *element);
void element_leaves(void *element);

/*
 * Is this an object that was freed to its cache already? That is reported. Any address. No lock may
 * be held.
 */
bool element_is_free(void *element);

/* Reports that it is kept by its pool already. No lock may be held. */
cold void element_report_kept(const void *element);

#endif /* CACHE_MEMPOOL_CHECK_H */
