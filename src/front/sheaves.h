/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves.h - the kernel's sheaves: three of each CPU, and a barn for each node (spec A1)
 *
 * Why:        docs/adr/0049.
 * Data:       struct sheaves (front.state): the era, the capacity and a barn for each node. Of each
 *             CPU: main, spare, rcu_free of struct kmem_cache_cpu. Sheaves are metadata, and each
 *             says its capacity.
 * Invariants: a sheaf is in one place: a CPU's main, spare or rcu_free, a barn, an RCU chain, lent,
 *             or with the one thread that moves it. obj[0 .. nr-1] are free objects, and nr is at
 *             most its capacity. Full ones of a barn have an object or more, empty ones none. The
 *             sheaves of CPUs and barns have the capacity of the front. sheaves_check().
 * Locks:      kmem_cache_cpu.sheaf_lock (RANK_CPUSLAB) > barn.lock (RANK_DEPOT). Neither is held
 *             while objects come from slabs or go there.
 * Flow:       included by sheaves*.c, cache/ and inspect/; inspect/ reads the structures from
 *             outside.
 *
 * A reader from outside finds
 *     what a CPU holds:   main and spare of percpu_state(id, cpu), each 0 or a struct sheaf: nr
 *                         objects from obj[0] on
 *     what a node holds:  struct sheaves at front.state, nr_nodes entries of barn[]: nr_objects in
 *                         nr_full sheaves, linked by next from full on
 */
#ifndef FRONT_SHEAVES_H
#define FRONT_SHEAVES_H

#include "front/front.h"
#include "os/cpu/cpu.h"
#include "os/rcu/rcu.h"

/* Spec A1.4. */
#define BARN_MAX_FULL 10u
#define BARN_MAX_EMPTY 10u

#define SHEAVES_BATCH 32u	   /* objects that are flushed at once */
#define SHEAVES_MAX_CAPACITY 1024u /* objects; CACHE_MAX_CAPACITY */

#define SHEAVES_NO_NODE UINT16_MAX /* to no barn, but to the slabs */

struct sheaf {
	union {
		struct sheaf *next;	 /* in a barn */
		struct os_rcu_item item; /* in an RCU chain */
	};
	struct front *front; /* whose it is; const */
	uint32_t nr;	     /* objects; atomic, since tools and held() look */
	uint16_t node;	     /* to which it returns after the grace period */
	uint16_t capacity;   /* objects for which it has room; const */
	/* of one that collects what waits: called after the grace period */
	os_rcu_release release;
	void *obj[];
};

BUILD_ASSERT(sizeof(struct sheaf) == 32); /* as the kernel's */
BUILD_ASSERT(OS_MAX_NODES < SHEAVES_NO_NODE && SHEAVES_MAX_CAPACITY <= UINT16_MAX);

struct barn {
	struct lock lock;
	uint32_t nr_full; /* both are read without the lock, as hints */
	uint32_t nr_empty;
	struct sheaf *full; /* the newest */
	struct sheaf *empty;
	unsigned long nr_objects; /* in the full ones */
} __attribute__((aligned(CACHE_LINE)));

/* What differs between 6.18 and 7.0. */
struct sheaves_era {
	const struct front_ops *below; /* between the sheaves and the slabs */
	enum engine_stat alloc;	       /* what an object from a sheaf, and one into it, count as */
	enum engine_stat free;
	bool by_table;	  /* each cache has sheaves, and not only who asks for them */
	bool counts_slow; /* counts what goes past the sheaves, since nobody below does */
};

struct sheaves {
	const struct sheaves_era *era;
	uint32_t capacity; /* objects in a sheaf, 1 or more. Atomic: see sheaves.c */
	uint32_t nr_nodes;
	struct barn barn[] __attribute__((aligned(CACHE_LINE)));
};

/* A CPU's sheaves, locked. */
struct sheaves_at {
	struct kmem_cache_cpu *c;
	unsigned int node; /* of that CPU */
};

/* Is that a front of sheaves, of whatever era? */
static inline bool front_has_sheaves(const struct front *f)
{
	return f->ops == &front_sheaves_ops || f->ops == &front_sheaves_618_ops;
}

