/* SPDX-License-Identifier: MIT */
/*
 * front/queues.c - a LIFO array of objects for each CPU, filled in batches (spec 3.6, 3.8)
 *
 * Data:       {top, bottom, end, touched} of struct kmem_cache_cpu; struct queue_array behind them.
 * Invariants: front/queues.h. Checked by queues_check().
 * Locks:      kmem_cache_cpu.lock (RANK_CPUSLAB): bottom and end change under it only, and so does
 *             top but for the two hit paths. Held over the node's shared lock and a fence, never
 *             over a call of the engine.
 * Flow:       called through front_queues_ops; calls front/percpu.c, front/queues_claim.c,
 *             front/queues_node.c, engine->ops.
 *
 * Contract. A hit pops the newest object of the running CPU's array, or pushes onto it, in one step
 * that any interruption undoes. All else claims the array first: lock, then top becomes STOPPED and
 * its value is kept in struct queue_claim. Between that and queues_claim_release(), a store of top,
 * nobody else writes top: no hit begins with STOPPED, and none commits that began with another
 * value.
 *
 *     hit alloc   { top == t && *t == obj, t != STOPPED }      -> top = t - 8
 *     hit free    { top == t && end == e,  t < e }             -> t[1] = obj, top = t + 8
 *     take        on the CPU itself   (lock) { }               -> top = STOPPED   (percpu_xchg)
 *     seize       from any CPU        (lock) top = STOPPED, fence          (percpu_stop_xchg)
 *     release     (lock) entries, bottom, end, then top with release
 *
 * A thread that took its CPU's array may be moved away at once; it goes on holding lock and array.
 * The hits of the CPU that it has left find STOPPED, take the slow path and wait for the lock.
 *
 * Who may run at the same time as whom on one CPU's array. S: sequences of one CPU exclude one
 * another, and one that is interrupted starts over; L: both hold the lock; F: the fence.
 *
 *                  hit alloc   hit free   take   seize   release
 *     hit alloc        S           S        S      F        *
 *     hit free         S           S        S      F        *
 *     take             S           S        L      L        L
 *     seize            F           F        L      L        L
 *
 * S, take: whoever runs the sequence of take on a CPU has interrupted every hit under way there.
 * F: percpu_stop_xchg() returns top as the last hit left it, once no hit is in flight (percpu.c).
 * *: hits read top with acquire: who sees the new top sees the entries, bottom and end behind it.
 *
 * ABA. A hit alloc that finds t in top again after t was popped and pushed compares the entry as
 * well, so obj is the newest object whatever happened in between. A hit free needs t to be below
 * the end of this very array: t and e were read one after the other, maybe of two arrays, but the
 * sequence compares both. What a hit reads before its sequence may be of an array that was
 * replaced: such arrays stay mapped until the cache is destroyed, and the sequence rejects what was
 * read there.
 *
 * Progress: a hit fails only if another thread of this CPU succeeded or this one was interrupted; a
 * take only if the thread was moved.
 */
#include "front/queues.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "engine/mistake.h"
#include "engine/placement.h"
#include "os/time/clock.h"
#include "os/cpu/cpu.h"
#include "os/cpu/nodes.h"
#include "page/meta.h"

bool front_queues_noalien;
uint64_t (*queues_clock)(void) = os_clock_ms;

#define COPY_MIN 4u	    /* objects; a claim for fewer takes longer than single hits */
#define UNTOUCHED_BATCH 16u /* objects that a CPU gets that did not allocate for a while */

/* ---- hits ------------------------------------------------------------------------------------ */

/* Several nodes: is the CPU of that one? NUMA_NO_NODE: any CPU. */
static inline bool cpu_is_of(int cpu, int node)
{
	return node < 0 || os_cpu_to_node((unsigned int)cpu) == (unsigned int)node;
}

/* The newest object of the running CPU if that is of node; NULL: take the slow path. */
static inline void *pop(struct front *f, int node)
{
	for (;;) {
		int cpu = percpu_cpu();
		struct kmem_cache_cpu *c;
		uintptr_t top;
		uintptr_t obj;

		if (unlikely(cpu < 0) || !cpu_is_of(cpu, node))
			return NULL;
		c = percpu_state(f->id, cpu);
		top = load_acquire(&c->top); /* pairs with queues_claim_release */
		if (unlikely(top == QUEUES_STOPPED))
			return NULL;
		obj = load_relaxed((uintptr_t *)top);
		if (unlikely(!obj))
			return NULL;
		if (likely(!percpu_cmp2_store(cpu, &c->top, top, (uintptr_t *)top, obj,
					      top - sizeof(void *)))) {
			/* the thread may have left that CPU by now: a hint */
			store_relaxed(&c->touched, 1);
			return (void *)obj;
		}
	}
}

