/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/free.c - objects back to their slabs (spec 4.11)
 *
 * Why:        docs/adr/0010, docs/adr/0026.
 * Data:       struct chain: objects of one slab, linked through their free pointers; or those that
 *             were formatted last, not linked and not touched (head NULL).
 * Invariants: a slab that stops being full joins its node's partial list, and one that becomes
 *             empty leaves it or is counted as kept, in the same hold of list_lock.
 * Locks:      most pushes take none; slub_flush() takes list_lock once per node.
 * Flow:       called by front/ through slub_ops.flush, by front/cpuslab.c and cpu.c; calls slab.c,
 *             node.c.
 *
 * Who may work on one slab at the same time. Every change of {freelist, counters} is one
 * double-word exchange, so that + needs no more; L: both hold list_lock; O: both are the owner.
 *
 *                             push  push-locked  take  acquire  get_freelist  deactivate  shrink
 *     chain_push               +        +         +       +          +            +         +
 *     chain_push, locked       +        L         L       L          +            +         L
 *     take_objects             +        L         L       L          -            -         L
 *     try_detach (refill.c)    +        L         L       L          -            -         L
 *     take_ascending           +        L         L       L          -            -         L
 *     acquire (cpu.c)          +        L         L       L          -            -         L
 *     get_freelist             +        +         -       -          O            O         -
 *     deactivate, unfreeze     +        +         -       -          O            O         -
 *     shrink                   +        L         L       L          -            -         L
 *
 * slub_push_frozen() is the row chain_push for a slab that is frozen already: the same exchange,
 * which fails when the slab was unfrozen, taken from or pushed to since it was read.
 *
 *     -: cannot meet, one works on frozen slabs only, the other on slabs that are not frozen.
 *
 * Taking is take_objects(), try_detach_locked() or slub_take_ascending_locked() (ascend.c), which
 * pushes as well. A list that was detached is followed without the lock: its objects count as in
 * use, so that its slab cannot become empty until they are freed.
 *
 * Without the lock a push may only change slabs that stay on the list they are on: frozen ones,
 * and those that were not full before and are not empty after. So under the lock a slab of the
 * partial list can lose no object but through us, cannot become empty, and cannot vanish.
 *
 * The exchange in chain_push() releases the links of the chain and whatever the program wrote into
 * its objects; it pairs with the acquire in slub_read() of whoever takes them. ABA does no harm: a
 * push is right for any list that begins with `prior`, and takers exclude each other.
 */
#include "arch/cpu.h"
#include "base/mix.h"
#include "engine/slub/slab.h"

#define FLUSH_BATCH 32 /* objects grouped at a time: an array of the front has 31 */
#define HASH_BITS 6

struct chain {
	struct page *slab;
	void *head;
	void *tail;
	unsigned int cnt;
};

enum push_result {
	PUSHED,		   /* done; the slab stays where it is */
	PUSH_NEEDS_LOCK,   /* nothing done: the slab would have to change lists */
	PUSH_FROZE,	   /* the slab was full and is now frozen for the caller */
	PUSH_UNFULLED,	   /* was full: belongs on the partial list (lock held) */
	PUSH_EMPTIED,	   /* was on the partial list and is empty now (lock held) */
	PUSH_FULL_EMPTIED, /* was full and is empty now (lock held) */
	PUSH_REFUSED,	   /* nothing done: some of these are free already */
};

/*
 * Puts a chain in front of the slab's free list if the caller may do so with what it holds.
 * cpu_partial: a slab that was full is frozen instead of being put on a list.
 */
