/* SPDX-License-Identifier: MIT */
/*
 * front/queues_idle.c - drain, reap and tune, on the queues of all CPUs (spec 3.5, 3.9)
 *
 * Data:       none of its own.
 * Invariants: none.
 * Locks:      callers hold the registry lock: one drain, reap or tune of a cache at a time. Hits
 *             and slow paths go on meanwhile, see the table in front/queues.c.
 * Flow:       called by queues.c and through front_queues_ops; calls front/queues.c,
 *             front/queues_node.c, engine->ops.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "front/queues.h"
#include "os/cpu/cpu.h"

/* Does that CPU hold no object? A hint: the CPU goes on meanwhile. */
static bool is_empty(struct front *f, int cpu)
{
	const struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
	uintptr_t bottom = load_relaxed(&c->bottom);

	return !bottom || load_relaxed(&c->top) == bottom;
}

static void drain_cpu(struct front *f, int cpu)
{
	void *objs[QUEUES_BATCH];
	struct queue_claim claim;
	unsigned int n;

	do {
		if (is_empty(f, cpu) || !queues_claim_seize(f, cpu, &claim))
			return;
		n = MIN(claim_avail(&claim), QUEUES_BATCH);
		queues_claim_oldest(&claim, objs, n);
		queues_claim_release(&claim);
		queues_flush(f, objs, n);
	} while (n == QUEUES_BATCH);
}

/* In the order in which objects move on: CPUs' arrays, alien arrays, shared ones. */
void queues_drain(struct front *f)
{
	const struct queues *q = queues_of(f);

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		drain_cpu(f, cpu);
	for (unsigned int local = 0; local < q->nr_nodes; local++)
		for (unsigned int node = 0; node < q->nr_nodes; node++)
			queues_alien_drain(f, local, node, true);
	for (unsigned int node = 0; node < q->nr_nodes; node++)
		queues_shared_drain(f, node);
}

/* ---- reap ------------------------------------------------------------------------------------ */

/* drain_array of spec 3.9: an array used since the last reap is skipped once. */
static void reap_cpu(struct front *f, int cpu)
{
	struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
	void *objs[QUEUES_BATCH];
	struct queue_claim claim;
	unsigned int n;

	if (is_empty(f, cpu))
		return;
	if (load_relaxed(&c->touched)) {
		store_relaxed(&c->touched, 0);
		return;
	}
	if (!queues_claim_seize(f, cpu, &claim))
		return;
	n = MIN(queues_reap_count((unsigned int)(claim.end - claim.bottom), claim_avail(&claim)),
		QUEUES_BATCH);
	queues_claim_oldest(&claim, objs, n);
	queues_claim_release(&claim);
	queues_flush(f, objs, n);
}

static void reap_node(struct front *f, unsigned int node)
{
	struct queues_node *n = &queues_of(f)->node[node];
	uint64_t now = queues_clock();

	if (now < n->next_reap)
		return;
	n->next_reap = now + QUEUES_REAP_NODE_MS;
	queues_shared_reap(f, node);
	if (f->engine->ops->reap)
		f->engine->ops->reap(f->engine, node);
}

void queues_reap(struct front *f, unsigned int cpu)
{
	struct kmem_cache_cpu *c = percpu_state(f->id, (int)cpu);
	unsigned int local = os_cpu_to_node(cpu);

	queues_alien_drain(f, local, c->reap_node, false);
	c->reap_node = (c->reap_node + 1) % queues_of(f)->nr_nodes;
	reap_cpu(f, (int)cpu);
	reap_node(f, local);
}

/* ---- tune ------------------------------------------------------------------------------------ */

void queues_set_limits(struct front *f, unsigned int limit, unsigned int batchcount,
		       unsigned int shared)
{
	struct queues *q = queues_of(f);

	store_relaxed(&q->limit, limit);
	store_relaxed(&q->batchcount, batchcount);
	store_relaxed(&q->shared, shared);
	if (f->engine->ops->tune)
		f->engine->ops->tune(f->engine, batchcount);
}

/* Drains and retires a CPU's array; its next one has the new limit. */
static void replace_cpu(struct front *f, int cpu)
{
	void *objs[QUEUES_BATCH];
	struct queue_claim claim;
	unsigned int n;

	drain_cpu(f, cpu); /* most of the work before the CPU has to wait */
	while (queues_claim_seize(f, cpu, &claim)) {
		n = MIN(claim_avail(&claim), QUEUES_BATCH);
		queues_claim_oldest(&claim, objs, n);
		if (!claim_avail(&claim)) {
			queues_claim_retire(f, &claim);
			queues_flush(f, objs, n);
			return;
		}
		queues_claim_release(&claim);
		queues_flush(f, objs, n);
	}
}

/*
 * The new limits are in force for an array that is made after them, and an array is made under the
 * CPU's lock: once replace_cpu() has held that, the CPU has none of the old limit.
 */
int queues_tune(struct front *f, unsigned int limit, unsigned int batchcount, unsigned int shared)
{
	if (limit < 1 || batchcount < 1 || batchcount > limit || limit > QUEUES_MAX_LIMIT)
		return -EINVAL;
	if (shared > QUEUES_MAX_SHARED / batchcount)
		return -EINVAL;
	queues_set_limits(f, limit, batchcount, shared);
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		replace_cpu(f, cpu);
	for (unsigned int node = 0; node < queues_of(f)->nr_nodes; node++)
		queues_shared_drain(f, node);
	return 0;
}