/* false: full, or the object is another node's, or it lies on top already (a double free). */
static inline bool push(struct front *f, void *obj)
{
	for (;;) {
		int cpu = percpu_cpu();
		struct kmem_cache_cpu *c;
		uintptr_t top;
		uintptr_t end;

		if (unlikely(cpu < 0))
			return false;
		if (os_topology.nr_nodes > 1 && !cpu_is_of(cpu, (int)queues_node_of(obj)))
			return false;
		c = percpu_state(f->id, cpu);
		top = load_acquire(&c->top); /* pairs with queues_claim_release */
		end = load_relaxed(&c->end);
		if (unlikely(top >= end)) /* STOPPED is above all */
			return false;
		if (unlikely(load_relaxed((uintptr_t *)top) == (uintptr_t)obj))
			return false;
		if (likely(!percpu_cmp2_push(cpu, &c->top, top, &c->end, end,
					     (uintptr_t *)(top + sizeof(void *)), (uintptr_t)obj)))
			return true;
	}
}

/* ---- alloc ----------------------------------------------------------------------------------- */

static void *engine_one(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	return f->engine->ops->refill(f->engine, &obj, 1, gfp, node) ? obj : NULL;
}

/*
 * Objects of this node only, since its arrays may hold no others. Fewer than wanted, also 0: other
 * nodes may still have memory.
 */
static unsigned int refill_local(struct front *f, unsigned int node, void **objs, unsigned int want,
				 gfp_t gfp)
{
	if (os_topology.nr_nodes > 1)
		gfp |= __GFP_THISNODE | __GFP_NOWARN;
	return f->engine->ops->refill(f->engine, objs, want, gfp, (int)node);
}

/* Objects of a refill for node go into the running CPU's array; the rest goes back. */
static void keep(struct front *f, unsigned int node, void **objs, unsigned int n)
{
	unsigned int kept = 0;
	struct queue_claim claim;

	if (queues_claim_take(f, &claim)) {
		if (claim.node == node)
			kept = MIN(n, claim_space(&claim));
		queues_claim_put(&claim, objs, kept);
		queues_claim_release(&claim);
	}
	queues_flush(f, objs + kept, n - kept);
}

static void reverse(void **objs, unsigned int n)
{
	for (unsigned int i = 0; i < n / 2; i++) {
		void *swapped = objs[i];

		objs[i] = objs[n - 1 - i];
		objs[n - 1 - i] = swapped;
	}
}

static void *alloc_from_engine(struct front *f, gfp_t gfp, unsigned int node, unsigned int want)
{
	void *objs[QUEUES_BATCH];
	unsigned int n = refill_local(f, node, objs, want, gfp);

	if (!n) {
		if (os_topology.nr_nodes == 1 || gfp & __GFP_THISNODE)
			return NULL;
		return engine_one(f, gfp, (int)node); /* then from wherever there is memory */
	}
	/*
	 * Those that SLUB formatted last go to the bottom: nobody may ever touch them
	 * (engine/slub/free.c, unformat)
	 */
	if (engine_is(f->engine, &slub_ops))
		reverse(objs, n);
	if (n > 1)
		keep(f, node, objs, n - 1);
	return objs[n - 1];
}

/* Spec 3.6: how many objects a refill moves. */
static unsigned int batch_of(const struct queues *q, const struct queue_claim *claim)
{
	unsigned int batch = load_relaxed(&q->batchcount);

	batch = MIN(batch, QUEUES_BATCH);
	if (!load_relaxed(&claim->c->touched))
		batch = MIN(batch, UNTOUCHED_BATCH);
	return MAX(MIN(batch, (unsigned int)(claim->end - claim->bottom)), 1u);
}

static void refill_from_shared(struct front *f, struct queue_claim *claim, unsigned int batch)
{
	void *objs[QUEUES_BATCH];
	unsigned int n = queues_shared_take(f, claim->node, objs, MIN(batch, claim_space(claim)));

	queues_claim_put(claim, objs, n);
}

/* node: the CPU must be of that one. NUMA_NO_NODE with one node. */
static noinline void *alloc_slow(struct front *f, gfp_t gfp, int node)
{
	struct queue_claim claim;
	unsigned int batch;
	void *obj = NULL;

	if (!queues_claim_take(f, &claim))
		return engine_one(f, gfp, node);
	if (node >= 0 && claim.node != (unsigned int)node) { /* moved to another node */
		queues_claim_release(&claim);
		return engine_one(f, gfp, node);
	}
	batch = batch_of(queues_of(f), &claim);
	if (!claim_avail(&claim))
		refill_from_shared(f, &claim, batch);
	if (claim_avail(&claim))
		obj = *claim.top--;
	store_relaxed(&claim.c->touched, 1);
	queues_claim_release(&claim);
	return obj ? obj : alloc_from_engine(f, gfp, claim.node, batch);
}

