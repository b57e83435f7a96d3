/* SPDX-License-Identifier: MIT */
/*
 * front/array_bulk.c - bulk calls of the array front: several objects, or whole sheaves, at a time
 *
 * Data:       none of its own.
 * Invariants: see front/array.c.
 * Locks:      none held here; the CPU's in the generic mode, the lanes' inside calls.
 * Flow:       called through front_array_ops, after the inline form has done what it can; calls
 *             front/array.c, front/depot.h, engine->ops.
 *
 *   alloc: what is in the array | in the spare | sheaves of the depot | the engine, to the caller
 *   local: what is in the array | in the spare
 *   free:  space in the array | in the spare | full sheaves to the depot | the engine
 *
 * The array and the spare are changed in place, each in one sequence. A sheaf of the depot is owned
 * by the caller while objects are copied from or to it; the last one, unless it is empty, becomes
 * the CPU's array.
 */
#include "front/array_sheaf.h"

#include "arch/rseq_ops.h"
#include "base/atomic.h"
#include "base/bits.h"

#define BULK_REFILL 256u /* objects at once from the engine */
#define BULK_FLUSH 32u	 /* and to it: what SLUB sorts by slab at a time */

/* ---- several objects in one sequence ---- */

unsigned int array_pop_run(unsigned int id, int cpu, unsigned int nr, void **p)
{
	unsigned int n = 0;

#if USLAB_HAVE_RSEQ
	if (likely(percpu_rseq))
		return (unsigned int)uslab_rseq_pop_run(percpu_word_handle(id), os_rseq_offset, nr,
							p);
#endif
	percpu_enter(cpu);
	while (n < nr && (p[n] = word_pop(percpu_word(id, cpu))))
		n++;
	percpu_exit(cpu);
	return n;
}

unsigned int array_push_run(unsigned int id, int cpu, unsigned int nr, void *const *p)
{
	unsigned int n = 0;

#if USLAB_HAVE_RSEQ
	if (likely(percpu_rseq))
		return (unsigned int)uslab_rseq_push_run(percpu_word_handle(id), os_rseq_offset, nr,
							 p);
#endif
	percpu_enter(cpu);
	while (n < nr && word_push(percpu_word(id, cpu), p[n]))
		n++;
	percpu_exit(cpu);
	return n;
}

/* The address of the spare word in window 0, from which arch_rseq_pop_run() finds the CPU's. */
static inline void *spare_of_window_0(unsigned int id)
{
	return (char *)percpu_handle(id) + USLAB_WINDOW_SPARES;
}

/* array_pop_run() and array_push_run() on this CPU's spare, if it has one. */
static unsigned int spare_pop_run(struct front *f, int cpu, unsigned int nr, void **p)
{
	uintptr_t *spare = percpu_spare(f->id, cpu);
	unsigned int n = 0;

	if (likely(percpu_rseq))
		return (unsigned int)arch_rseq_pop_run(os_rseq_offset, spare_of_window_0(f->id), nr,
						       p);
	percpu_enter(cpu);
	if (load_relaxed(spare))
		while (n < nr && (p[n] = word_pop(spare)))
			n++;
	percpu_exit(cpu);
	return n;
}

static unsigned int spare_push_run(struct front *f, int cpu, unsigned int nr, void *const *p)
{
	uintptr_t *spare = percpu_spare(f->id, cpu);
	unsigned int n = 0;

	if (likely(percpu_rseq))
		return (unsigned int)arch_rseq_push_run(os_rseq_offset, spare_of_window_0(f->id),
							nr, p);
	percpu_enter(cpu);
	if (load_relaxed(spare))
		while (n < nr && word_push(spare, p[n]))
			n++;
	percpu_exit(cpu);
	return n;
}

/* ---- past the front, and sheaves ---- */

/* Straight from the engine; fewer: out of memory. */
static unsigned int engine_many(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	unsigned int n = 0;
	unsigned int got;

	array_limit_reap_large((size_t)nr * f->engine->size, array_depot(f));
	while (n < nr) {
		got = f->engine->ops->refill(f->engine, p + n, MIN(nr - n, BULK_REFILL), gfp,
					     NUMA_NO_NODE);
		if (!got)
			break;
		n += got;
	}
	return n;
}

static void engine_flush(struct front *f, unsigned int nr, void **p)
{
	for (unsigned int n; nr; nr -= n, p += n) {
		n = MIN(nr, BULK_FLUSH);
		f->engine->ops->flush(f->engine, p, n);
	}
}

/* A sheaf that is left over becomes the array, so that the next call on this CPU finds it. */
static void sheaf_keep(struct front *f, uintptr_t top)
{
	if (sheaf_count(top))
		sheaf_install(f, top);
	else
		sheaf_stash(f, top);
}

/*
 * Takes full sheaves from the depot, each in exchange for the one just emptied, until there are nr
 * objects or the depot has no more. *top: the last sheaf, which the caller owns, or 0.
 */
