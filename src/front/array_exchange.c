/* SPDX-License-Identifier: MIT */
/*
 * front/array_exchange.c - the common misses: a CPU's array in exchange for its spare, or for a
 * sheaf of its own lane of the depot
 *
 * Why:        docs/adr/0076.
 * Data:       the words of a CPU, its lane of the depot.
 * Invariants: see front/array.c and front/depot.h. A sheaf is taken out of its stack before it goes
 *             into a word, and what comes out of a word goes into a stack after that.
 * Locks:      the lane's, in an exchange with it: the sequences are run while it is held, so that
 *             drains, which take it, find each sheaf in a word or in a lane. Without rseq a word
 *             has a lock of a higher rank: nothing is done here then.
 * Flow:       called by array.c, array.h and array_bulk.c; calls array.c, front/percpu.c,
 *             front/depot_lane.h, array_near.c.
 *
 * What array.c does with sheaves that it takes out first and installs then, this file does in
 * place, where nothing else is to be done. Else, or where words change meanwhile, it says no: each
 * sheaf is then in a word or a stack again, if not always in the one where it was.
 *
 *   alloc: the array is empty; the spare has objects:      array <-> spare
 *          the spare is empty, too; the lane has a full one:   lane -> array -> lane
 *   free:  the array is full; the spare has space:             array <-> spare
 *          the spare is full, too; the lane has an empty one:  lane -> array -> spare -> lane
 *
 * What was freed last stays on the CPU.
 */
#include "front/array_sheaf.h"

#include "front/depot_lane.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"

/* What a miss on a CPU sees. */
struct view {
	union front_gate gate;
	struct depot *depot;
	struct depot_lane *lane;
	uintptr_t *word[2]; /* of the array, of the spare */
	uintptr_t top[2];   /* what they are; compared again in sequences */
	int cpu;
};

/* false: there is no lane, or the front is closed. */
static always_inline bool look_at_cpu(struct front *f, int cpu, struct view *v)
{
	struct depot_lane *lanes;

	v->gate.word = load_relaxed(&f->gate);
	v->depot = array_depot(f);
	lanes = lanes_of(v->depot);
	if (unlikely(!percpu_rseq || !lanes || v->gate.closed))
		return false;
	v->cpu = cpu;
	v->lane = lanes + lane_of_cpu(v->depot, cpu);
	v->word[0] = percpu_word(f->id, cpu);
	v->word[1] = percpu_spare(f->id, cpu);
	v->top[0] = load_relaxed(v->word[0]);
	v->top[1] = load_relaxed(v->word[1]);
	return true;
}

/* Puts a sheaf into a word in place of what was seen there, if all is as it was. */
static always_inline bool replace(struct front *f, const struct view *v, unsigned int which,
				  uintptr_t top)
{
	return !percpu_cmp2_store(v->cpu, v->word[which], v->top[which], &f->gate, v->gate.word,
				  top);
}

/* May one of `from` be exchanged for one of the other kind? The lane's lock is held. */
static always_inline bool lane_allows(const struct view *v, enum depot_kind from)
{
	enum depot_kind to = from == DEPOT_FULL ? DEPOT_EMPTY : DEPOT_FULL;

	return v->lane->capacity == v->gate.capacity && v->lane->stack[from].nr &&
	       (likely(has_spare_quota(&v->lane->stack[to])) ||
		depot_more_quota(v->depot, v->lane, to));
}

/* ---- the spare ---- */

/* Takes the spare that was seen: the caller owns it then. */
static always_inline bool take_spare(struct front *f, struct view *v)
{
	if (unlikely(!replace(f, v, 1, 0)))
		return false;
	v->top[1] = 0;
	return true;
}

/*
 * Ends what take_spare() began. The array that was seen becomes the spare; false: it has changed,
 * and the sheaf is what it was, the spare.
 */
static always_inline bool end_swap(struct front *f, const struct view *v, uintptr_t sheaf,
				   uintptr_t array)
{
	bool done = likely(replace(f, v, 0, array));
	uintptr_t spare = done ? v->top[0] : sheaf;

	if (unlikely(!replace(f, v, 1, spare)))
		sheaf_stash(f, spare);
	return done;
}

static always_inline unsigned int swap_empty(struct front *f, struct view *v, unsigned int nr,
					     void **p)
{
	uintptr_t top = v->top[1];
	uintptr_t rest;

	if (!take_spare(f, v))
		return 0;
	top = sheaf_near(f, top);
	rest = sheaf_take(top, nr, p);
	return end_swap(f, v, top, rest) ? sheaf_moved(top, rest) : 0;
}

static always_inline unsigned int swap_full(struct front *f, struct view *v, unsigned int nr,
					    void *const *p)
{
	uintptr_t top = v->top[1];
	uintptr_t more;

	if (!take_spare(f, v))
		return 0;
	more = sheaf_give(top, nr, p);
	return end_swap(f, v, top, more) ? sheaf_moved(top, more) : 0;
}