/* Only objects of the local node come from the arrays. */
static void *alloc_of_node(struct front *f, gfp_t gfp, unsigned int node)
{
	void *obj;

	if (node != os_current_node()) {
		count_event(&queues_of(f)->node_allocs);
		return engine_one(f, gfp, (int)node);
	}
	obj = pop(f, (int)node);
	return obj ? obj : alloc_slow(f, gfp, (int)node);
}

/* Several nodes: the node is the requested one, or that of the policy (spec 3.10). */
static void *alloc_placed(struct front *f, gfp_t gfp, int node)
{
	const struct os_place place = placement_next(f->engine, gfp, node);
	const uint8_t *near = os_nodes.order[place.first];
	void *obj = NULL;

	if (place.nodes == OS_ALL_NODES)
		return alloc_of_node(f, gfp, place.first);
	/* the engine is not told what the thread is bound to */
	gfp |= __GFP_THISNODE;
	for (unsigned int i = 0; !obj && i < os_topology.nr_nodes; i++)
		if (place.nodes & os_node_bit(near[i]))
			obj = alloc_of_node(f, gfp, near[i]);
	return obj;
}

static noinline void *alloc_by_node(struct front *f, gfp_t gfp, int node)
{
	const struct os_policy *policy;
	void *obj;

	do {
		policy = placement_policy(f->engine);
		obj = alloc_placed(f, gfp, node);
	} while (unlikely(!obj) && placement_changed(f->engine, policy));
	return obj;
}

static void *queues_alloc(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	if (unlikely(os_topology.nr_nodes > 1))
		return alloc_by_node(f, gfp, node);
	obj = pop(f, NUMA_NO_NODE);
	return likely(obj) ? obj : alloc_slow(f, gfp, NUMA_NO_NODE);
}

/* Copies the newest ones out of the running CPU's array (slide 35). */
static unsigned int queues_take_local(struct front *f, unsigned int nr, void **p)
{
	int cpu = percpu_cpu();
	struct queue_claim claim;
	unsigned int n;

	/* a hint: a CPU without an array gets none for this */
	if (cpu < 0 || !load_relaxed(&percpu_state(f->id, cpu)->bottom) ||
	    !queues_claim_take(f, &claim))
		return 0;
	nr = MIN(nr, claim_avail(&claim));
	for (n = 0; n < nr; n++)
		p[n] = *claim.top--;
	store_relaxed(&claim.c->touched, 1);
	queues_claim_release(&claim);
	return n;
}

/* Do single allocations of this thread come from its CPU's array? */
static bool allocates_here(const struct front *f)
{
	if (likely(os_topology.nr_nodes == 1))
		return true;
	return placement_is_local(f->engine, os_current_node());
}

/* What is in the array, then one by the slow path, which fills the array again, and so on. */
static unsigned int queues_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	unsigned int n = 0;

	while (n < nr) {
		if (nr - n >= COPY_MIN && allocates_here(f))
			n += queues_take_local(f, nr - n, p + n);
		if (n == nr)
			break;
		p[n] = queues_alloc(f, gfp, NUMA_NO_NODE);
		if (!p[n])
			break;
		n++;
	}
	return n;
}

/* ---- free ------------------------------------------------------------------------------------ */

/*
 * Spec 3.8 point 3: makes space by moving the oldest objects to the shared array, or else into objs
 * for the engine. Returns how many are in objs.
 */
static unsigned int flush_oldest(struct front *f, struct queue_claim *claim, void **objs)
{
	unsigned int batch = load_relaxed(&queues_of(f)->batchcount);
	unsigned int n = MIN(MIN(batch, QUEUES_BATCH), claim_avail(claim));
	unsigned int moved = queues_shared_put(f, claim->node, claim->bottom + 1, n);

	queues_claim_oldest(claim, objs, moved ? moved : n);
	return moved ? 0 : n;
}

static noinline void free_slow(struct front *f, void *obj)
{
	void *objs[QUEUES_BATCH];
	unsigned int n = 0;
	struct queue_claim claim;
	bool remote, again;

	if (!queues_claim_take(f, &claim)) {
		queues_flush(f, &obj, 1);
		return;
	}
	remote = queues_is_remote(obj, claim.node);
	/*
	 * Spec 3.8 point 5, which the kernel checks in hardened builds only: here the check costs
	 * nothing. The second free is dropped.
	 */
	again = !remote && *claim.top == obj;
	if (!remote && !again) {
		if (!claim_space(&claim))
			n = flush_oldest(f, &claim, objs);
		queues_claim_put(&claim, &obj, 1);
	}
	queues_claim_release(&claim);
	if (remote)
		queues_alien_put(f, claim.node, queues_node_of(obj), obj);
	if (unlikely(again))
		engine_mistake_now(f->engine, obj, ENGINE_FREE_AGAIN);
	queues_flush(f, objs, n);
}

