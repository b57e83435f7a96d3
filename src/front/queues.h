/* SPDX-License-Identifier: MIT */
/*
 * front/queues.h - SLAB's queues: a CPU's array, the node's shared array, alien arrays (spec 3.1)
 *
 * Why:        docs/adr/0009.
 * Data:       struct queues (front.state): the limits, and for each node its shared array and the
 *             aliens of its CPUs. Of each CPU: top, bottom, end, touched of struct kmem_cache_cpu.
 * Invariants: bottom <= top <= end unless top is stopped; the entry at bottom is NULL, those above
 *             it up to top are objects. With several nodes: an array and a shared array hold
 *             objects of their own node only, alien[n] objects of node n. queues_check().
 * Locks:      kmem_cache_cpu.lock and alien locks (RANK_CPUSLAB) > shared locks (RANK_DEPOT).
 * Flow:       included by queues.c, queues_claim.c, queues_idle.c, queues_node.c,
 *             cache/config/options.c and inspect/; inspect/ reads the structures from outside.
 *
 * A reader from outside finds
 *     what a CPU holds:   state = percpu_state(id, cpu) of a cache whose front.state is not NULL:
 *                         (top - bottom) / 8 objects; 0 if bottom is 0 or top is QUEUES_STOPPED
 *     what a node holds:  struct queues at front.state, nr_nodes entries of node[]: shared.avail,
 *                         and alien[0 .. nr_nodes-1].avail where alien is not NULL
 *     the tunables:       limit, batchcount, shared of struct queues (the columns of spec 9.1)
 */
#ifndef FRONT_QUEUES_H
#define FRONT_QUEUES_H

#include "front/front.h"
#include "os/cpu/cpu.h"

#define QUEUES_STOPPED (~(uintptr_t)0) /* top while the array is claimed, or missing */
#define QUEUES_BATCH 256u	/* objects that move in one step at most, whatever was tuned */
#define QUEUES_MAX_LIMIT 65536u /* objects in an array */
#define QUEUES_MAX_SHARED (16u * QUEUES_MAX_LIMIT) /* in a shared one */
#define QUEUES_ALIEN_LIMIT 12u
#define QUEUES_REAP_NODE_MS 4000u /* time between two reaps of a node's shared array */

/* A shared or an alien array: entry[0] is the coldest. All under lock; avail is read without. */
struct queue {
	struct lock lock;
	uint32_t avail;
	uint32_t limit;	  /* 0 until there is memory for entry */
	uint32_t touched; /* somebody took objects since the last reap */
	void **entry;
};

struct queues_node {
	struct queue shared;
	struct queue *alien; /* by node, the own one unused; NULL until first needed, then const */
	uint64_t next_reap;  /* ms of queues_clock; under the reaper's lock */
};

/* Memory of a CPU's array: entry[0] is NULL. Stays readable until the cache is destroyed. */
struct queue_array {
	struct queue_array *next; /* of queues.retired */
	uint32_t bytes;		  /* of this block, a power of two */
	void *entry[];
};

struct queues {
	/* spec 3.5; atomic, written by tune */
	uint32_t limit;
	uint32_t batchcount;
	uint32_t shared; /* the shared array has room for shared * batchcount objects */
	uint32_t nr_nodes;
	/* counts of spec 9.1; an update may be lost */
	unsigned long node_allocs;     /* objects from another node, past the arrays */
	unsigned long node_frees;      /* objects of another node */
	unsigned long alien_overflows; /* alien arrays that were full */
	struct lock retired_lock;
	/* arrays that were replaced, for the next CPU that needs one */
	struct queue_array *retired;
	struct queues_node node[];
};

/* No alien arrays (kernel: noaliencache). For caches of any age, from the next free on. */
extern bool front_queues_noalien;

/* Milliseconds: os_clock_ms(), or what a test puts here. */
extern uint64_t (*queues_clock)(void);

static inline struct queues *queues_of(const struct front *f)
{
	return f->state;
}

