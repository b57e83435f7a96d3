/* SPDX-License-Identifier: MIT */
/*
 * front/queues_node.c - a node's shared array and its alien arrays (spec 3.8, 3.10)
 *
 * Data:       struct queue; its entries are allocated when the first object is put there.
 * Invariants: avail <= limit. An alien array holds objects of one other node. Checked by
 *             queues_nodes_check().
 * Locks:      queue.lock: RANK_DEPOT (shared), RANK_CPUSLAB (alien; never together with a CPU's).
 *             Held over copying only: the engine is called after it.
 * Flow:       called by front/queues.c and front/queues_idle.c; calls engine->ops->flush.
 */
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "front/queues.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"

static struct queue *shared_of(struct front *f, unsigned int node)
{
	return &queues_of(f)->node[node].shared;
}

/* Moves the n oldest entries to objs; the rest moves down. Lock held. */
static void take_oldest_locked(struct queue *queue, void **objs, unsigned int n)
{
	memcpy(objs, queue->entry, n * sizeof(void *));
	store_relaxed(&queue->avail, queue->avail - n);
	memmove(queue->entry, queue->entry + n, queue->avail * sizeof(void *));
}

/* ---- shared ---------------------------------------------------------------------------------- */

unsigned int queues_shared_take(struct front *f, unsigned int node, void **objs, unsigned int n)
{
	struct queue *shared = shared_of(f, node);

	if (!load_relaxed(&shared->avail)) /* a hint: the engine has objects as well */
		return 0;
	lock_acquire(&shared->lock);
	n = MIN(n, shared->avail);
	if (n) {
		memcpy(objs, shared->entry + shared->avail - n, n * sizeof(void *));
		store_relaxed(&shared->avail, shared->avail - n);
		shared->touched = 1;
	}
	lock_release(&shared->lock);
	return n;
}

/* Allocates entries for shared * batchcount objects, if there is memory. Lock held. */
static void make_shared_locked(const struct queues *q, struct queue *shared)
{
	uint64_t limit = (uint64_t)load_relaxed(&q->shared) * load_relaxed(&q->batchcount);

	if (shared->limit || !limit)
		return;
	limit = MIN(limit, QUEUES_MAX_SHARED); /* while tune writes, one may be old, one new */
	shared->entry = meta_alloc(limit * sizeof(void *));
	if (shared->entry)
		shared->limit = (uint32_t)limit;
}

/* Puts as many of n objects as fit, the first ones or the last ones. */
static unsigned int shared_put(struct front *f, unsigned int node, void *const *objs,
			       unsigned int n, bool last)
{
	struct queue *shared = shared_of(f, node);
	unsigned int moved;

	if (!load_relaxed(&queues_of(f)->shared))
		return 0;
	lock_acquire(&shared->lock);
	make_shared_locked(queues_of(f), shared);
	moved = MIN(n, shared->limit - shared->avail);
	if (moved) {
		memcpy(shared->entry + shared->avail, last ? objs + n - moved : objs,
		       moved * sizeof(void *));
		store_relaxed(&shared->avail, shared->avail + moved);
	}
	lock_release(&shared->lock);
	return moved;
}

unsigned int queues_shared_put(struct front *f, unsigned int node, void *const *objs,
			       unsigned int n)
{
	return shared_put(f, node, objs, n, false);
}

void queues_shared_drain(struct front *f, unsigned int node)
{
	struct queue *shared = shared_of(f, node);
	unsigned int limit;
	unsigned int n;
	void **entry;

	lock_acquire(&shared->lock);
	entry = shared->entry;
	limit = shared->limit;
	n = shared->avail;
	shared->entry = NULL;
	shared->limit = 0;
	store_relaxed(&shared->avail, 0u);
	lock_release(&shared->lock);

	queues_flush(f, entry, n);
	if (limit)
		meta_free(entry, limit * sizeof(void *));
}

unsigned int queues_reap_count(unsigned int limit, unsigned int avail)
{
	unsigned int n = (limit + 4) / 5;

	return n > avail ? (avail + 1) / 2 : n;
}

void queues_shared_reap(struct front *f, unsigned int node)
{
	struct queue *shared = shared_of(f, node);
	void *objs[QUEUES_BATCH];
	unsigned int n = 0;

	if (!load_relaxed(&shared->avail))
		return;
	lock_acquire(&shared->lock);
	if (shared->avail && shared->touched)
		shared->touched = 0;
	else
		n = MIN(queues_reap_count(shared->limit, shared->avail), QUEUES_BATCH);
	if (n)
		take_oldest_locked(shared, objs, n);
	lock_release(&shared->lock);
	queues_flush(f, objs, n);
}

/* ---- aliens ---------------------------------------------------------------------------------- */

/* All alien arrays of a node in one block: the structs, then the entries. */
static size_t aliens_bytes(const struct queues *q)
{
	return q->nr_nodes * (sizeof(struct queue) + QUEUES_ALIEN_LIMIT * sizeof(void *));
}

/*
 * The alien arrays of a node's CPUs; NULL: out of memory. Made under the shared lock, which fork
 * holds: no alien array can appear meanwhile.
 */
static struct queue *aliens_of(struct front *f, unsigned int local)
{
	struct queues *q = queues_of(f);
	struct queue *aliens = load_acquire(&q->node[local].alien);
	void **entries;