/* That an object is of another node is found out without a claim. */
static noinline void free_miss(struct front *f, void *obj)
{
	int cpu = percpu_cpu();

	if (cpu >= 0 && queues_is_remote(obj, os_cpu_to_node((unsigned int)cpu)))
		queues_alien_put(f, os_cpu_to_node((unsigned int)cpu), queues_node_of(obj), obj);
	else
		free_slow(f, obj);
}

static void queues_free(struct front *f, void *obj)
{
	if (unlikely(!push(f, obj)))
		free_miss(f, obj);
}

/*
 * Copies objects onto the running CPU's array as far as it has space for them, they are of its
 * node, and none is freed twice in a row. Returns how many.
 */
static unsigned int give_local(struct front *f, unsigned int nr, void **p)
{
	struct queue_claim claim;
	unsigned int n = 0;

	if (!queues_claim_take(f, &claim))
		return 0;
	nr = MIN(nr, claim_space(&claim));
	while (n < nr && !queues_is_remote(p[n], claim.node) && *claim.top != p[n])
		queues_claim_put(&claim, &p[n++], 1);
	queues_claim_release(&claim);
	return n;
}

/* To the array, then one by the slow path, which makes space in the array, and so on. */
static void queues_free_bulk(struct front *f, unsigned int nr, void **p)
{
	unsigned int n = 0;

	while (n < nr) {
		if (nr - n >= COPY_MIN)
			n += give_local(f, nr - n, p + n);
		if (n < nr)
			queues_free(f, p[n++]);
	}
}

/* ---- the whole front ------------------------------------------------------------------------- */

/* Spec 3.5. */
static unsigned int limit_of(unsigned int size)
{
	if (size > 131072)
		return 1;
	if (size > PAGE_SIZE)
		return 8;
	if (size > 1024)
		return 24;
	return size > 256 ? 54 : 120;
}

static size_t queues_bytes(unsigned int nr_nodes)
{
	return sizeof(struct queues) + nr_nodes * sizeof(struct queues_node);
}

/* Of the node's array, in batches, unless the program says another number. */
static unsigned int shared_of(unsigned int size)
{
	return size <= PAGE_SIZE && os_topology.nr_cpu_ids > 1 ? 8 : 0;
}

/* capacity: the limit, if not 0. */
static int queues_init(struct front *f, unsigned int capacity)
{
	unsigned int limit = capacity ? capacity : limit_of(f->engine->size);
	struct queues *q = meta_alloc(queues_bytes(os_topology.nr_nodes));

	if (!q)
		return -ENOMEM;
	f->capacity = 0;
	f->state = q;
	q->nr_nodes = os_topology.nr_nodes;
	queues_nodes_init(f);
	front_stop_words(f->id);
	queues_cpus_init(f);
	queues_set_limits(f, limit, (limit + 1) / 2, shared_of(f->engine->size));
	return 0;
}

/* The limits that queues_init() would give it. There is no queue without space. */
static int queues_set_capacity(struct front *f, unsigned int objects)
{
	unsigned int limit = objects ? objects : limit_of(f->engine->size);

	return queues_tune(f, limit, limit / 2 + limit % 2, shared_of(f->engine->size));
}

static void queues_destroy(struct front *f)
{
	struct queues *q = queues_of(f);

	front_stop_words(f->id);
	queues_cpus_destroy(f);
	queues_nodes_destroy(f);
	meta_free(q, queues_bytes(q->nr_nodes));
	f->state = NULL;
}

static unsigned long queues_held(struct front *f)
{
	return queues_held_cpus(f) + queues_held_shared(f) + queues_held_alien(f);
}

static void queues_each_lock(struct front *f, void (*act)(struct lock *l))
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		act(&percpu_state(f->id, cpu)->lock);
	queues_nodes_each_lock(f, act);
	act(&queues_of(f)->retired_lock);
}

static void queues_check(struct front *f)
{
	const struct queues *q = queues_of(f);

	CHECK(q->limit >= 1 && q->batchcount >= 1 && q->batchcount <= q->limit);
	queues_cpus_check(f);
	queues_nodes_check(f);
}

const struct front_ops front_queues_ops = {
	.name = TEXT_IN_CORES("queues"),
	.init = queues_init,
	.alloc = queues_alloc,
	.free = queues_free,
	.alloc_bulk = queues_alloc_bulk,
	.free_bulk = queues_free_bulk,
	.take_local = queues_take_local,
	.drain = queues_drain,
	.reap = queues_reap,
	.tune = queues_tune,
	.set_capacity = queues_set_capacity,
	.held = queues_held,
	.destroy = queues_destroy,
	.each_lock = queues_each_lock,
	.check = queues_check,
};
