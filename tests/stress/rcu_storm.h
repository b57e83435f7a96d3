/* SPDX-License-Identifier: MIT */
/*
 * stress/rcu_storm.h - readers who notice that memory was used again before its grace period was
 * over
 *
 * Writers replace the nodes of a table and free the old ones by kfree_rcu(), in all forms. A node
 * has the number of its life in several places; a reader who finds one twice, with other threads
 * let in between, must find the same number. Objects of a type-safe cache may become another one's
 * meanwhile, but never anything else: their constructor has written a word that nobody changes.
 * Other threads allocate what is freed, give memory back, and move between CPUs.
 *
 * Who includes this defines storm_enter(), storm_leave() and storm_quiet() (not a reader, and
 * outside of anything), which are given the number of the thread.
 */
#ifndef STRESS_RCU_STORM_H
#define STRESS_RCU_STORM_H

#include <sched.h>
#include <string.h>
#include <uslab/rcu.h>

#include "base/atomic.h"
#include "base/mix.h"
#include "os/time/clock.h"
#include "threads.h"

#define STORM_SLOTS 32
#define STORM_THREADS 6
#define STORM_TYPE 0x7e57ab1e5afe0001ul

struct storm_node {
	unsigned long life[3]; /* atomic */
	struct rcu_head rcu;
	unsigned long again[4]; /* the same number; atomic */
};

struct storm_safe {
	unsigned long type; /* STORM_TYPE; atomic */
	unsigned long user; /* atomic */
	unsigned long rest[62];
};

static struct {
	struct storm_node *node[STORM_SLOTS]; /* atomic */
	struct storm_safe *safe[STORM_SLOTS]; /* atomic */
	struct kmem_cache *nodes;
	struct kmem_cache *safes;
	struct kmem_cache *others; /* of the size of these */
	unsigned long lives;	   /* atomic */
	unsigned long caught;	   /* that readers saw; atomic */
	unsigned long reads;	   /* atomic */
	unsigned int ms;
	unsigned long begun;
} storm;

static inline bool storm_goes_on(void)
{
	return os_clock_ms() - storm.begun < storm.ms && !load_relaxed(&storm.caught);
}

static inline uint64_t storm_draw(uint64_t *seed)
{
	*seed += 0x9e3779b97f4a7c15ul;
	return mix_bits(*seed);
}

static inline void storm_move(uint64_t *seed)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(storm_draw(seed) % (nr > 0 ? (unsigned long)nr : 1), &set);
	sched_setaffinity(0, sizeof(set), &set); /* it may not be ours */
}

static inline void storm_construct(void *p)
{
	struct storm_safe *safe = p;

	store_relaxed(&safe->type, STORM_TYPE);
	memset(safe->rest, 0, sizeof(safe->rest));
}

/* ---- readers ---- */

static inline void storm_catch(void)
{
	fetch_add(&storm.caught, 1);
}

/* Others get on meanwhile; now and then as far as to replace all. */
static inline void storm_linger(uint64_t random)
{
	if (random % 256 == 0)
		usleep(100);
	else if (random % 8 == 0)
		sched_yield();
}

static inline void storm_read(uint64_t *seed)
{
	struct storm_node *node = load_acquire(&storm.node[storm_draw(seed) % STORM_SLOTS]);
	struct storm_safe *safe = load_acquire(&storm.safe[storm_draw(seed) % STORM_SLOTS]);
	unsigned long life = node ? load_relaxed(&node->life[0]) : 0;

	for (unsigned int i = 0; i < 3; i++) {
		if (i)
			storm_linger(storm_draw(seed));
		for (unsigned int k = 0; node && k < 3; k++)
			if (load_relaxed(&node->life[k]) != life ||
			    load_relaxed(&node->again[k]) != life)
				storm_catch();
		if (safe && load_relaxed(&safe->type) != STORM_TYPE)
			storm_catch();
	}
	fetch_add(&storm.reads, 1);
}

static inline void storm_be_reader(unsigned int thread, uint64_t *seed)
{
	for (unsigned int i = 0; i < 50; i++) {
		storm_enter(thread);
		storm_read(seed);
		storm_leave(thread);
	}
	storm_quiet(thread);
}

/* ---- writers ---- */

static inline void storm_free(struct storm_node *node, uint64_t form)
{
	if (form < 8)
		kfree_rcu(node, rcu);
	else
		kfree_rcu_mightsleep(node);
}

static inline void storm_replace_node(uint64_t *seed)
{
	struct storm_node *node = storm_draw(seed) % 2 ? kmem_cache_alloc(storm.nodes, GFP_KERNEL)
						       : kmalloc(sizeof(*node), GFP_KERNEL);
	unsigned long life = fetch_add(&storm.lives, 1);

	if (!node)
		return;
	for (unsigned int k = 0; k < 3; k++)
		store_relaxed(&node->life[k], life);
	for (unsigned int k = 0; k < 4; k++)
		store_relaxed(&node->again[k], life);
	node = __atomic_exchange_n(&storm.node[storm_draw(seed) % STORM_SLOTS], node,
				   __ATOMIC_ACQ_REL);
	if (node)
		storm_free(node, storm_draw(seed) % 10);
}

