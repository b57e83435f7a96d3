/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/check.c - which blocks kfree_rcu() takes, and whether they were left alone meanwhile
 *
 * Why:        docs/adr/0045.
 * Data:       struct grace_seal, in the struct rcu_head of a block: its own address, each bit the
 *             other way round, and the block's.
 * Invariants: see grace.h. A seal alone is a suspicion: it may be an old one.
 * Locks:      none may be held.
 * Flow:       called by free.c and sheaf_free.c; calls batch.c, cache/debug/misuse.c and
 *             cache/kmalloc/kmalloc.c.
 *
 * A block with a head that comes twice bears a seal already. One that was freed otherwise, or
 * written to, and has a new owner by now, bears none when its grace period is over: it is left
 * alone. Without a head only debug flag F, and the frees themselves, notice a second time.
 */
#include "cache/grace/grace.h"
#include "debug/pages/pages.h"
#include "page/page.h"
#include "page/reserve.h"

static const struct cache_call kfree_rcu_call = { "kfree_rcu", FIX_NOT_FREED };

static uintptr_t mark_of_head(const struct grace_seal *head)
{
	return ~(uintptr_t)head;
}

static bool is_sealed(const struct grace_seal *head, const void *p)
{
	return head->mark == mark_of_head(head) && head->p == p;
}

static bool lies_inside(const struct grace_seal *head, const void *p, size_t size)
{
	size_t at = (uintptr_t)head - (uintptr_t)p;

	return size >= sizeof(*head) && at <= size - sizeof(*head);
}

bool grace_may_wait(const struct grace_seal *head, void *p, size_t *size)
{
	*size = kmalloc_size_for(&kfree_rcu_call, p);
	if (!*size || cache_refuses_free(&kfree_rcu_call, p))
		return false;
	if (unlikely(head && !lies_inside(head, p, *size))) {
		cache_report_block(&kfree_rcu_call, p, REPORT_GRACE,
				   "is too small for its struct rcu_head");
		return false;
	}
	if (unlikely((head && is_sealed(head, p)) || cache_has_checks(p)) && grace_holds(p)) {
		cache_report_block(&kfree_rcu_call, p, REPORT_GRACE,
				   "waits for a grace period already");
		return false;
	}
	return true;
}

void grace_set_seal(struct grace_seal *head, void *p)
{
	*head = (struct grace_seal){ mark_of_head(head), p };
}

/* Could its bytes be read, if it was freed meanwhile? Those of arena and reserve always can. */
static bool is_there(const void *p)
{
	return page_in_arena(p) || reserve_owns(p) || pages_size(p);
}

bool grace_break_seal(struct grace_seal *head, void *p)
{
	if (likely(is_there(p) && is_sealed(head, p))) {
		head->mark = 0;
		return true;
	}
	cache_report_block(&kfree_rcu_call, p, REPORT_GRACE,
			   "waited for a grace period, and its struct rcu_head was written to: "
			   "freed otherwise, or used?");
	return false;
}