static inline unsigned int queues_node_of(const void *obj)
{
	return page_head_unchecked(obj)->node;
}

static inline bool queues_is_remote(const void *obj, unsigned int node)
{
	return os_topology.nr_nodes > 1 && queues_node_of(obj) != node;
}

/* Back to the engine. */
static inline void queues_flush(struct front *f, void **objs, unsigned int n)
{
	if (n)
		f->engine->ops->flush(f->engine, objs, n);
}

/* ---- queues_claim.c: a CPU's array claimed: lock held, top stopped, nobody else changes it --- */

struct queue_claim {
	struct kmem_cache_cpu *c;
	int cpu;
	unsigned int node;
	/* copies of c's; top is written back by queues_claim_release() */
	void **top;
	void **bottom;
	void **end;
};

static inline unsigned int claim_avail(const struct queue_claim *claim)
{
	return (unsigned int)(claim->top - claim->bottom);
}

static inline unsigned int claim_space(const struct queue_claim *claim)
{
	return (unsigned int)(claim->end - claim->top);
}

/* The running CPU's array; false: no CPU, or no memory for an array. */
bool queues_claim_take(struct front *f, struct queue_claim *claim);
/* Any CPU's, if it has one and can be fenced; true: release or retire must follow. */
bool queues_claim_seize(struct front *f, int cpu, struct queue_claim *claim);
void queues_claim_release(struct queue_claim *claim);
/*
 * Ends the claim and leaves the CPU without an array: its next slow path makes one of the new
 * limit.
 */
void queues_claim_retire(struct front *f, struct queue_claim *claim);
/* Moves the n oldest objects to objs; the rest moves down. */
void queues_claim_oldest(struct queue_claim *claim, void **objs, unsigned int n);
void queues_claim_put(struct queue_claim *claim, void *const *objs, unsigned int n);

/* Objects in the arrays of all CPUs. */
unsigned long queues_held_cpus(struct front *f);

void queues_cpus_init(struct front *f);
void queues_cpus_destroy(struct front *f);
void queues_cpus_check(struct front *f);

/* ---- queues_node.c ---- */

/* Up to n of the newest objects of the shared array, in order; marks it touched. */
unsigned int queues_shared_take(struct front *f, unsigned int node, void **objs, unsigned int n);
/* Puts objects on top of it, from the first on, until it is full. Returns how many. */
unsigned int queues_shared_put(struct front *f, unsigned int node, void *const *objs,
			       unsigned int n);
/* An object of another node than its freer's (spec 3.10). */
void queues_alien_put(struct front *f, unsigned int local, unsigned int node, void *obj);
/* The objects of one alien array go back to their node; wait false: not if its lock is held. */
void queues_alien_drain(struct front *f, unsigned int local, unsigned int node, bool wait);
/* All objects of a node's shared array to the engine, and its memory back. */
void queues_shared_drain(struct front *f, unsigned int node);
/* drain_array of spec 3.9. */
void queues_shared_reap(struct front *f, unsigned int node);
/* How many entries drain_array frees of an array with that limit. */
unsigned int queues_reap_count(unsigned int limit, unsigned int avail);

/* Objects in shared and in alien arrays of all nodes. */
unsigned long queues_held_shared(struct front *f);
unsigned long queues_held_alien(struct front *f);

void queues_nodes_init(struct front *f);
void queues_nodes_destroy(struct front *f);
void queues_nodes_each_lock(struct front *f, void (*act)(struct lock *l));
void queues_nodes_check(struct front *f);

/* ---- queues_idle.c: the ops that work on all CPUs ---- */
void queues_set_limits(struct front *f, unsigned int limit, unsigned int batchcount,
		       unsigned int shared);
void queues_drain(struct front *f);
void queues_reap(struct front *f, unsigned int cpu);
int queues_tune(struct front *f, unsigned int limit, unsigned int batchcount, unsigned int shared);

#endif /* FRONT_QUEUES_H */
