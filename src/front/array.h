/* SPDX-License-Identifier: MIT */
/*
 * front/array.h - pop and push on a CPU's array, one object or several, both modes
 *
 * Data:       the word of a cache on a CPU.
 * Invariants: see front/array.c.
 * Locks:      none (rseq mode), the CPU's lock (generic mode).
 * Flow:       used by array_sheaf.h, cache/, malloc/resize.c and malloc/slow.c.
 */
#ifndef FRONT_ARRAY_H
#define FRONT_ARRAY_H

#include "front/front.h"
#include "front/percpu.h"
#include "os/cpu/rseq.h"

/* Objects per sheaf for a stride of size bytes, when the creator asks for nothing else. pack: see
 * struct engine. */
unsigned int array_capacity(unsigned int size, bool pack);

/* An object of the CPU's current sheaf, or NULL. In rseq mode: of the CPU that runs this thread. */
void *array_pop(unsigned int id, int cpu);
/* false: no room. */
bool array_push(unsigned int id, int cpu, void *obj);

/* The same for up to nr objects (nr > 0), as <uslab/arch/...> says; how many were moved. */
unsigned int array_pop_run(unsigned int id, int cpu, unsigned int nr, void **p);
unsigned int array_push_run(unsigned int id, int cpu, unsigned int nr, void *const *p);

/* The hit paths of programs, for handles that are no compile-time constant: false on a miss. */
static always_inline bool array_pop_handle(void *handle, void **obj)
{
#if USLAB_HAVE_RSEQ
	return uslab_rseq_pop(handle, os_rseq_offset, obj);
#else
	(void)handle, (void)obj;
	return false;
#endif
}

static always_inline bool array_push_handle(void *handle, void *obj)
{
#if USLAB_HAVE_RSEQ
	return uslab_rseq_push(handle, obj, os_rseq_offset);
#else
	(void)handle, (void)obj;
	return false;
#endif
}

static always_inline bool array_push_inline(unsigned int id, void *obj)
{
	return array_push_handle(percpu_handle(id), obj);
}

/*
 * array_exchange.c: misses of the CPU that this thread, most likely, runs on. An object, if the
 * array is empty, and the spare is not, or the CPU's lane of the depot has a sheaf whose objects
 * are handed out as they are; or NULL.
 */
void *array_exchange_empty(struct front *f, int cpu);
/*
 * Puts an object, if the array is full, and the spare has space, or the lane takes a full sheaf for
 * an empty one; or false.
 */
bool array_exchange_full(struct front *f, int cpu, void *obj);

/* -1: the front has no arrays to exchange. Without rseq to ask for the CPU may be a system call. */
static always_inline int array_exchange_cpu(const struct front *f)
{
	return likely(front_has_arrays(f)) && likely(percpu_rseq) ? percpu_cpu() : -1;
}

/*
 * The same for a front of any kind, for who has just missed: most misses are no more than that.
 * NULL or false: call its alloc() or free().
 */
static always_inline void *array_alloc_missed(struct front *f)
{
	int cpu = array_exchange_cpu(f);

	return likely(cpu >= 0) ? array_exchange_empty(f, cpu) : NULL;
}

static always_inline bool array_free_missed(struct front *f, void *obj)
{
	int cpu = array_exchange_cpu(f);

	return likely(cpu >= 0) && array_exchange_full(f, cpu, obj);
}

/*
 * How many arrays of scattered objects may be exchanged for neighbours, of each depot in each
 * epoch; 0: none. For caches of any age.
 */
extern unsigned int array_near_most;
#define ARRAY_NEAR_DEFAULT 256u /* 0.2 to 0.3 ms in 64 */
#define ARRAY_NEAR_MAX 65536u

/* All that depots have not needed for an epoch goes back. Context: no lock of a front is held. */
void array_limit_reap_all(void);

/* What a step of cache/idle.c may still do. */
struct array_budget {
	unsigned int looks;  /* at what a CPU has of a front */
	unsigned int arrays; /* how often that goes back, or a sheaf of a depot */
	enum { FENCES_UNKNOWN, FENCES_WORK, FENCES_FAIL } fences;
};
/*
 * What each CPU has of a front goes back if it is as it was two seconds ago, and where none has
 * any, so does a part of what its depots hold. false: the budget was spent first, and the next call
 * goes on. Context: the registry lock is held.
 */
bool array_give_idle(struct front *f, struct array_budget *budget);
/*
 * Called by a miss, once in an epoch of 64 ms, and while it returns true by each miss that looks at
 * the clock. Context: no lock of a front is held. Set once.
 */
extern bool (*array_limit_each_epoch)(void);

/* Depots that have grown, of objects larger than a page; atomic, a hint. */
extern unsigned int array_limit_large;
void array_limit_reap_large_slow(size_t bytes, const struct depot *d);
/*
 * The thread is about to take so many bytes from slabs, for the depot d if that is not NULL, or as
 * a page run: for each 64 KiB or more others with large objects are looked at, those that may have
 * some to give and a part of the rest, and of what nobody used since the last look twice as many
 * bytes go back at most. Context: no lock of a front is held; not in a nested call.
 */
static always_inline void array_limit_reap_large(size_t bytes, const struct depot *d)
{
	if (unlikely(load_relaxed(&array_limit_large)))
		array_limit_reap_large_slow(bytes, d);
}

/* The same for a page run. A quarter counts of one that the CPU may well have kept (pcp_runs.h). */
#define KEPT_MOST ((size_t)256 << 10)
static always_inline void array_limit_reap_for_run(size_t bytes)
{
	array_limit_reap_large(bytes <= KEPT_MOST ? bytes / 4 : bytes, NULL);
}

/* The lock of front/array_limit.c, for fork; it is taken before those of depots. */
void array_limit_each_lock(void (*act)(struct lock *l));

#endif /* FRONT_ARRAY_H */
