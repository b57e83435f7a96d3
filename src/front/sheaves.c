/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves.c - objects from a CPU's main sheaf, and into it (spec A3, A4)
 *
 * Why:        docs/adr/0049.
 * Data:       see front/sheaves.h; the tables front_sheaves_ops and front_sheaves_618_ops.
 * Invariants: see front/sheaves.h. Checked by sheaves_check().
 * Locks:      sheaf_lock of the running CPU, which is only tried: who does not get it goes past the
 *             sheaves, and waits for nobody.
 * Flow:       called by sheaves_bulk.c, sheaves_lent.c, sheaves_rcu.c and sheaves_swap.c; calls
 *             sheaves_swap.c, sheaves_all.c, sheaves_barn.c, sheaves_bulk.c,
 *             sheaves_capacity.c, and the front below: none.c (7.0), cpuslab.c (6.18).
 *
 * Contract. Everything of a CPU's sheaves changes under its sheaf_lock, and everything of a barn
 * under its lock: no step is lock-free. A thread that holds a CPU's lock may be moved to another
 * CPU, or be preempted; those that run there meanwhile find the lock held and go past the sheaves.
 * A sheaf that is taken out of its place belongs to the thread alone, until it puts it somewhere
 * under the lock of that place.
 *
 * front.closed is looked at under the lock of the place. front_close() sets it, and then drains:
 * it takes each lock once. Who had the lock before that has left what the drain takes away; who has
 * it after that sees closed, since the lock was released by the drain in between, and puts nothing
 * there.
 *
 * The capacity changes likewise. A sheaf keeps the one that it was made with, and every access goes
 * by that: no thread is in danger from a sheaf of before. sheaves_set_capacity() stores the new
 * one, and then takes each lock once, first those of barns, then those of CPUs, and frees what it
 * finds.
 * Whoever puts a sheaf somewhere compares its capacity with the front's under the lock of that
 * place, and flushes and frees another one instead. Under a lock that the change has had, the new
 * capacity is seen, so that no sheaf of before comes into that place any more. One moves from place
 * to place without being compared only from a barn, or within a CPU, to a CPU whose lock is held
 * all the while: barns have none of before when the change takes the first CPU's lock. A sheaf that
 * is lent, or waits for RCU, is compared when it comes back.
 *
 * A signal handler that interrupts a thread with such a lock held does not come here
 * (page/nested.h).
 */
#include "front/sheaves.h"

#include <errno.h>

#include "base/assert.h"
#include "base/bits.h"
#include "page/meta.h"
#include "page/nested.h"

void sheaves_leave(struct sheaves_at *at)
{
	lock_release(&at->c->sheaf_lock);
	nested_call(); /* frees that were deferred meanwhile are done now */
}

bool sheaves_enter_with(struct front *f, struct sheaves_at *at, const struct sheaf *sheaf)
{
	if (!sheaves_enter(f, at))
		return false;
	if (likely(sheaf_is_current(sheaf)))
		return true;
	sheaves_leave(at);
	return false;
}

/* ---- alloc ----------------------------------------------------------------------------------- */

/* Spec A3a: is the CPU of another node than the one that was asked for? */
static inline bool is_elsewhere(const struct sheaves_at *at, int node)
{
	return node >= 0 && at->node != (unsigned int)node;
}

/* node: that of the object; -1: any. NULL: the caller goes past the sheaves. */
static always_inline void *pop(struct front *f, gfp_t gfp, int node)
{
	struct sheaves_at at;
	struct sheaf *main;
	void *obj = NULL;

	if (unlikely(!sheaves_enter(f, &at)))
		return NULL;
	main = at.c->main;
	if (likely(!is_elsewhere(&at, node))) {
		if (unlikely(!sheaf_has_objects(main))) {
			if (!sheaves_replace_empty(f, &at, gfp))
				return NULL;
			main = at.c->main;
		}
		obj = main->obj[main->nr - 1];
		/* the thread may have come to another node, and a refill may have been there */
		if (unlikely(node >= 0) &&
		    (is_elsewhere(&at, node) || sheaves_is_remote(obj, at.node)))
			obj = NULL;
		else
			sheaf_pop(main);
	}
	sheaves_leave(&at);
	sheaves_count(f, obj ? sheaves_of(f)->era->alloc : ALLOC_NODE_MISMATCH, 1);
	return obj;
}

static noinline void *alloc_past(struct front *f, gfp_t gfp, int node)
{
	const struct sheaves_era *era = sheaves_of(f)->era;

	if (era->counts_slow)
		sheaves_count(f, ALLOC_SLOWPATH, 1);
	return era->below->alloc(f, gfp, node);
}

static void *sheaves_alloc(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	if (unlikely(node >= (int)os_topology.nr_nodes))
		node = NUMA_NO_NODE; /* spec 4.8a */
	obj = pop(f, gfp, node);
	return likely(obj) ? obj : alloc_past(f, gfp, node);
}