static enum push_result chain_push(struct engine *e, const struct chain *chain, bool cpu_partial,
				   bool locked)
{
	struct page *slab = chain->slab;
	struct slub_state old;
	struct slub_state new;
	bool was_full;

	do {
		old = slub_read(slab);
		was_full = old.counters.inuse == old.counters.objects;
		new.counters = old.counters;
		new.counters.inuse -= chain->cnt;
		if (!old.counters.frozen) {
			if (was_full && cpu_partial)
				new.counters.frozen = 1;
			else if ((was_full || !new.counters.inuse) && !locked)
				return PUSH_NEEDS_LOCK;
		}
		if (unlikely(chain->cnt > old.counters.inuse)) /* fewer in use than come back */
			return PUSH_REFUSED;
		if (unlikely(!chain->head)) { /* locked: no thread formats */
			new.freelist = old.freelist;
			new.counters.formatted -= chain->cnt;
			continue;
		}
		if (unlikely(chain->tail == old.freelist)) /* what came last is here */
			return PUSH_REFUSED;
		new.freelist = chain->head;
		freeptr_set(slub_of(e), slab->layout, chain->tail, old.freelist);
	} while (unlikely(!slub_exchange(e, slab, &old, &new)));

	if (old.counters.frozen) {
		engine_count(e, FREE_FROZEN);
		return PUSHED;
	}
	if (was_full && cpu_partial)
		return PUSH_FROZE;
	if (was_full)
		return new.counters.inuse ? PUSH_UNFULLED : PUSH_FULL_EMPTIED;
	return new.counters.inuse ? PUSHED : PUSH_EMPTIED;
}

/*
 * The rows of spec 4.11 that move a slab. Adds a slab that must go to *empty, linked by page.next,
 * for slub_free_slabs() once the lock is released. false: refused.
 */
static bool chain_push_locked(struct engine *e, struct engine_node *node, const struct chain *chain,
			      struct page **empty)
{
	const struct slub *s = slub_of(e);
	struct page *slab = chain->slab;
	enum push_result result = chain_push(e, chain, false, true);
	bool enough = node->nr_partial >= load_relaxed(&s->min_partial);

	if (result == PUSHED || result == PUSH_REFUSED)
		return result == PUSHED;
	if (result == PUSH_UNFULLED || (result == PUSH_FULL_EMPTIED && !enough)) {
		slub_node_remove_full_locked(slab);
		/* pack: at the head, so that the slab with one free object is filled up first */
		engine_node_add_partial_locked(node, slab, !s->pack);
		engine_count(e, FREE_ADD_PARTIAL);
		return true;
	}
	if (!enough)
		return true; /* stays on the partial list, empty */
	if (result == PUSH_EMPTIED) {
		engine_node_remove_partial_locked(node, slab);
		engine_count(e, FREE_REMOVE_PARTIAL);
	} else {
		slub_node_remove_full_locked(slab);
	}
	slub_unaccount(e, slab);
	slab->next = *empty;
	*empty = slab;
	return true;
}

static enum push_result push_one_chain(struct engine *e, const struct chain *chain,
				       bool cpu_partial)
{
	struct engine_node *node = slub_node_of(e, chain->slab);
	struct page *empty = NULL;
	enum push_result result;
	bool done;

	engine_count(e, FREE_SLOWPATH);
	result = chain_push(e, chain, cpu_partial, false);
	if (result != PUSH_NEEDS_LOCK)
		return result;
	lock_acquire(&node->list_lock);
	done = chain_push_locked(e, node, chain, &empty);
	lock_release(&node->list_lock);
	slub_free_slabs(e, empty);
	return done ? PUSHED : PUSH_REFUSED;
}

/* How many of n objects are the last formatted ones of a slab, the very last one first. */
static unsigned int count_edge(const struct page *slab, void **objs, unsigned int n)
{
	unsigned int formatted = slub_read(slab).counters.formatted;
	unsigned int i = 0;

	while (i < n && i < formatted && objs[i] == slub_object(slab, formatted - 1 - i))
		i++;
	return i;
}

/* Those that a slab's edge begins with; see unformat(). Returns how many. */
static unsigned int unformat_from(struct engine *e, struct page *slab, void **objs, unsigned int n)
{
	struct engine_node *node = slub_node_of(e, slab);
	struct chain chain = { .slab = slab };
	struct page *empty = NULL;

	if (!count_edge(slab, objs, 1)) /* a look without the lock: mostly not */
		return 0;
	lock_acquire(&node->list_lock);
	chain.cnt = count_edge(slab, objs, n);
	if (chain.cnt) {
		engine_count(e, FREE_SLOWPATH);
		if (!chain_push_locked(e, node, &chain, &empty))
			chain.cnt = 0;
	}
	lock_release(&node->list_lock);
	slub_free_slabs(e, empty);
	return chain.cnt;
}

