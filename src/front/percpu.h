/* SPDX-License-Identifier: MIT */
/*
 * front/percpu.h - per-CPU words, changed by restartable sequences or under a per-CPU lock
 *
 * Why:        docs/adr/0002.
 * Data:       the windows of <uslab/layout.h>: for cache i on CPU c one word, one spare and one for
 *             charged objects with its owner (array front), and one struct kmem_cache_cpu (the
 *             other fronts, statistics).
 * Invariants: rseq mode: a word of CPU c changes only inside a sequence that runs on c, by
 *             percpu_stop_xchg() or by percpu_put_back(). Generic mode:
 *             only under percpu_lock of c.
 * Locks:      generic mode: one lock per CPU (RANK_CPU), held for a few instructions.
 * Flow:       called by front/, cache/ and malloc/; calls os/cpu/rseq.c, os/lock/lock.c, arch/.
 *
 * Both modes give the same results; percpu_rseq says which one this process uses (chosen once).
 * A thread that has no registration in rseq mode gets CPU -1 from percpu_cpu(): its calls go
 * straight to the engine.
 */
#ifndef FRONT_PERCPU_H
#define FRONT_PERCPU_H

#include "base/atomic.h"
#include "engine/stats.h"
#include "os/cpu/cpu.h"
#include "os/lock/lock.h"
#include "os/cpu/rseq.h"
#include "page/page.h"

struct sheaf;

struct kmem_cache_cpu {
	union {
		uint32_t charged_misses;      /* array front, see front/array_charged.h; a hint */
		struct {		      /* cpuslab front */
			uintptr_t freelist;   /* private LIFO list of the cpu slab */
			uintptr_t slab;	      /* struct page of the cpu slab, or 0 */
			struct page *partial; /* per-CPU partial list; under lock */
		};
		struct {		    /* queues front, see front/queues.h */
			uintptr_t top;	    /* address of the array's newest entry, or stopped */
			uintptr_t bottom;   /* of its entry 0, NULL; 0: no array yet; under lock */
			uintptr_t end;	    /* of the entry that makes it full; under lock */
			uint32_t touched;   /* since the last reap somebody allocated */
			uint32_t reap_node; /* whose alien array is reaped next; reaper only */
		};
	};
	struct lock lock; /* slow paths of this cache on this CPU */

	/* fronts sheaves, see front/sheaves.h; under sheaf_lock */
	struct lock sheaf_lock;
	struct sheaf *main;	/* NULL: this CPU had none so far */
	struct sheaf *spare;	/* or NULL */
	struct sheaf *rcu_free; /* or NULL */

	uint32_t stat[NR_ENGINE_STATS]; /* events; owner CPU, may lose one when a thread migrates */
};

BUILD_ASSERT(sizeof(struct kmem_cache_cpu) <= USLAB_CPU_STATE_SIZE);

extern bool percpu_rseq;

/* After arena_init(), os_cpu_init(), os_rseq_init(). */
void percpu_init(void);

static inline unsigned int percpu_id(const struct kmem_cache *s)
{
	return (unsigned int)(((const char *)s - page_windows()) / 8);
}

static inline struct kmem_cache *percpu_handle(unsigned int id)
{
	return (struct kmem_cache *)(page_windows() + 8ul * id);
}

static inline char *percpu_window(int cpu)
{
	return page_windows() + ((unsigned long)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT);
}

/* The word in one of its two places: 0, the inline hit paths' one, or USLAB_WINDOW_GENERIC. */
static inline uintptr_t *percpu_word_at(unsigned int id, int cpu, unsigned long place)
{
	return (uintptr_t *)(percpu_window(cpu) + place + 8ul * id);
}

/* The word that the inline hit paths use. */
static inline uintptr_t *percpu_inline_word(unsigned int id, int cpu)
{
	return percpu_word_at(id, cpu, 0);
}

/*
 * Where a free object of a cache has its mark, for the inline hit paths; written before its front
 * is made, and not changed: a hit may look there long after its sequence.
 */