static inline struct sheaves *sheaves_of(const struct front *f)
{
	return f->state;
}

static inline struct barn *sheaves_barn(const struct front *f, unsigned int node)
{
	return &sheaves_of(f)->barn[node];
}

static inline const struct front_ops *sheaves_below(const struct front *f)
{
	return sheaves_of(f)->era->below;
}

static inline void sheaves_count(const struct front *f, enum engine_stat item, unsigned int n)
{
	if (engine_counts() && n)
		percpu_count_many(f->id, item, n);
}

static inline bool sheaf_has_objects(const struct sheaf *sheaf)
{
	return sheaf && load_relaxed(&sheaf->nr);
}

static inline bool sheaf_has_space(const struct sheaf *sheaf)
{
	return sheaf && sheaf->nr < sheaf->capacity;
}

static inline unsigned int sheaves_capacity(const struct front *f)
{
	return load_relaxed(&sheaves_of(f)->capacity);
}

/*
 * Has it the capacity that sheaves of its front are to have now? Asked under the lock of the place
 * into which it is to go: none but such ones go there.
 */
static inline bool sheaf_is_current(const struct sheaf *sheaf)
{
	return sheaf->capacity == sheaves_capacity(sheaf->front);
}

static inline void *sheaf_pop(struct sheaf *sheaf)
{
	uint32_t nr = sheaf->nr - 1;

	store_relaxed(&sheaf->nr, nr);
	return load_relaxed(&sheaf->obj[nr]);
}

static inline void sheaf_push(struct sheaf *sheaf, void *obj)
{
	store_relaxed(&sheaf->obj[sheaf->nr], obj);
	store_relaxed(&sheaf->nr, sheaf->nr + 1);
}

/* Sheaves have objects of their CPU's node only, those apart that a refill found elsewhere. */
static inline bool sheaves_is_remote(const void *obj, unsigned int node)
{
	return os_topology.nr_nodes > 1 && page_head_unchecked(obj)->node != node;
}

/* ---- sheaves_capacity.c (docs/adr/0055) ---- */

/* Spec A2: of objects of so many bytes, with padding. */
unsigned int sheaves_capacity_by_size(unsigned int stride);
/* See front_ops.set_capacity. 1 to SHEAVES_MAX_CAPACITY; 0: by size. Only -EINVAL can come. */
int sheaves_set_capacity(struct front *f, unsigned int objects);

/* ---- sheaves.c: one object ---- */

/*
 * Locks the running CPU's sheaves, if nobody has them and the front is open. The thread may be
 * moved to another CPU at once, and goes on with those of this one.
 */
static always_inline bool sheaves_enter(struct front *f, struct sheaves_at *at);
/* The same for who puts that sheaf there. false also if it has another capacity than the front. */
bool sheaves_enter_with(struct front *f, struct sheaves_at *at, const struct sheaf *sheaf);
void sheaves_leave(struct sheaves_at *at);

/* ---- sheaves_swap.c: main of a CPU is empty, or full (spec A3d, A4d) ---- */

/*
 * Called with the CPU's sheaves locked. true: main has an object, or space, and the sheaves of *at
 * are locked, perhaps of another CPU. false: no; none are locked.
 */
bool sheaves_replace_empty(struct front *f, struct sheaves_at *at, gfp_t gfp);
bool sheaves_replace_full(struct front *f, struct sheaves_at *at);

/* ---- sheaves_bulk.c ---- */

unsigned int sheaves_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p);
void sheaves_free_bulk(struct front *f, unsigned int nr, void **p);

/* ---- sheaves_barn.c: sheaves, and the barns that they lie in ---- */

/* An empty sheaf. NULL: out of memory. */
struct sheaf *sheaves_new(struct front *f);
/* It is in no place. NULL is ignored; sheaves_flush: its objects go to their slabs first. */
void sheaves_delete(struct front *f, struct sheaf *sheaf);
void sheaves_flush(struct front *f, struct sheaf *sheaf);
/* Fills it to its capacity. false: out of memory, and it may have more objects than before. */
bool sheaves_fill(struct front *f, struct sheaf *sheaf, gfp_t gfp);