/* ---- one by one, each looked for in its slab: after a mistake, and when a tool looks on ---- */

/* Nothing in the slab says so, but all of it is free already: its list is wrong. */
static cold void isolate(struct engine *e, struct page *slab)
{
	struct engine_node *node = slub_node_of(e, slab);

	lock_acquire(&node->list_lock);
	engine_mistake(e, page_address(slab), ENGINE_LIST_BROKEN);
	slub_isolate_locked(e, node, slab);
	lock_release(&node->list_lock);
	engine_mistakes_deliver();
}

/* The slab that an object of this engine starts in at p; NULL: none does. */
static inline struct page *home_of(const struct engine *e, const void *p)
{
	struct page *slab = page_slab_of(p);

	return likely(slab && load_relaxed(&slab->engine) == e && slub_starts_object(e, slab, p))
		       ? slab
		       : NULL;
}

static cold void free_exactly(struct engine *e, void *obj)
{
	struct page *slab = home_of(e, obj);
	struct chain chain = { .slab = slab, .head = obj, .tail = obj, .cnt = 1 };

	if (!slab || (void *)obj >= slub_object(slab, slub_read(slab).counters.objects))
		engine_mistake_now(e, obj, ENGINE_NO_OBJECT);
	else if (slub_is_free(e, slab, obj))
		engine_mistake_now(e, obj, ENGINE_FREE_AGAIN);
	else if (slub_of(e)->lazy && unformat_from(e, slab, &obj, 1))
		return;
	else if (push_one_chain(e, &chain, false) == PUSH_REFUSED)
		isolate(e, slab);
}

/* A circle in the chain, from what it has twice, is followed as long as there were objects. */
static cold void free_chain_exactly(struct engine *e, const struct chain *chain)
{
	void *obj = chain->head;

	for (unsigned int left = chain->cnt; left && obj; left--) {
		void *next = freeptr_get(slub_of(e), chain->slab->layout, obj);

		free_exactly(e, obj);
		obj = next;
	}
}

bool slub_free_chain(struct engine *e, struct page *slab, void *head, void *tail, unsigned int cnt,
		     bool cpu_partial)
{
	struct chain chain = { .slab = slab, .head = head, .tail = tail, .cnt = cnt };
	enum push_result result = push_one_chain(e, &chain, cpu_partial);

	if (unlikely(result == PUSH_REFUSED))
		free_chain_exactly(e, &chain);
	if (result == PUSH_FROZE)
		engine_count(e, CPU_PARTIAL_FREE);
	return result == PUSH_FROZE;
}

bool slub_push_frozen(struct engine *e, struct page *slab, void *obj)
{
	struct slub_state old = slub_read(slab);
	struct slub_state new = { .freelist = obj, .counters = old.counters };

	if (unlikely(!old.counters.frozen || !old.counters.inuse || obj == old.freelist))
		return false;
	new.counters.inuse--;
	freeptr_set(slub_of(e), slab->layout, obj, old.freelist);
	if (unlikely(!slub_exchange(e, slab, &old, &new)))
		return false;
	engine_count(e, FREE_SLOWPATH);
	engine_count(e, FREE_FROZEN);
	return true;
}

static unsigned int hash_slab(const struct page *slab)
{
	return (unsigned int)(mix_multiply((uintptr_t)slab / sizeof(*slab)) >> (64 - HASH_BITS));
}

/*
 * Sorts n <= FLUSH_BATCH objects into one chain per slab; in each the object that came last is the
 * head, as if they had been freed one by one. A slab whose hash bucket was taken over by another
 * one may get a second chain, which costs an exchange more and nothing else.
 */
static unsigned int group_by_slab(struct engine *e, void **objs, unsigned int n,
				  struct chain *chains)
{
	uint8_t bucket[1 << HASH_BITS] = { 0 }; /* index of a chain + 1 */
	struct chain *chain = NULL;
	unsigned int nr = 0;
	unsigned int i;