static inline int64_t *percpu_mark(unsigned int id)
{
	return (int64_t *)(page_windows() + USLAB_WINDOW_MARKS) + id;
}

/*
 * In window 0, behind the tables of <uslab/layout.h>, bits of each cache.
 * ELSEWHERE: it has no inline hit path. Either its objects have no place for a mark, since a hit
 * writes one, or its frees have to look at each object. Written before its front is made, and by
 * front_place_words().
 * KEYED: its objects have keys, so that sheaves of charged objects are where inline hit paths find
 * them. Written before its front is made.
 */
enum percpu_trait { PERCPU_ELSEWHERE = 1, PERCPU_KEYED = 2 };

#define PERCPU_TRAITS 0xae00ul
BUILD_ASSERT(PERCPU_TRAITS >= USLAB_WINDOW_MAGICS + USLAB_ID_FIRST_FREE * sizeof(uint64_t));
BUILD_ASSERT(PERCPU_TRAITS + USLAB_NR_HANDLES <= USLAB_WINDOW_MARKS);

static inline uint8_t *percpu_traits(unsigned int id)
{
	return (uint8_t *)(page_windows() + PERCPU_TRAITS + id);
}

static inline bool percpu_has(unsigned int id, enum percpu_trait trait)
{
	return load_relaxed(percpu_traits(id)) & trait;
}

/* One caller at a time. */
static inline void percpu_set(unsigned int id, enum percpu_trait trait, bool on)
{
	unsigned int others = load_relaxed(percpu_traits(id)) & ~(unsigned int)trait;

	store_relaxed(percpu_traits(id), (uint8_t)(on ? others | trait : others));
}

/*
 * Where the words are that are in use. Not the inline ones, which are stopped then: for a cache
 * without an inline hit path; and for all without rseq, because a program's inline hit path may run
 * sequences although the library does not.
 */
static inline unsigned long percpu_place_if(bool elsewhere)
{
	return likely(percpu_rseq) && likely(!elsewhere) ? 0 : USLAB_WINDOW_GENERIC;
}

static inline unsigned long percpu_place(unsigned int id)
{
	return percpu_place_if(percpu_has(id, PERCPU_ELSEWHERE));
}

static inline bool percpu_is_inline(unsigned int id)
{
	return likely(!percpu_place(id));
}

/* The word that is in use. */
static inline uintptr_t *percpu_word(unsigned int id, int cpu)
{
	return percpu_word_at(id, cpu, percpu_place(id));
}

/* The handle for the library's own sequences: they find the word that is in use. */
static inline void *percpu_word_handle(unsigned int id)
{
	return page_windows() + percpu_place(id) + 8ul * id;
}

/*
 * array front: a sheaf of objects that are charged to somebody (front/array_charged.h), or 0; in
 * the windows of CPUs, where window 0 has its tables
 */
#define PERCPU_CHARGED 0x8000ul

static inline unsigned long percpu_charged_place(unsigned int id)
{
	return percpu_has(id, PERCPU_KEYED) ? USLAB_WINDOW_ACCOUNTS : PERCPU_CHARGED;
}

static inline uintptr_t *percpu_charged(unsigned int id, int cpu)
{
	return (uintptr_t *)(percpu_window(cpu) + percpu_charged_place(id) + 8ul * id);
}

static inline void *percpu_charged_handle(unsigned int id)
{
	return page_windows() + percpu_charged_place(id) + 8ul * id;
}

/* The key of whose they are, for inline hit paths; of caches with keys only. */
static inline uint64_t *percpu_owner(unsigned int id, int cpu)
{
	return (uint64_t *)(percpu_window(cpu) + USLAB_WINDOW_OWNERS + 8ul * id);
}

/* array front: a second sheaf, or 0; changed as the word is */
static inline uintptr_t *percpu_spare(unsigned int id, int cpu)
{
	return (uintptr_t *)(percpu_window(cpu) + USLAB_WINDOW_SPARES + 8ul * id);
}

