/* SPDX-License-Identifier: MIT */
/*
 * front/array_sheaf.h - what the files of the array front share; nobody else includes it
 *
 * Data:       sheaves that the caller owns: each is referred to by the address of its top entry.
 * Invariants: see front/array.c.
 * Locks:      none held by callers.
 * Flow:       the steps of a miss.
 */
#ifndef FRONT_ARRAY_SHEAF_H
#define FRONT_ARRAY_SHEAF_H

#include "arch/cpu.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "engine/descriptor.h"
#include "front/array.h"
#include "front/depot.h"
#include "front/percpu.h"
#include "page/buddy.h"

/* ---- the generic mode does in C what <uslab/arch/...> does in a sequence; lock held ---- */

static inline void *word_pop(uintptr_t *word)
{
	uintptr_t top = load_relaxed(word);
	void *obj = *(void **)top;

	if (obj)
		store_relaxed(word, top - sizeof(void *));
	return obj;
}

static inline bool word_push(uintptr_t *word, void *obj)
{
	uintptr_t top = load_relaxed(word);

	if (sheaf_index(top) == USLAB_SHEAF_CAPACITY)
		return false;
	top += sizeof(void *);
	*(void **)top = obj;
	store_relaxed(word, top);
	return true;
}

static inline struct depot *array_depot(struct front *f)
{
	return &f->depot[os_current_node()];
}

/* ---- what another CPU wrote last, asked for together ---- */

/*
 * A sheaf from a depot was mostly filled, or emptied, by another CPU: prefetch its cache lines
 * together, instead of a miss at every eighth call.
 */
static inline void sheaf_prefetch(uintptr_t top)
{
	char *base = (char *)sheaf_base(top);

	for (size_t i = 0; i < USLAB_SHEAF_SIZE; i += CACHE_LINE)
		arch_prefetch_write(base + i);
}

/*
 * Its objects were written by that CPU as well, and are about to be written by this one. Measured
 * with one thread that allocates and writes and one that reads and frees 64 bytes: 10.4 ns without,
 * 6.5 ns with this; nothing lost where nobody looks into the objects (bench handoff).
 */
static inline void sheaf_prefetch_objects(uintptr_t top)
{
	void **entry = (void **)top;
	unsigned int n = sheaf_count(top);

	for (; n >= 4; n -= 4, entry -= 4) {
		arch_prefetch_write(entry[0]);
		arch_prefetch_write(entry[-1]);
		arch_prefetch_write(entry[-2]);
		arch_prefetch_write(entry[-3]);
	}
	for (; n; n--)
		arch_prefetch_write(*entry--);
}

/* ---- objects from or to a sheaf that the caller owns ---- */

/* A call for one, known where it is compiled, which has found room, or an object. */
#define sheaf_is_one(nr) (__builtin_constant_p(nr) && (nr) == 1)

/*
 * Moves up to nr objects out, the newest first; returns its new top. Four at a time: most of a call
 * for many is this.
 */
static always_inline uintptr_t sheaf_take(uintptr_t top, unsigned int nr, void **p)
{
	void **entry = (void **)top;
	size_t n = sheaf_is_one(nr) ? 1 : MIN(sheaf_count(top), nr);
	size_t i = 0;

	for (; i + 4 <= n; i += 4, entry -= 4) {
		p[i] = entry[0];
		p[i + 1] = entry[-1];
		p[i + 2] = entry[-2];
		p[i + 3] = entry[-3];
	}
	for (; i < n; i++)
		p[i] = *entry--;
	return (uintptr_t)entry;
}

/* Likewise onto it, the last of p[] on top. */
static always_inline uintptr_t sheaf_give(uintptr_t top, unsigned int nr, void *const *p)
{
	void **entry = (void **)top + 1;
	size_t n = sheaf_is_one(nr) ? 1 : MIN(sheaf_room(top), nr);
	size_t i = 0;

	for (; i + 4 <= n; i += 4) {
		entry[i] = p[i];
		entry[i + 1] = p[i + 1];
		entry[i + 2] = p[i + 2];
		entry[i + 3] = p[i + 3];
	}
	for (; i < n; i++)
		entry[i] = p[i];
	return top + n * sizeof(void *);
}

/* Between two tops of one sheaf. */
static inline unsigned int sheaf_moved(uintptr_t from, uintptr_t to)
{
	return (unsigned int)((from > to ? from - to : to - from) / sizeof(void *));
}