	if (likely(aliens))
		return aliens;
	lock_acquire(&q->node[local].shared.lock);
	aliens = q->node[local].alien;
	if (!aliens && (aliens = meta_alloc(aliens_bytes(q)))) {
		entries = (void **)(aliens + q->nr_nodes);
		for (unsigned int node = 0; node < q->nr_nodes; node++) {
			lock_init(&aliens[node].lock, RANK_CPUSLAB);
			aliens[node].limit = QUEUES_ALIEN_LIMIT;
			aliens[node].entry = entries + node * QUEUES_ALIEN_LIMIT;
		}
		store_release(&q->node[local].alien, aliens); /* pairs with the load above */
	}
	lock_release(&q->node[local].shared.lock);
	return aliens;
}

/* Spec 3.5: 12, or the limit of a cache whose CPUs hold one object. */
static unsigned int alien_limit(const struct queues *q)
{
	return load_relaxed(&q->limit) > 1 ? QUEUES_ALIEN_LIMIT : 1;
}

static unsigned int take_all_locked(struct queue *alien, void **objs)
{
	unsigned int n = alien->avail;

	take_oldest_locked(alien, objs, n);
	return n;
}

/* Objects of an alien array: the newest go to the shared array of node, the others are freed. */
static void send_home(struct front *f, unsigned int node, void **objs, unsigned int n)
{
	if (n)
		queues_flush(f, objs, n - shared_put(f, node, objs, n, true));
}

void queues_alien_put(struct front *f, unsigned int local, unsigned int node, void *obj)
{
	struct queues *q = queues_of(f);
	struct queue *aliens = load_relaxed(&front_queues_noalien) ? NULL : aliens_of(f, local);
	void *objs[QUEUES_ALIEN_LIMIT];
	struct queue *alien;
	unsigned int n = 0;

	count_event(&q->node_frees);
	if (!aliens) {
		queues_flush(f, &obj, 1);
		return;
	}
	alien = &aliens[node];
	lock_acquire(&alien->lock);
	if (alien->avail >= alien_limit(q)) {
		count_event(&q->alien_overflows);
		n = take_all_locked(alien, objs);
	}
	alien->entry[alien->avail] = obj;
	store_relaxed(&alien->avail, alien->avail + 1);
	lock_release(&alien->lock);
	send_home(f, node, objs, n);
}

void queues_alien_drain(struct front *f, unsigned int local, unsigned int node, bool wait)
{
	struct queue *aliens = load_acquire(&queues_of(f)->node[local].alien);
	void *objs[QUEUES_ALIEN_LIMIT];
	unsigned int n;

	if (!aliens || !load_relaxed(&aliens[node].avail))
		return;
	if (wait)
		lock_acquire(&aliens[node].lock);
	else if (!lock_try(&aliens[node].lock))
		return;
	n = take_all_locked(&aliens[node], objs);
	lock_release(&aliens[node].lock);
	send_home(f, node, objs, n);
}

/* ---- all nodes ------------------------------------------------------------------------------- */

unsigned long queues_held_shared(struct front *f)
{
	const struct queues *q = queues_of(f);
	unsigned long held = 0;

	for (unsigned int node = 0; node < q->nr_nodes; node++)
		held += load_relaxed(&q->node[node].shared.avail);
	return held;
}

unsigned long queues_held_alien(struct front *f)
{
	const struct queues *q = queues_of(f);
	unsigned long held = 0;

	for (unsigned int local = 0; local < q->nr_nodes; local++) {
		struct queue *aliens = load_acquire(&q->node[local].alien);

		for (unsigned int node = 0; aliens && node < q->nr_nodes; node++)
			held += load_relaxed(&aliens[node].avail);
	}
	return held;
}

void queues_nodes_init(struct front *f)
{
	struct queues *q = queues_of(f);
	uint64_t now = queues_clock();

	for (unsigned int node = 0; node < q->nr_nodes; node++) {
		lock_init(&q->node[node].shared.lock, RANK_DEPOT);
		/* spread over time, as the kernel does by the cache's address */
		q->node[node].next_reap =
			now + QUEUES_REAP_NODE_MS + f->id * 61u % QUEUES_REAP_NODE_MS;
	}
}

void queues_nodes_destroy(struct front *f)
{
	struct queues *q = queues_of(f);

	for (unsigned int node = 0; node < q->nr_nodes; node++) {
		queues_shared_drain(f, node);
		meta_free(q->node[node].alien, aliens_bytes(q));
		q->node[node].alien = NULL;
	}
}

/*
 * Alien arrays are made under the shared lock (aliens_of), so that one is taken before theirs and
 * released after them. Nobody takes it while holding one of theirs: fork cannot deadlock.
 */
void queues_nodes_each_lock(struct front *f, void (*act)(struct lock *l))
{
	struct queues *q = queues_of(f);
	bool taking = act == lock_fork_prepare;

	for (unsigned int local = 0; local < q->nr_nodes; local++) {
		struct queues_node *n = &q->node[local];

		if (taking)
			act(&n->shared.lock);
		for (unsigned int node = 0; n->alien && node < q->nr_nodes; node++)
			act(&n->alien[node].lock);
		if (!taking)
			act(&n->shared.lock);
	}
}

static void check_queue(struct front *f, const struct queue *queue, unsigned int node)
{
	CHECK(queue->avail <= queue->limit);
	for (unsigned int i = 0; i < queue->avail; i++) {
		const struct page *page = page_head_of(queue->entry[i]);

		CHECK(page && page->node == node);
		CHECK(page->type != PAGE_SLAB || page->engine == f->engine);
	}
}

void queues_nodes_check(struct front *f)
{
	const struct queues *q = queues_of(f);

	for (unsigned int local = 0; local < q->nr_nodes; local++) {
		const struct queue *aliens = q->node[local].alien;

		check_queue(f, &q->node[local].shared, local);
		CHECK(!aliens || !aliens[local].avail);
		for (unsigned int node = 0; aliens && node < q->nr_nodes; node++)
			check_queue(f, &aliens[node], node);
	}
}