/*
 * A full one for an empty one (NULL: none), whatever the limit. NULL: there is none, or the empty
 * one has another capacity than the front.
 */
struct sheaf *barn_exchange_empty(struct barn *barn, struct sheaf *empty);
enum barn_answer { BARN_DONE, BARN_TOO_BIG, BARN_NONE };
/* An empty one for *sheaf, which is full. BARN_NONE also if that has another capacity. */
enum barn_answer barn_exchange_full(struct barn *barn, struct sheaf **sheaf);
struct sheaf *barn_get_empty(struct barn *barn);
/*
 * Whatever the limits. false: the front is closed, or has another capacity; it is still the
 * caller's. The others flush and free it then: no lock held.
 */
bool sheaves_try_put_full(struct front *f, unsigned int node, struct sheaf *sheaf);
void sheaves_put_full(struct front *f, unsigned int node, struct sheaf *sheaf);
void sheaves_put_empty(struct front *f, unsigned int node, struct sheaf *sheaf);

void sheaves_barns_init(struct front *f);
/* All sheaves of all barns to the slabs, and their memory back. */
void sheaves_barns_drain(struct front *f);
unsigned long sheaves_held_barns(struct front *f);
void sheaves_barns_check(struct front *f);

/* ---- sheaves_all.c: what works on all CPUs ---- */

/* All but rcu_free, which is handed to the RCU. */
void sheaves_drain(struct front *f);
/* The same with all sheaves, also the empty ones that sheaves_drain() leaves. */
void sheaves_replace_cpus(struct front *f);
unsigned long sheaves_held_cpus(struct front *f);
void sheaves_cpus_init(struct front *f);
void sheaves_cpus_destroy(struct front *f);
void sheaves_cpus_check(struct front *f);

/* ---- sheaves_rcu.c (spec A7) ---- */

/*
 * Puts an entry for obj, which waits for a grace period, into this CPU's rcu_free sheaf. release is
 * called for each sheaf that has waited, the same one each time. false: no sheaf, or obj is another
 * node's. Context: no lock held.
 */
bool sheaves_gather(struct front *f, const void *obj, void *entry, os_rcu_release release);
/* A sheaf that has waited, with the objects to be freed: to its barn, else to the slabs. */
void sheaves_return(struct front *f, struct sheaf *sheaf);
/* rcu_free of a locked CPU, if there is one, to the RCU, for the barn of that node. */
void sheaves_hand_over_locked(struct kmem_cache_cpu *c, unsigned int node);
/* All CPUs' rcu_free sheaves to the RCU. Not to_barn: they are flushed after that. */
void sheaves_hand_over(struct front *f, bool to_barn);
/* Is is() true for an entry of a CPU's rcu_free sheaf? */
bool sheaves_find_waiting(struct front *f, bool (*is)(const void *entry, const void *what),
			  const void *what);

/* ---- sheaves_lent.c (spec A6); context: no lock held ---- */

/*
 * A sheaf with nr objects, at most the capacity, or more. NULL: out of memory, the front is closed,
 * or its capacity has become less than that.
 */
struct sheaf *sheaves_lend(struct front *f, gfp_t gfp, unsigned int nr);
void sheaves_take_back(struct front *f, struct sheaf *sheaf);

/* ---- inlined into the fast paths ---- */

static always_inline bool sheaves_enter(struct front *f, struct sheaves_at *at)
{
	int cpu = percpu_cpu();

	if (unlikely(cpu < 0))
		return false;
	at->c = percpu_state(f->id, cpu);
	at->node = os_cpu_to_node((unsigned int)cpu);
	if (unlikely(!lock_try(&at->c->sheaf_lock)))
		return false;
	/* closed before a drain took the lock, or after it: then that takes what we leave */
	if (likely(!load_relaxed(&f->closed)))
		return true;
	sheaves_leave(at);
	return false;
}

#endif /* FRONT_SHEAVES_H */