/* ---- array.c ---- */

/*
 * Fills an empty sheaf from the engine, so that neighbours are allocated one after the other.
 * Returns the new top, unchanged when out of memory.
 */
uintptr_t sheaf_fill(struct front *f, uintptr_t top, gfp_t gfp);
/* Gives all objects of a sheaf back to the engine; returns the empty top. */
uintptr_t sheaf_flush(struct front *f, uintptr_t top);
/* An empty sheaf, from the depot or new; 0: out of memory, or the front has no arrays any more. */
uintptr_t sheaf_get_empty(struct front *f);
/* A sheaf with objects from the depot in exchange for the empty one `top` (or 0); 0: none. */
uintptr_t sheaf_from_depot(struct front *f, uintptr_t top);
/*
 * A sheaf with room in exchange for a full one, which may be the same, without its objects of other
 * nodes; 0: the depot is full, or there is no memory.
 */
uintptr_t sheaf_for_full(struct front *f, uintptr_t top);
/*
 * Makes a sheaf the CPU's array; the old array becomes the spare, the old spare goes to the depot.
 */
void sheaf_install(struct front *f, uintptr_t top);
/* Makes a sheaf the CPU's spare; the old spare goes to the depot. */
void sheaf_stash(struct front *f, uintptr_t top);
/*
 * Takes a sheaf out of one of the words of the CPU that this thread runs on, and leaves `left`
 * there; 0: it has none. place: percpu_word, percpu_spare or percpu_charged. The step compares what
 * it takes: a drain of that word is either seen by the comparison, or sees what this committed.
 */
static always_inline uintptr_t sheaf_take_out(struct front *f,
					      uintptr_t *(*place)(unsigned int id, int cpu),
					      uintptr_t left)
{
	uintptr_t *word;
	uintptr_t top;
	int cpu;

	do {
		cpu = percpu_cpu();
		if (cpu < 0)
			return 0;
		word = place(f->id, cpu);
		top = load_relaxed(word);
		if (!top || front_is_stopped(top))
			return 0;
	} while (percpu_cmp2_store(cpu, word, top, word, top, left));
	return top;
}

/* Takes the spare of this CPU; 0: it has none. */
uintptr_t sheaf_unstash(struct front *f);
/* Takes its array, whose word misses both ways then; 0: it did. */
uintptr_t sheaf_withdraw(struct front *f);
/*
 * All CPUs' arrays go back to the engine, with closed set. settle: also those that an install puts
 * there which has looked at closed before. 0; -errno: not those of a CPU that could not be fenced.
 */
int array_drain_cpus(struct front *f, bool settle);
/* Those of one CPU, that can be fenced. The registry lock is held. */
void array_drain_cpu(struct front *f, int cpu);
void array_drain_depot(struct front *f, struct depot *d);
/* See struct front_ops. */
void array_drain(struct front *f);

/* ---- array_exchange.c: misses of the CPU that this thread, most likely, runs on ---- */

/*
 * array_exchange_empty() and array_exchange_full() for up to nr objects (nr > 1), which go from or
 * to one sheaf; how many did.
 */
unsigned int array_exchange_empty_run(struct front *f, int cpu, unsigned int nr, void **p);
unsigned int array_exchange_full_run(struct front *f, int cpu, unsigned int nr, void *const *p);

/* ---- array_idle.c ---- */

/*
 * While the memory in use falls (buddy_falls()): what this CPU holds, and some of the depot, go
 * back. true: nothing more is to be held.
 */
bool array_give_up(struct front *f);
/* See struct front_ops: of a cache that nobody uses, all that CPUs and depots hold. */
void array_reap(struct front *f, unsigned int cpu);

/* Before the number of f is used again. */
void array_idle_forget(const struct front *f);

static inline bool array_is_sheaf(uintptr_t word)
{
	return word && !front_is_stopped(word);
}

/* A word of that CPU that had none has got a sheaf. */
void array_note_sheaf(int cpu);
/* So many words got one: enough for misses to look whether some of them are idle; a hint. */
extern unsigned int array_nr_sheaves;
#define ARRAY_MANY_SHEAVES 64u
static inline bool array_has_many(void)
{
	return load_relaxed(&array_nr_sheaves) >= ARRAY_MANY_SHEAVES;
}

