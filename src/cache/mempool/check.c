/* SPDX-License-Identifier: MIT */
/*
 * cache/mempool/check.c - elements that come to a memory pool or leave it: poison, and mistakes
 *
 * Why:        docs/adr/0041.
 * Data:       none.
 * Invariants: see check.h.
 * Locks:      see check.h.
 * Flow:       see check.h.
 */
#include "cache/mempool/check.h"

#include "debug/debug.h"

void element_enters(void *element)
{
	struct page *slab = page_slab_of(element);

	if (unlikely(debug_is_slab(slab)))
		debug_poison_kept(slab, element);
}

void element_leaves(void *element)
{
	struct page *slab = page_slab_of(element);

	if (unlikely(debug_is_slab(slab)))
		debug_check_kept(slab, element);
}

static const struct cache_call mempool_free_call = { "mempool_free", FIX_NOT_FREED };

bool element_is_free(void *element)
{
	return cache_refuses_free(&mempool_free_call, element);
}

void element_report_kept(const void *element)
{
	cache_report_block(&mempool_free_call, element, REPORT_FREE_ALREADY,
			   "is kept by its pool already");
}