/* ---- alloc ---- */

/*
 * Were a sheaf's objects, just popped from the lane, freed by a CPU of another lane, or long ago?
 * What this CPU freed lately is in its caches: 32 sheaves have 1000 objects. Of depots that have
 * grown an epoch begins anew: what was there then counts as recent.
 */
#define RECENT_SHEAVES 32u

static always_inline bool seems_cold(const struct depot_lane *lane)
{
	const struct depot_stack *stack = &lane->stack[DEPOT_FULL];

	return stack->high - stack->nr > RECENT_SHEAVES || lane_is_source(lane, DEPOT_EMPTY);
}

/*
 * The sheaf is popped first: in a stack it does not say how many objects it has. Who takes many
 * leaves it to the program which of them it touches.
 */
static always_inline unsigned int exchange_empty(struct front *f, const struct view *v,
						 unsigned int nr, void **p)
{
	uintptr_t rest;
	uintptr_t top;

	if (!lane_allows(v, DEPOT_FULL))
		return 0;
	rest = top = pop(v->lane, DEPOT_FULL);
	if (sheaf_is_one(nr))
		sheaf_prefetch(top);
	if (likely(!sheaf_may_change(f, v->depot, top, v->cpu))) {
		if (sheaf_is_one(nr) && seems_cold(v->lane))
			sheaf_prefetch_objects(top);
		rest = sheaf_take(top, nr, p);
	}
	if (unlikely(rest == top || !replace(f, v, 0, rest))) {
		link_sheaf(v->lane, DEPOT_FULL, top); /* where it was */
		return 0;
	}
	push(v->depot, v->lane, DEPOT_EMPTY, v->top[0]);
	return sheaf_moved(top, rest);
}

static always_inline unsigned int alloc_in_place(struct front *f, int cpu, unsigned int nr,
						 void **p)
{
	struct view v;
	unsigned int n;

	/* a stopped word is no empty one: it looks as if it were full */
	if (!look_at_cpu(f, cpu, &v) || sheaf_count_at(v.top[0], v.gate.capacity) || !v.top[1])
		return 0;
	if (sheaf_count_at(v.top[1], v.gate.capacity))
		return likely(!front_is_stopped(v.top[1])) ? swap_empty(f, &v, nr, p) : 0;
	if (!load_relaxed(&v.lane->stack[DEPOT_FULL].nr))
		return 0;
	lock_acquire(&v.lane->lock);
	n = exchange_empty(f, &v, nr, p);
	lock_release(&v.lane->lock);
	return n;
}

noinline void *array_exchange_empty(struct front *f, int cpu)
{
	void *obj;

	return alloc_in_place(f, cpu, 1, &obj) ? obj : NULL;
}

noinline unsigned int array_exchange_empty_run(struct front *f, int cpu, unsigned int nr, void **p)
{
	return alloc_in_place(f, cpu, nr, p);
}

/* ---- free ---- */

static always_inline unsigned int exchange_full(struct front *f, const struct view *v,
						unsigned int nr, void *const *p)
{
	uintptr_t more;
	uintptr_t top;

	if (!lane_allows(v, DEPOT_EMPTY))
		return 0;
	top = pop(v->lane, DEPOT_EMPTY);
	if (sheaf_is_one(nr))
		sheaf_prefetch(top);
	more = sheaf_give(top, nr, p);
	if (unlikely(!replace(f, v, 0, more))) {
		link_sheaf(v->lane, DEPOT_EMPTY, top); /* where it was */
		return 0;
	}
	push(v->depot, v->lane, DEPOT_FULL, v->top[likely(replace(f, v, 1, v->top[0]))]);
	return sheaf_moved(top, more);
}

static always_inline unsigned int free_in_place(struct front *f, int cpu, unsigned int nr,
						void *const *p)
{
	struct view v;
	unsigned int n;

	if (!look_at_cpu(f, cpu, &v) || !v.top[1] ||
	    sheaf_index(v.top[0]) != USLAB_SHEAF_CAPACITY || front_is_stopped(v.top[0]) ||
	    unlikely(buddy_falls()))
		return 0;
	if (sheaf_index(v.top[1]) != USLAB_SHEAF_CAPACITY)
		return swap_full(f, &v, nr, p);
	if (os_topology.nr_nodes > 1 || front_is_stopped(v.top[1]) ||
	    !load_relaxed(&v.lane->stack[DEPOT_EMPTY].nr))
		return 0;
	lock_acquire(&v.lane->lock);
	n = exchange_full(f, &v, nr, p);
	lock_release(&v.lane->lock);
	if (n)
		array_limit_age(0);
	return n;
}

noinline bool array_exchange_full(struct front *f, int cpu, void *obj)
{
	return free_in_place(f, cpu, 1, &obj);
}

noinline unsigned int array_exchange_full_run(struct front *f, int cpu, unsigned int nr,
					      void *const *p)
{
	return free_in_place(f, cpu, nr, p);
}