/* ---- array_capacity.c: see struct front_ops ---- */
int array_init(struct front *f, unsigned int capacity);
int array_set_capacity(struct front *f, unsigned int objects);

/* ---- array_near.c ---- */

/*
 * A sheaf with objects that the caller owns and is about to hand out: the same one, with its
 * objects, or with others in their place, that lie closer together or in slabs of this CPU. It is
 * not empty after.
 */
uintptr_t sheaf_near_slow(struct front *f, uintptr_t top);
/* Would that look for others? For one that is not empty, of the depot d of f. */
bool sheaf_may_change_slow(struct front *f, struct depot *d, uintptr_t top);

static inline bool on_one_page(const void *a, const void *b)
{
	return !(((uintptr_t)a ^ (uintptr_t)b) >> PAGE_SHIFT);
}

/* A hint: does another CPU than this one take objects from the slab of obj? */
static always_inline bool is_of_others(const struct front *f, const void *obj, int cpu)
{
	unsigned int lane;

	if (likely(!f->engine->lanes))
		return false;
	lane = engine_slab_lane(page_head_unchecked(obj));
	return lane != ENGINE_NO_LANE && lane != (unsigned int)cpu % ENGINE_LANES;
}

/* What mostly is so where neighbours are together; below the last object is NULL. */
static always_inline bool sheaf_is_near(const struct front *f, uintptr_t top, int cpu)
{
	void *const *entry = (void **)top;

	return likely(on_one_page(entry[0], entry[-1]) && !is_of_others(f, entry[0], cpu));
}

static always_inline uintptr_t sheaf_near(struct front *f, uintptr_t top)
{
	return sheaf_is_near(f, top, percpu_cpu()) ? top : sheaf_near_slow(f, top);
}

static always_inline bool sheaf_may_change(struct front *f, struct depot *d, uintptr_t top, int cpu)
{
	return !sheaf_is_near(f, top, cpu) && sheaf_may_change_slow(f, d, top);
}

/* ---- array_limit.c ---- */

/* The depot d of f was just found empty, and depot_may_underflow() says yes. */
void array_limit_underflow(struct front *f, struct depot *d);
/* Some sheaves that depots have not needed for an epoch go back, if it is time; else cheap. */
void array_limit_reap(void);
/* Bytes that depots may hold beyond what they held at first; atomic. */
extern unsigned long array_growth_bytes;
void array_limit_age_slow(void);
/*
 * What nobody has used for long goes back, also of a program that seldom gets to the engine or to
 * pages: some sheaves of depots, and free pages. For misses of frees that go beyond the CPU's two
 * arrays; cheap while little waits. Context: no lock held.
 */
static always_inline void array_limit_age(unsigned int node)
{
	if (unlikely(load_relaxed(&array_growth_bytes)) || unlikely(buddy_many_wait(node)) ||
	    unlikely(array_has_many()))
		array_limit_age_slow();
}
/* Waits for the step of a reap that is under way. */
void array_limit_wait(void);
/* depot_renew(); that it had grown is forgotten. */
void array_limit_renew(struct depot *d, const struct depot_limits *limits, struct depot_rest *old);
/* Before the depots of f are freed. */
void array_limit_forget(struct front *f);

/* ---- array_remote.c: objects of other nodes; for machines with several ---- */

/* Takes those out of a sheaf that the caller owns, and sends them home. Returns the new top. */
uintptr_t array_remote_sort(struct front *f, uintptr_t top);
/* Those that wait in a depot go to their slabs. */
void array_remote_drain(struct front *f, struct depot *d);
/* See struct front_ops: what has waited since the last reap goes home. */
void array_remote_reap(struct front *f, unsigned int cpu);
/* How many wait. */
unsigned long array_remote_held(const struct depot *d);
/* None wait. */
void array_remote_destroy(struct depot *d);
void array_remote_each_lock(struct depot *d, void (*act)(struct lock *l));
void array_remote_check(const struct depot *d, unsigned int local);

/* ---- array_bulk.c: see struct front_ops ---- */
unsigned int array_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p);
void array_free_bulk(struct front *f, unsigned int nr, void **p);
unsigned int array_take_local(struct front *f, unsigned int nr, void **p);

#endif /* FRONT_ARRAY_SHEAF_H */