	/* the links that are about to be written, all at once instead of one by one */
	for (i = 0; i < n; i++)
		arch_prefetch_write(freeptr_slot(e->layout, objs[i]));
	for (i = 0; i < n; i++) {
		struct page *slab = home_of(e, objs[i]);

		if (unlikely(!slab)) {
			engine_mistake_now(e, objs[i], ENGINE_NO_OBJECT);
			continue;
		}
		if (!chain || chain->slab != slab) {
			uint8_t *b = &bucket[hash_slab(slab)];

			if (!*b || chains[*b - 1].slab != slab) {
				chains[nr] = (struct chain){ slab, objs[i], objs[i], 1 };
				chain = &chains[nr++];
				*b = (uint8_t)nr;
				continue;
			}
			chain = &chains[*b - 1];
		}
		if (unlikely(objs[i] == chain->head)) {
			engine_mistake_now(e, objs[i], ENGINE_FREE_AGAIN);
			continue;
		}
		freeptr_set(slub_of(e), slab->layout, objs[i], chain->head);
		chain->head = objs[i];
		chain->cnt++;
	}
	return nr;
}

/*
 * Chains whose slab has to change lists: list_lock once for neighbours of one node. Those that were
 * refused are moved to the front; returns how many.
 */
static unsigned int push_pending(struct engine *e, struct chain *pending, unsigned int nr)
{
	unsigned int refused = 0;
	struct engine_node *held = NULL;
	struct page *empty = NULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct engine_node *node = slub_node_of(e, pending[i].slab);

		if (node != held) {
			if (held)
				lock_release(&held->list_lock);
			lock_acquire(&node->list_lock);
			held = node;
		}
		if (unlikely(!chain_push_locked(e, node, &pending[i], &empty)))
			pending[refused++] = pending[i];
	}
	if (held)
		lock_release(&held->list_lock);
	slub_free_slabs(e, empty);
	return refused;
}

static void flush_batch(struct engine *e, void **objs, unsigned int n)
{
	struct chain chains[FLUSH_BATCH];
	unsigned int nr = group_by_slab(e, objs, n, chains);
	unsigned int pending = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		enum push_result result;

		engine_count(e, FREE_SLOWPATH);
		result = chain_push(e, &chains[i], false, false);
		if (result == PUSH_NEEDS_LOCK)
			chains[pending++] = chains[i];
		else if (unlikely(result == PUSH_REFUSED))
			free_chain_exactly(e, &chains[i]);
	}
	if (pending)
		pending = push_pending(e, chains, pending);
	for (i = 0; i < pending; i++)
		free_chain_exactly(e, &chains[i]);
}

/*
 * Objects that are flushed in the reverse order of their formatting were most likely never
 * allocated: a drained front held them. To link them would make untouched memory resident, so they
 * count as not formatted again. Returns how many objects, from the first on, were taken back so.
 */
static unsigned int unformat(struct engine *e, void **objs, unsigned int n)
{
	unsigned int done = 0;
	unsigned int cnt;

	do {
		struct page *slab = home_of(e, objs[done]);

		cnt = slab ? unformat_from(e, slab, objs + done, n - done) : 0;
		done += cnt;
	} while (cnt && done < n);
	return done;
}

void slub_flush(struct engine *e, void **objs, unsigned int n)
{
	if (unlikely(load_relaxed(&e->verify_frees))) {
		for (unsigned int i = 0; i < n; i++)
			free_exactly(e, objs[i]);
		return;
	}
	if (n > 1 && slub_of(e)->lazy) {
		unsigned int done = unformat(e, objs, n);

		objs += done;
		n -= done;
	}
	while (n > FLUSH_BATCH) {
		flush_batch(e, objs, FLUSH_BATCH);
		objs += FLUSH_BATCH;
		n -= FLUSH_BATCH;
	}
	if (n == 1)
		slub_free_chain(e, page_head_unchecked(objs[0]), objs[0], objs[0], 1, false);
	else if (n)
		flush_batch(e, objs, n);
}
