/* SPDX-License-Identifier: MIT */
/*
 * cache/grace/batch.c - blocks that wait gather in batches by CPU; who looks and waits for them
 *
 * Why:        docs/adr/0045.
 * Data:       slots[], one for each CPU; batches, in a slot or in their chain (OS_RCU_BATCHES).
 * Invariants: see grace.h. 0 < batch.nr <= GRACE_BLOCKS.
 * Locks:      slot.lock (RANK_GRACE). A full batch joins the chain before it is released, so that
 *             who waits for the chain misses none. A thread that is migrated uses another CPU's
 *             slot, which costs speed and nothing else. slots: cache_lock.
 * Flow:       see grace.h; calls os/rcu/rcu.c, sheaves.c.
 *
 * A grace period begins after a batch is handed over, which is after each of its blocks came. It is
 * handed over when it is full, when its blocks have many bytes, and by grace_hand_over().
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "cache/grace/grace.h"
#include "cache/internal.h"
#include "page/meta.h"

#define HELD_BYTES (256ul << 10) /* of blocks in a batch: no more gather */
#define LOOKS 64u		 /* batches in which grace_holds() looks */

struct slot {
	_Alignas(CACHE_LINE) struct lock lock;
	struct grace_batch *batch; /* NULL: none has been begun */
};

static struct slot *slots; /* nr_slots; NULL: kfree_rcu() was not called yet, or no memory */
static unsigned int nr_slots;

/* ---- gathering ---- */

static cold struct slot *make_slots(void)
{
	lock_acquire(&cache_lock);
	if (!slots) {
		unsigned int nr = os_topology.nr_cpu_ids;
		struct slot *made = meta_alloc(nr * sizeof(*made));

		for (unsigned int i = 0; made && i < nr; i++)
			lock_init(&made[i].lock, RANK_GRACE);
		nr_slots = nr;
		store_release(&slots, made); /* pairs with slots_ready() */
	}
	cache_unlock();
	return slots;
}

static struct slot *slots_ready(void)
{
	struct slot *ready = load_acquire(&slots); /* pairs with make_slots() */

	return likely(ready) ? ready : make_slots();
}

static void put_locked(struct grace_batch *b, struct grace_entry block, size_t size)
{
	b->entry[b->nr++] = block;
	b->bytes += size;
}

static bool is_full(const struct grace_batch *b)
{
	return b->nr == GRACE_BLOCKS || b->bytes >= HELD_BYTES;
}

static void hand_over_locked(struct slot *slot)
{
	if (slot->batch)
		os_rcu_defer(OS_RCU_BATCHES, &slot->batch->item, slot->batch->release);
	slot->batch = NULL;
}

static bool gather_locked(struct slot *slot, struct grace_entry block, size_t size,
			  os_rcu_release release)
{
	if (!slot->batch)
		slot->batch = meta_alloc(GRACE_BATCH_BYTES);
	if (unlikely(!slot->batch))
		return false;
	slot->batch->release = release;
	put_locked(slot->batch, block, size);
	if (unlikely(is_full(slot->batch)))
		hand_over_locked(slot);
	return true;
}

bool grace_gather(struct grace_entry block, size_t size, os_rcu_release release)
{
	struct slot *all = slots_ready();
	struct slot *slot;
	bool gathered;

	if (!all)
		return false;
	slot = &all[os_current_cpu() % nr_slots];
	lock_acquire(&slot->lock);
	gathered = gather_locked(slot, block, size, release);
	lock_release(&slot->lock);
	return gathered;
}

/* ---- handing over, looking, waiting ---- */

void grace_hand_over(void)
{
	struct slot *all = load_acquire(&slots); /* pairs with make_slots() */

	for (unsigned int i = 0; all && i < nr_slots; i++) {
		lock_acquire(&all[i].lock);
		hand_over_locked(&all[i]);
		lock_release(&all[i].lock);
	}
	os_rcu_submit();
}

/* Where one is, those that wait are looked through for what is_wanted says. */
struct search {
	bool (*is_wanted)(const void *p, const void *what);
	const void *what;
	unsigned int looks; /* at batches that are left */
};

static bool has_wanted(const struct grace_batch *b, const struct search *s)
{
	for (unsigned int i = 0; b && i < b->nr; i++)
		if (s->is_wanted(b->entry[i].p, s->what))
			return true;
	return false;
}

static bool batch_has_wanted(const struct os_rcu_item *item, const void *arg)
{
	struct search *s = (struct search *)arg;

	return s->looks && s->looks-- &&
	       has_wanted(container_of(item, struct grace_batch, item), s);
}

static bool link_is_wanted(const struct os_rcu_item *item, const void *arg)
{
	struct search *s = (struct search *)arg;

	return s->is_wanted(container_of(item, struct grace_link, item)->p, s->what);
}

/* At the CPUs first: what leaves them joins the chains. */
static bool search(struct search *s)
{
	struct slot *all = load_acquire(&slots); /* pairs with make_slots() */
	bool found = false;

	for (unsigned int i = 0; all && !found && i < nr_slots; i++) {
		lock_acquire(&all[i].lock);
		found = has_wanted(all[i].batch, s);
		lock_release(&all[i].lock);
	}
	return found || os_rcu_find(OS_RCU_BATCHES, batch_has_wanted, s) ||
	       os_rcu_find(OS_RCU_HEADS, link_is_wanted, s);
}

static bool is_this(const void *p, const void *what)
{
	return p == what;
}

bool grace_holds(const void *p)
{
	struct search s = { is_this, p, LOOKS };

	return search(&s) || grace_sheaves_hold(p, LOOKS);
}

/* Or may it be: blocks of heaps do not say whose they are. */
static bool is_of(const void *p, const void *what)
{
	const struct cache *c = what;
	const struct page *page = page_head_of(p);

	if (page && page->type == PAGE_HEAP)
		return page->heap == c->engine.ops->heap;
	return page && page->type == PAGE_SLAB && page->engine == &c->engine;
}

/* What is being released just now may be the cache's. */
bool grace_has(struct cache *c)
{
	struct search s = { is_of, c, ~0u };

	return search(&s) || os_rcu_releases(OS_RCU_BATCHES) || os_rcu_releases(OS_RCU_HEADS) ||
	       grace_sheaves_have(c);
}

void grace_wait(struct cache *c)
{
	if (c && !grace_has(c))
		return;
	grace_hand_over_sheaves(c);
	grace_hand_over();
	os_rcu_wait(OS_RCU_BATCHES);
	os_rcu_wait(OS_RCU_HEADS);
	os_rcu_wait(OS_RCU_SHEAVES);
}

void grace_each_lock(void (*act)(struct lock *l))
{
	for (unsigned int i = 0; slots && i < nr_slots; i++)
		act(&slots[i].lock);
}

void grace_check(void)
{
	struct slot *all = load_acquire(&slots); /* pairs with make_slots() */

	for (unsigned int i = 0; all && i < nr_slots; i++) {
		const struct grace_batch *b;

		lock_acquire(&all[i].lock);
		b = all[i].batch;
		CHECK(!b || (b->nr && !is_full(b)));
		for (unsigned int n = 0; b && n < b->nr; n++)
			CHECK(!b->entry[n].head || b->entry[n].head->p == b->entry[n].p);
		lock_release(&all[i].lock);
	}
	os_rcu_check();
}