static unsigned int take_sheaves(struct front *f, unsigned int nr, void **p, uintptr_t *top)
{
	uintptr_t sheaf = sheaf_unstash(f);
	unsigned int n = 0;

	for (;;) {
		uintptr_t before = sheaf;
		uintptr_t other;

		if (sheaf)
			sheaf = sheaf_take(sheaf, nr - n, p + n);
		n += sheaf_moved(before, sheaf);
		if (n == nr)
			break;
		other = sheaf_from_depot(f, sheaf);
		if (!other)
			break;
		sheaf = other;
	}
	*top = sheaf;
	return n;
}

/* The CPU's arrays are empty. */
static noinline unsigned int alloc_bulk_miss(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	unsigned int capacity = load_relaxed(&f->capacity);
	unsigned int whole = MAX(capacity, 1u); /* other threads may change it, to none */
	uintptr_t top;
	unsigned int n = take_sheaves(f, nr, p, &top);
	unsigned int sheaves = (nr - n) / whole;

	/*
	 * From the slabs; the last ones through a sheaf, so that some are cached for the next call.
	 */
	depot_note_made(array_depot(f), DEPOT_EMPTY, sheaves);
	n += engine_many(f, gfp, sheaves * whole, p + n);
	if (n < nr && !top)
		top = sheaf_get_empty(f);
	if (n < nr && !top)
		return n + engine_many(f, gfp, nr - n, p + n);
	if (n < nr) {
		uintptr_t filled = sheaf_fill(f, top, gfp);

		top = sheaf_take(filled, nr - n, p + n);
		n += sheaf_moved(filled, top);
		/* an engine may give fewer than were asked for while it has more */
		n += engine_many(f, gfp, nr - n, p + n);
	}
	if (top)
		sheaf_keep(f, top);
	return n;
}

/* nr > 0 */
static always_inline unsigned int take_from_cpu(struct front *f, int cpu, unsigned int nr, void **p)
{
	unsigned int n = 0;

	/* a hint: the inline form has just emptied it */
	if (sheaf_count_at(load_relaxed(percpu_word(f->id, cpu)), load_relaxed(&f->capacity)))
		n = array_pop_run(f->id, cpu, nr, p);
	if (n < nr)
		n += spare_pop_run(f, cpu, nr - n, p + n);
	return n;
}

unsigned int array_take_local(struct front *f, unsigned int nr, void **p)
{
	int cpu = percpu_cpu();

	if (unlikely(!nr || cpu < 0 || load_relaxed(&f->closed)))
		return 0;
	return take_from_cpu(f, cpu, nr, p);
}

unsigned int array_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	int cpu = percpu_cpu();
	unsigned int more;
	unsigned int n;

	if (unlikely(!nr))
		return 0;
	if (unlikely(cpu < 0 || load_relaxed(&f->closed)))
		return engine_many(f, gfp, nr, p);
	n = take_from_cpu(f, cpu, nr, p);
	while (n < nr && (more = array_exchange_empty_run(f, cpu, nr - n, p + n)))
		n += more;
	return n == nr ? n : n + alloc_bulk_miss(f, gfp, nr - n, p + n);
}

/* The CPU's arrays are full. */
static noinline void free_bulk_miss(struct front *f, unsigned int nr, void **p)
{
	uintptr_t top = sheaf_unstash(f);
	uintptr_t before;
	uintptr_t other;
	unsigned int whole;
	unsigned int n;

	if (!top)
		top = sheaf_get_empty(f);
	while (top) {
		before = top;
		top = sheaf_give(top, nr, p);
		n = sheaf_moved(before, top);
		nr -= n;
		p += n;
		if (!nr)
			break;
		other = sheaf_for_full(f, top);
		if (!other) { /* the depot is full: to the slabs, the oldest last */
			whole = sheaf_capacity(top);
			n = nr / whole * whole;
			depot_note_made(array_depot(f), DEPOT_FULL, n / whole + (nr > n));
			engine_flush(f, n, p);
			nr -= n;
			p += n;
			other = nr ? sheaf_flush(f, top) : top;
		}
		top = other;
		if (!nr)
			break;
	}
	if (top)
		sheaf_keep(f, top);
	else
		engine_flush(f, nr, p);
}

void array_free_bulk(struct front *f, unsigned int nr, void **p)
{
	int cpu = percpu_cpu();
	unsigned int n = 0;
	unsigned int more;

	if (unlikely(!nr))
		return;
	if (unlikely(cpu < 0 || load_relaxed(&f->closed))) {
		engine_flush(f, nr, p);
		return;
	}
	/* a hint, likewise */
	if (sheaf_index(load_relaxed(percpu_word(f->id, cpu))) != USLAB_SHEAF_CAPACITY)
		n = array_push_run(f->id, cpu, nr, p);
	if (n < nr)
		n += spare_push_run(f, cpu, nr - n, p + n);
	while (n < nr && (more = array_exchange_full_run(f, cpu, nr - n, p + n)))
		n += more;
	if (n < nr)
		free_bulk_miss(f, nr - n, p + n);
}