/* ---- free ------------------------------------------------------------------------------------ */

/* false: the caller goes past the sheaves. */
static always_inline bool push(struct front *f, void *obj)
{
	struct sheaves_at at;
	bool here;

	if (unlikely(!sheaves_enter(f, &at)))
		return false;
	here = !sheaves_is_remote(obj, at.node);
	if (likely(here)) {
		if (unlikely(!sheaf_has_space(at.c->main))) {
			if (!sheaves_replace_full(f, &at))
				return false;
			here = !sheaves_is_remote(obj, at.node);
		}
		if (likely(here))
			sheaf_push(at.c->main, obj);
	}
	sheaves_leave(&at);
	if (likely(here))
		sheaves_count(f, sheaves_of(f)->era->free, 1);
	return here;
}

static void sheaves_free(struct front *f, void *obj)
{
	if (unlikely(!push(f, obj)))
		sheaves_below(f)->free(f, obj);
}

/* ---- the whole front ------------------------------------------------------------------------- */

static size_t sheaves_bytes(unsigned int nr_nodes)
{
	return sizeof(struct sheaves) + nr_nodes * sizeof(struct barn);
}

static int init(struct front *f, unsigned int capacity, const struct sheaves_era *era)
{
	struct sheaves *s;
	int ret;

	if (capacity > SHEAVES_MAX_CAPACITY)
		return -EINVAL;
	ret = era->below->init(f, 0);
	if (ret)
		return ret;
	s = meta_alloc(sheaves_bytes(os_topology.nr_nodes));
	if (!s) {
		era->below->destroy(f);
		return -ENOMEM;
	}
	s->era = era;
	s->nr_nodes = os_topology.nr_nodes;
	s->capacity = capacity;
	if (era->by_table || !capacity)
		s->capacity = MAX(capacity, sheaves_capacity_by_size(f->engine->size));
	f->state = s;
	sheaves_barns_init(f);
	sheaves_cpus_init(f);
	return 0;
}

static void sheaves_destroy(struct front *f)
{
	struct sheaves *s = sheaves_of(f);

	sheaves_barns_drain(f);
	sheaves_cpus_destroy(f);
	s->era->below->destroy(f);
	meta_free(s, sheaves_bytes(s->nr_nodes));
	f->state = NULL;
}

static unsigned long sheaves_held(struct front *f)
{
	return sheaves_held_cpus(f) + sheaves_held_barns(f) + sheaves_below(f)->held(f);
}

static void sheaves_each_lock(struct front *f, void (*act)(struct lock *l))
{
	struct sheaves *s = sheaves_of(f);

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		act(&percpu_state(f->id, cpu)->sheaf_lock);
	for (unsigned int node = 0; node < s->nr_nodes; node++)
		act(&s->barn[node].lock);
	if (s->era->below->each_lock)
		s->era->below->each_lock(f, act);
}

static void sheaves_check(struct front *f)
{
	CHECK(sheaves_capacity(f) >= 1);
	CHECK(sheaves_capacity(f) <= SHEAVES_MAX_CAPACITY);
	sheaves_cpus_check(f);
	sheaves_barns_check(f);
	sheaves_below(f)->check(f);
}

/* Spec A9: sheaves for all caches, and no CPU slabs. */
static int init_70(struct front *f, unsigned int capacity)
{
	static const struct sheaves_era era = {
		.below = &front_none_ops,
		.alloc = ALLOC_FASTPATH,
		.free = FREE_FASTPATH,
		.by_table = true,
		.counts_slow = true,
	};

	return init(f, capacity, &era);
}

/* Sheaves for who asks for them, over CPU slabs, whose counters have their old meanings. */
static int init_618(struct front *f, unsigned int capacity)
{
	static const struct sheaves_era era = {
		.below = &front_cpuslab_ops,
		.alloc = ALLOC_CPU_SHEAF,
		.free = FREE_CPU_SHEAF,
	};

	return init(f, capacity, &era);
}

#define SHEAVES_OPS(is, makes)                                                    \
	{                                                                         \
		.name = TEXT_IN_CORES(is), .init = makes, .alloc = sheaves_alloc, \
		.free = sheaves_free, .alloc_bulk = sheaves_alloc_bulk,           \
		.free_bulk = sheaves_free_bulk, .drain = sheaves_drain,           \
		.set_capacity = sheaves_set_capacity, .held = sheaves_held,       \
		.destroy = sheaves_destroy, .each_lock = sheaves_each_lock,       \
		.check = sheaves_check,                                           \
	}

const struct front_ops front_sheaves_ops = SHEAVES_OPS("sheaves", init_70);
const struct front_ops front_sheaves_618_ops = SHEAVES_OPS("sheaves:6.18", init_618);
