/* SPDX-License-Identifier: MIT */
/*
 * cache/group/charge_hit.h - a charge from the CPU's stock, and an uncharge to it, inline
 *
 * Data:       the word of the CPU's stock.
 * Invariants: see charge.c, which has the contract.
 * Locks:      none.
 * Flow:       included by array.c, charge.c and cache/charged.c; calls arch/rseq_ops.h.
 */
#ifndef CACHE_CHARGE_HIT_H
#define CACHE_CHARGE_HIT_H

#include "arch/rseq_ops.h"
#include "cache/group/group.h"
#include "front/percpu.h"

/* Delays for tests, between the look at a stock and its change: tests/race/groups_test.c. */
#ifndef GROUP_INJECT
#define GROUP_INJECT(step)
#endif

/* The stock's word was expect, and is new_word now; false: it was not, or not on this CPU. */
static always_inline bool stock_change(struct group_stock *stock, int cpu, uintptr_t expect,
				       uintptr_t new_word)
{
	GROUP_INJECT(1);
	if (likely(percpu_rseq))
		return arch_rseq_cmp2_store(os_rseq_offset, cpu, &stock->word, expect, &stock->word,
					    expect, new_word) == 0;
	return cmpxchg(&stock->word, expect, new_word);
}

static always_inline bool stock_take(uint32_t id, size_t bytes)
{
	int cpu = percpu_cpu();
	struct group_stock *stock;
	uintptr_t word;

	if (unlikely(cpu < 0))
		return false;
	stock = &groups_table->stock[cpu];
	word = load_relaxed(&stock->word);
	return likely(STOCK_ID(word) == id) && likely(STOCK_BYTES(word) >= bytes) &&
	       likely(stock_change(stock, cpu, word, word - bytes));
}

static always_inline bool stock_give(uint32_t id, size_t bytes)
{
	int cpu = percpu_cpu();
	struct group_stock *stock;
	uintptr_t word;

	if (unlikely(cpu < 0))
		return false;
	stock = &groups_table->stock[cpu];
	word = load_relaxed(&stock->word);
	return likely(STOCK_ID(word) == id) && likely(STOCK_BYTES(word) + bytes <= STOCK_MOST) &&
	       likely(stock_change(stock, cpu, word, word + bytes));
}

#endif /* CACHE_CHARGE_HIT_H */