static inline struct kmem_cache_cpu *percpu_state(unsigned int id, int cpu)
{
	return (struct kmem_cache_cpu *)(percpu_window(cpu) + USLAB_WINDOW_STATE +
					 USLAB_CPU_STATE_SIZE * id);
}

/* Generic mode only: the lock of a CPU, for a few loads and stores. */
void percpu_enter(int cpu);
bool percpu_try_enter(int cpu);
void percpu_exit(int cpu);

/* The CPU of this thread (may be stale at once); -1: this thread uses no front. */
static inline int percpu_cpu(void)
{
	int cpu;

	if (unlikely(!percpu_rseq))
		return (int)os_current_cpu();
	cpu = os_rseq_cpu_unchecked();
	return likely(cpu >= 0) ? cpu : -1;
}

/*
 * If this thread runs on cpu (rseq mode), or under cpu's lock (generic mode):
 *     { *old = *word; *word = new; } and return 0. Else -EAGAIN, nothing changed: also where the
 * kernel interrupted it. word belongs to cpu's window.
 *
 * A thread that is interrupted each time, since a debugger steps through it, loses its registration
 * (os_rseq_leave()) after PERCPU_TRIES of these in a row, of whatever step.
 */
#define PERCPU_TRIES 100u
int percpu_xchg(int cpu, uintptr_t *word, uintptr_t new_value, uintptr_t *old);

/*
 * Likewise: if (*word == expect && *word2 == expect2) { *word = new; return 0; } return 1 when
 * they differ, -EAGAIN when not on cpu. word2 may be any readable address, also word itself; it is
 * compared inside the same sequence.
 */
int percpu_cmp2_store(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
		      uintptr_t expect2, uintptr_t new_value);

/*
 * Likewise: if (*word == expect && *word2 == expect2) { *slot = value; *word = (uintptr_t)slot;
 * return 0; } return 1 when they differ, -EAGAIN when not on cpu. slot is an entry that nobody
 * reads or writes as long as *word == expect.
 */
int percpu_cmp2_push(int cpu, uintptr_t *word, uintptr_t expect, const uintptr_t *word2,
		     uintptr_t expect2, uintptr_t *slot, uintptr_t value);

/*
 * Ends what percpu_xchg() or percpu_stop_xchg() began: *word = value, from any CPU, while the word
 * holds a value with which no step compares equal. Release: a reader of value sees all that was
 * done before.
 */
void percpu_put_back(int cpu, uintptr_t *word, uintptr_t value);

/*
 * Takes a word away from another CPU: returns its last value and leaves stop in it. To be used
 * only while nothing can install a new value on that CPU (the caller set a flag that every
 * install compares as word2): otherwise lost and new values could not be told apart. Sequences in
 * flight either committed before (their value is returned) or are aborted.
 * 0; -errno when the CPU could not be fenced (nothing changed).
 */
int percpu_stop_xchg(int cpu, uintptr_t *word, uintptr_t stop, uintptr_t *old);

/*
 * The same for two words of that CPU, with one fence for both, which settles as well. A word that
 * is 0 is left as it is, and old[] is 0 then. On error the first one may have been taken.
 */
int percpu_stop_both(int cpu, uintptr_t *const word[2], uintptr_t stop, uintptr_t old[2]);

/*
 * No step that had begun on cpu before is under way any more: one that compares a flag which the
 * caller has set before either stored, or will see the flag. 0 or -errno, as percpu_stop_xchg().
 */
int percpu_settle(int cpu);

/*
 * Can other CPUs be fenced? Else percpu_stop_xchg() and the like run on each of them in turn. Asks
 * the system.
 */
bool percpu_can_fence(void);

/* Adds one, or n, to an event counter of cache id on this CPU. */
void percpu_count(unsigned int id, enum engine_stat item);
void percpu_count_many(unsigned int id, enum engine_stat item, unsigned int n);

/* Switches the counting of all caches on or off; before threads exist. Off at start. */
void percpu_set_stats(bool on);

void percpu_each_lock(void (*act)(struct lock *l));

#endif /* FRONT_PERCPU_H */
