/* SPDX-License-Identifier: MIT */
/*
 * front/front.h - what a CPU caches, between the callers and an engine
 *
 * Data:       struct front, embedded in struct cache; per-CPU parts in the windows (percpu.h).
 * Invariants: an object held by a front counts as in use in its slab.
 * Locks:      see each front. Callers hold nothing above RANK_CACHE.
 * Flow:       called by front/, cache/, malloc/ and inspect/; calls engine->ops and percpu.c.
 *
 * The inline hit path is that of the array front. With any other front the words of a cache always
 * miss, and every call goes through cache/ and the operations here.
 */
#ifndef FRONT_FRONT_H
#define FRONT_FRONT_H

#include "engine/engine.h"
#include "front/percpu.h"

struct front;
struct depot;

struct front_ops {
	const char *name; /* TEXT_IN_CORES() */

	/* Prepares f for f->engine; capacity 0: by object size. 0 or -ENOMEM, -EINVAL. */
	int (*init)(struct front *f, unsigned int capacity);

	/* One object from node (-1: any), from a new slab if need be; NULL: out of memory. */
	void *(*alloc)(struct front *f, gfp_t gfp, int node);
	void (*free)(struct front *f, void *obj);

	/*
	 * Optional (NULL: the engine is asked): the same two without waiting, in any context
	 * (lock_tries_begin()), of what the CPU has. NULL, false: nothing was done.
	 */
	void *(*try_alloc)(struct front *f);
	bool (*try_free)(struct front *f, void *obj);

	/* alloc: up to nr objects (fewer: out of memory); free: all nr. */
	unsigned int (*alloc_bulk)(struct front *f, gfp_t gfp, unsigned int nr, void **p);
	void (*free_bulk)(struct front *f, unsigned int nr, void **p);

	/*
	 * Optional (NULL: no CPU holds any): up to nr of the objects that this CPU holds; the
	 * engine is not asked for more, nor are other CPUs and what they share (spec 13.2, LOCAL).
	 */
	unsigned int (*take_local)(struct front *f, unsigned int nr, void **p);

	/* Gives every held object of every CPU back to the engine. */
	void (*drain)(struct front *f);

	/* Optional (NULL): gives back what a CPU has not used since the last call (spec 3.9). */
	void (*reap)(struct front *f, unsigned int cpu);

	/*
	 * Optional (NULL): changes the limits of the queues while they are in use (spec 3.5, 9.2).
	 * 0; -EINVAL: limit < 1, batchcount < 1, batchcount > limit; -ENOMEM. Nothing changed on
	 * error.
	 */
	int (*tune)(struct front *f, unsigned int limit, unsigned int batchcount,
		    unsigned int shared);

	/*
	 * Optional (NULL: it has no arrays): changes the capacity of a CPU's array while calls go
	 * on (docs/adr/0055). objects: 0: by object size, as init() does; FRONT_CAPACITY_NONE:
	 * no CPU holds any, every call goes to the engine. What is held comes back. 0; -EINVAL:
	 * an array cannot have so many, or not none; -EBUSY: a CPU could not be fenced. Nothing
	 * changed on error, but that objects which were held came back. Callers hold the registry
	 * lock.
	 */
	int (*set_capacity)(struct front *f, unsigned int objects);

	/* Objects held now; exact when quiet. */
	unsigned long (*held)(struct front *f);

	/* After drain, before the cache's number is used again. */
	void (*destroy)(struct front *f);

	/*
	 * Optional (NULL: it has none): each lock of this front, for fork: act is one of
	 * lock_fork_prepare, lock_fork_parent and lock_fork_child (os/lock/lock.h).
	 */
	void (*each_lock)(struct front *f, void (*act)(struct lock *l));

	void (*check)(struct front *f);
};

/* Why a front is closed; bits, written under the registry lock. */
enum front_closed {
	FRONT_DRAINING = 1,  /* for a moment */
	FRONT_CLOSED = 2,    /* until front_open() */
	FRONT_NO_ARRAYS = 4, /* until set_capacity() */
};

#define FRONT_CAPACITY_NONE UINT_MAX

/*
 * Both in one word, so that an install can compare them in its sequence: an array goes into a CPU's
 * word while the front is open and its arrays have that capacity.
 */
union front_gate {
	struct {
		uint32_t closed; /* enum front_closed: not 0: nothing may be installed on any CPU */
		uint32_t capacity; /* objects per array; 0: no arrays */
	};
	uintptr_t word;
};

BUILD_ASSERT(sizeof(union front_gate) == sizeof(uintptr_t));

struct front {
	const struct front_ops *ops;
	struct engine *engine;
	unsigned int id; /* number of the cache */
	union {
		struct { /* see union front_gate; each is atomic */
			uint32_t closed;
			uint32_t capacity;
		};
		uintptr_t gate;
	};
	union {
		struct depot *depot; /* array: one per node */
		void *state;	     /* queues: struct queues; sheaves: struct sheaves */
	};
};

extern const struct front_ops front_none_ops;
extern const struct front_ops front_array_ops;
extern const struct front_ops front_cpuslab_ops;
extern const struct front_ops front_queues_ops;
extern const struct front_ops front_sheaves_ops;     /* the kernel's since 7.0 */
extern const struct front_ops front_sheaves_618_ops; /* those of 6.18 and 6.19, over cpuslab */

/* Programs hit inline, now or after a change of capacity. */
static inline bool front_has_arrays(const struct front *f)
{
	return f->ops == &front_array_ops;
}

/* By name; NULL: no such front. */
const struct front_ops *front_by_name(const char *name);

/*
 * Closes a front: every hit path misses from now on, on all CPUs, and every held object is back in
 * the engine. Calls of alloc and free that have begun finish with the engine, and may leave objects
 * in a depot; cache/ sends new ones past the front. front_open() opens it again. Callers hold the
 * registry lock.
 */
void front_close(struct front *f);
void front_open(struct front *f);

/*
 * The values of a word that misses both ways. A drain stores the first one; a CPU that gives up its
 * own array stores the second: a drain of the same word would take the first one for its own, and
 * not see that the array was taken from it (front/percpu.c). The third one stays: the cache has its
 * words elsewhere, and no install replaces it. The tools know that the second one is
 * USLAB_SHEAF_SIZE bytes behind the first, and the third one as far behind the second.
 */
extern const uintptr_t front_stop_word;
extern const uintptr_t front_gone_word;
extern const uintptr_t front_moved_word;

static inline bool front_is_stopped(uintptr_t word)
{
	return word == front_stop_word || word == front_gone_word || word == front_moved_word;
}

/* Sets the words of cache id to always-miss on every CPU (a new number, or a destroyed cache). */
void front_stop_words(unsigned int id);
/*
 * The same for the words of charged arrays of a new cache with keys: an inline allocation that
 * finds its owner there does not look for a word of 0.
 */
void front_stop_keyed_words(unsigned int id);

/*
 * For the array front, in rseq mode: the cache has no inline hit path from now on (elsewhere), or
 * has one, and its words are where they are then (percpu_place()): those of the place that it
 * leaves miss for good. The front is closed, and the registry lock held. 0; -errno: a CPU could not
 * be fenced, and nothing changed.
 */
int front_place_words(struct front *f, bool elsewhere);

#endif /* FRONT_FRONT_H */