static inline void storm_put_safe(unsigned int slot, struct storm_safe *safe)
{
	safe = __atomic_exchange_n(&storm.safe[slot], safe, __ATOMIC_ACQ_REL);
	if (safe)
		kmem_cache_free(storm.safes, safe);
}

static inline void storm_replace_safe(uint64_t *seed)
{
	struct storm_safe *safe = kmem_cache_alloc(storm.safes, GFP_KERNEL);

	if (!safe)
		return;
	store_relaxed(&safe->user, storm_draw(seed));
	storm_put_safe(storm_draw(seed) % STORM_SLOTS, safe);
}

/* So that slabs become empty: objects that are replaced come again, out of few slabs. */
static inline void storm_remove_safes(void)
{
	for (unsigned int i = 0; i < STORM_SLOTS; i++)
		storm_put_safe(i, NULL);
	kmem_cache_shrink(storm.safes);
}

static inline void storm_overwrite(void **p, unsigned int nr, size_t size)
{
	for (unsigned int i = 0; i < nr; i++)
		memset(p[i], 0xee, size);
}

/* Memory that was freed, for others, who write to it: blocks, and pages of slabs. */
static inline void storm_use_memory(uint64_t *seed)
{
	void *p[64];
	unsigned int nr = 0;

	if (storm_draw(seed) % 4 == 0)
		kmem_cache_shrink(storm.nodes);
	if (storm_draw(seed) % 4 == 0)
		storm_remove_safes();
	while (nr < 64 && (p[nr] = kmalloc(sizeof(struct storm_node), GFP_KERNEL)))
		nr++;
	storm_overwrite(p, nr, sizeof(struct storm_node));
	kfree_bulk(nr, p);
	nr = kmem_cache_alloc_bulk(storm.others, GFP_KERNEL, 64, p);
	storm_overwrite(p, nr, sizeof(struct storm_safe));
	kmem_cache_free_bulk(storm.others, nr, p);
	kmem_cache_shrink(storm.others); /* the next ones are of new slabs, too */
}

static inline void storm_be_writer(unsigned int thread, uint64_t *seed)
{
	for (unsigned int i = 0; i < 40; i++) {
		storm_replace_node(seed);
		storm_replace_safe(seed);
	}
	if (storm_draw(seed) % 16 == 0)
		storm_use_memory(seed);
	if (storm_draw(seed) % 64 == 0)
		kvfree_rcu_barrier();
	storm_quiet(thread);
}

static inline void *storm_work(void *arg)
{
	unsigned int thread = (unsigned int)(uintptr_t)arg;
	uint64_t seed = thread;

	storm_begin(thread);
	while (storm_goes_on()) {
		if (storm_draw(&seed) % 32 == 0)
			storm_move(&seed);
		if (thread % 2)
			storm_be_reader(thread, &seed);
		else
			storm_be_writer(thread, &seed);
	}
	storm_end(thread);
	return NULL;
}

/* ---- all of it ---- */

static inline void storm_make_caches(const char *engine)
{
	const struct kmem_cache_args args = { .ctor = storm_construct, .engine = engine };

	storm.nodes =
		kmem_cache_create("storm-node", sizeof(struct storm_node), 0, SLAB_NO_MERGE, NULL);
	storm.safes = kmem_cache_create_args("storm-safe", sizeof(struct storm_safe), &args,
					     SLAB_TYPESAFE_BY_RCU);
	storm.others = kmem_cache_create_args("storm-other", sizeof(struct storm_safe),
					      &(struct kmem_cache_args){ .engine = engine },
					      SLAB_NO_MERGE);
	if (!storm.nodes || !storm.safes || !storm.others)
		abort();
}

/* Frees what the table has, and the caches; no readers. */
static inline void storm_clear(void)
{
	for (unsigned int i = 0; i < STORM_SLOTS; i++) {
		kfree(storm.node[i]);
		storm_put_safe(i, NULL);
		storm.node[i] = NULL;
	}
	kmem_cache_destroy(storm.nodes);
	kmem_cache_destroy(storm.safes);
	kmem_cache_destroy(storm.others);
	kvfree_rcu_barrier();
}

/* Returns how often readers saw memory that was used again; ends at the first time. */
static inline unsigned long storm_run(unsigned int ms, unsigned int threads)
{
	storm.ms = ms;
	storm.begun = os_clock_ms();
	threads_run(threads, storm_work);
	return storm.caught;
}

#endif /* STRESS_RCU_STORM_H */
