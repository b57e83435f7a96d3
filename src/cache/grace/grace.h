/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/grace.h - blocks that are freed after a grace period of RCU: kfree_rcu()
 *
 * Why:        docs/adr/0045, docs/adr/0049.
 * Data:       a batch for each CPU (page/meta.c), which gathers blocks; the batches that wait, and
 *             blocks that found no batch, are in chains of os/rcu/rcu.h. A front of sheaves has
 *             some in place of batches.
 * Invariants: a block is in one place from grace_free() until it is freed. The struct rcu_head of a
 *             block in a batch, if it has one, bears a seal. Checked by grace_check().
 * Locks:      one for each CPU (RANK_GRACE); under it metadata's, and os_rcu_defer(). None may be
 *             held by callers.
 * Flow:       used by api/ and cache/. batch.c calls nothing that frees blocks, so that whoever
 *             frees may call it.
 */
#ifndef CACHE_GRACE_H
#define CACHE_GRACE_H

#include "base/atomic.h"
#include "cache/cache.h"
#include "os/rcu/rcu.h"

struct rcu_head;

/* What is in the head of a block that is in a batch. */
struct grace_seal {
	uintptr_t mark;
	void *p;
};

/* In the head of a block that found no batch. */
struct grace_link {
	struct os_rcu_item item;
	void *p;
};

struct grace_entry {
	void *p;
	struct grace_seal *head; /* NULL: it has none */
};

struct grace_batch {
	struct os_rcu_item item;
	os_rcu_release release; /* to be called after the grace period */
	size_t bytes;		/* of all blocks */
	unsigned int nr;
	struct grace_entry entry[];
};

#define GRACE_BATCH_BYTES 1024u
#define GRACE_BLOCKS ((GRACE_BATCH_BYTES - sizeof(struct grace_batch)) / sizeof(struct grace_entry))

/* ---- batch.c ---- */

/*
 * Puts a block of size bytes into this CPU's batch, whose release function is as given each time.
 * false: no memory.
 */
bool grace_gather(struct grace_entry block, size_t size, os_rcu_release release);

/* Hands what the CPUs' batches have gathered to the RCU; does not wait. */
void grace_hand_over(void);

/* Waits until all is freed that was gathered before, of one cache or (NULL) of all. */
void grace_wait(struct cache *c);

/* Does something of the cache wait, as far as one can tell? false for certain. */
bool grace_has(struct cache *c);

/* Does p wait? Looks through all batches, of those that were handed over at the newest ones. */
cold bool grace_holds(const void *p);

void grace_each_lock(void (*act)(struct lock *l)); /* for fork */
void grace_check(void);

/* ---- sheaf_free.c: caches whose front has sheaves ---- */

/* Puts a block into a sheaf of its cache. false: it is of no such cache, or found none. */
bool grace_into_sheaf(void *p, struct grace_seal *head);

/*
 * What an rcu_free sheaf has of a block: its address; or, if it has a struct rcu_head, that of the
 * head with the lowest bit set, whose seal says which block it is.
 */
static inline void *grace_entry(void *p, struct grace_seal *head)
{
	return head ? (char *)head + 1 : p;
}

static inline struct grace_seal *grace_entry_head(const void *entry)
{
	return (uintptr_t)entry & 1 ? (struct grace_seal *)((uintptr_t)entry - 1) : NULL;
}

static inline void *grace_entry_block(const void *entry)
{
	struct grace_seal *head = grace_entry_head(entry);

	return head ? load_relaxed(&head->p) : (void *)entry;
}

/* ---- sheaves.c ---- */

extern bool grace_sheaves_used; /* a sheaf has had an entry; atomic */
/*
 * What the CPUs' sheaves have gathered, of one cache or (NULL) of all, to the RCU, and then to the
 * barns. A drain does that by itself, and then it goes to the slabs. Takes cache_lock.
 */
void grace_hand_over_sheaves(const struct cache *c);
/* grace_has() and grace_holds() for what is in sheaves; so many of those that were handed over. */
bool grace_sheaves_have(struct cache *c);
cold bool grace_sheaves_hold(const void *p, unsigned int looks);

/* ---- free.c ---- */

/* kvfree_call_rcu(). */
void grace_free(struct rcu_head *head, void *p, const void *caller);

/*
 * Waits until nothing of the cache waits, as a free or in a type-safe cache. The program frees no
 * more objects of it.
 */
void grace_settle(struct cache *c);

/* ---- check.c ---- */

/* Is p a block that may wait? Else that is reported. *size: its bytes. */
bool grace_may_wait(const struct grace_seal *head, void *p, size_t *size);

void grace_set_seal(struct grace_seal *head, void *p);
/*
 * The grace period is over: breaks the seal. false: it was broken, which is reported; the block may
 * be somebody's.
 */
bool grace_break_seal(struct grace_seal *head, void *p);

#endif /* CACHE_GRACE_H */
