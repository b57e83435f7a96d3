/* SPDX-License-Identifier: MIT */
/*
 * front/array.c - per-CPU arrays that are exchanged whole (SLAB's array_cache, SLUB's sheaf)
 *
 * Why:        docs/adr/0007, docs/adr/0055.
 * Data:       per CPU the current sheaf (its top in the CPU's word) and a spare one (spare word);
 *             per node a depot of sheaves.
 * Invariants: every sheaf has one owner: a word, a spare word, a depot, or the function that took
 *             it out of one of them. Objects in sheaves count as in use in their slabs. Sheaves in
 *             words and depots have the front's capacity, but while that changes
 *             (array_capacity.c); those that a miss owns may have another.
 *             Checked by array_check() on quiet caches.
 * Locks:      none held here; the lanes' and the engine's inside calls.
 * Flow:       called by array_bulk.c, array_capacity.c, array_exchange.c, array_idle.c,
 *             array_limit.c, array_near.c, array_remote.c, cache/watch.c and through
 *             front_array_ops; calls array_exchange.c, array_idle.c, array_near.c, front/percpu.c,
 *             front/depot.c, engine->ops. Many objects at once: front/array_bulk.c; how many an
 *             array holds: front/array_capacity.c.
 *
 * A miss works on a sheaf that it owns alone and then installs it in the word of whatever CPU it
 * runs on by then, taking the old one out in the same sequence. Ownership passes only through
 * percpu_cmp2_store (the two words) or a lane's lock; a thread that is preempted, migrated or
 * interrupted by a signal between these steps holds sheaves that no one else can see.
 *
 * array_exchange.c does in place what most misses need. What is done where that says no:
 *
 *   alloc miss: spare with objects | full sheaf of the depot | empty sheaf + engine refill
 *   free miss:  spare with space | exchange a full spare for an empty sheaf | flush a full one
 *
 * On machines with several nodes a full sheaf gives its objects of other nodes away before it goes
 * anywhere (array_remote.c), and stays if it had any.
 *
 * Two sheaves per CPU, so that a program which allocates and frees around the boundary of one does
 * not exchange each time (Bonwick's magazines, USENIX 2001).
 *
 * Which functions may meet on one CPU's words (rseq mode; the generic mode has a lock for this):
 *   hit paths, swap, unstash, withdraw, exchanges in place: sequences of that CPU, exclude one
 *                              another
 *   drain:                     percpu_stop_both with f->closed set; swap compares f->gate, and
 *                              unstash and withdraw what they take, so that they never store over a
 *                              stopped word
 */
#include "front/array_sheaf.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "front/array_charged.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"
#include "page/buddy.h"
#include "page/meta.h"

/* ---- hits ---- */

void *array_pop(unsigned int id, int cpu)
{
	void *obj;

#if USLAB_HAVE_RSEQ
	if (likely(percpu_rseq))
		return uslab_rseq_pop(percpu_word_handle(id), os_rseq_offset, &obj) ? obj : NULL;
#endif
	percpu_enter(cpu);
	obj = word_pop(percpu_word(id, cpu));
	percpu_exit(cpu);
	return obj;
}

bool array_push(unsigned int id, int cpu, void *obj)
{
	bool done;

#if USLAB_HAVE_RSEQ
	if (likely(percpu_rseq))
		return uslab_rseq_push(percpu_word_handle(id), obj, os_rseq_offset);
#endif
	percpu_enter(cpu);
	done = word_push(percpu_word(id, cpu), obj);
	percpu_exit(cpu);
	return done;
}

/* Without waiting: where there are no sequences, the CPU's lock is tried. */

static void *array_try_alloc(struct front *f)
{
	int cpu = percpu_cpu();
	void *obj;

	if (cpu < 0 || load_relaxed(&f->closed))
		return NULL;
	if (percpu_rseq)
		return array_pop(f->id, cpu);
	if (!percpu_try_enter(cpu))
		return NULL;
	obj = word_pop(percpu_word(f->id, cpu));
	percpu_exit(cpu);
	return obj;
}

static bool array_try_free(struct front *f, void *obj)
{
	int cpu = percpu_cpu();
	bool done;

	if (cpu < 0 || load_relaxed(&f->closed))
		return false;
	if (percpu_rseq)
		return array_push(f->id, cpu, obj);
	if (!percpu_try_enter(cpu))
		return false;
	done = word_push(percpu_word(f->id, cpu), obj);
	percpu_exit(cpu);
	return done;
}

/*
 * Most who come here have just missed, and need not try again. Hints: whether the array of a CPU is
 * empty, or full. A sheaf stays mapped, whoever has it by now.
 */
static always_inline bool seems_empty(unsigned int id, int cpu)
{
	return percpu_rseq && !load_relaxed((void **)load_relaxed(percpu_word(id, cpu)));
}

static always_inline bool seems_full(unsigned int id, int cpu)
{
	return percpu_rseq &&
	       sheaf_index(load_relaxed(percpu_word(id, cpu))) == USLAB_SHEAF_CAPACITY;
}

/* ---- objects to and from the engine ---- */

static void *engine_one(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	return f->engine->ops->refill(f->engine, &obj, 1, gfp, node) ? obj : NULL;
}

/*
 * Fills an empty sheaf that the caller owns. The engine hands out ascending addresses, the sheaf is
 * taken from its top: put in backwards, so that neighbours are allocated one after the other.
 * Returns the new top, unchanged when out of memory.
 */
uintptr_t sheaf_fill(struct front *f, uintptr_t top, gfp_t gfp)
{
	void *objs[USLAB_SHEAF_CAPACITY];
	void **entry = (void **)top;
	unsigned int n;

	array_limit_reap();
	array_limit_reap_large((size_t)sheaf_room(top) * f->engine->size, array_depot(f));
	depot_note_made(array_depot(f), DEPOT_EMPTY, 1);
	n = f->engine->ops->refill(f->engine, objs, sheaf_room(top), gfp, NUMA_NO_NODE);
	while (n)
		*++entry = objs[--n];
	return (uintptr_t)entry;
}

/* Gives all objects of a sheaf that the caller owns back; returns the empty top. */
uintptr_t sheaf_flush(struct front *f, uintptr_t top)
{
	unsigned int count = sheaf_count(top);
	uintptr_t bottom = top - count * sizeof(void *);

	if (count)
		f->engine->ops->flush(f->engine, (void **)bottom + 1, count);
	return bottom;
}

/* ---- sheaves that the caller owns find a place ---- */

/* A new one; 0: out of memory, or the front has no arrays any more. */
static uintptr_t sheaf_make(struct front *f)
{
	unsigned int capacity = load_relaxed(&f->capacity);

	return likely(capacity) ? sheaf_new(capacity) : 0;
}

/* An empty sheaf, from the depot or new; 0: see sheaf_make(). */
uintptr_t sheaf_get_empty(struct front *f)
{
	uintptr_t top = depot_get(array_depot(f), DEPOT_EMPTY);

	return top ? top : sheaf_make(f);
}

static void sheaf_put_empty(struct front *f, uintptr_t top)
{
	if (!depot_put(array_depot(f), DEPOT_EMPTY, top))
		sheaf_delete(top);
}

/* Any sheaf: to the depot if that has space, else its objects go back to their slabs. */
static void sheaf_put(struct front *f, uintptr_t top)
{
	if (os_topology.nr_nodes > 1)
		top = array_remote_sort(f, top);
	if (sheaf_count(top)) {
		if (depot_put(array_depot(f), DEPOT_FULL, top))
			return;
		top = sheaf_flush(f, top);
	}
	sheaf_put_empty(f, top);
}

/*
 * Puts a sheaf into one of the two words of the CPU that this thread runs on, and returns what was
 * there, which the caller owns now. place: percpu_word or percpu_spare. false: the front is
 * drained, or has another capacity or other words by now, or there is no CPU; the caller still owns
 * the sheaf.
 */
static always_inline bool sheaf_swap(struct front *f, uintptr_t *(*place)(unsigned int id, int cpu),
				     uintptr_t top, uintptr_t *old)
{
	const union front_gate gate = { .closed = 0, .capacity = sheaf_capacity(top) };
	uintptr_t *word;
	int cpu;

	do {
		cpu = percpu_cpu();
		if (cpu < 0 || load_relaxed(&f->gate) != gate.word)
			return false;
		word = place(f->id, cpu);
		*old = load_relaxed(word);
		if (unlikely(*old == front_moved_word))
			return false; /* that was its place before the front was closed */
		/* compared in the sequence: pairs with array_drain and array_set_capacity */
	} while (percpu_cmp2_store(cpu, word, *old, &f->gate, gate.word, top));
	if (unlikely(!array_is_sheaf(*old)))
		array_note_sheaf(cpu);
	return true;
}

/* Makes a sheaf the spare of this CPU; the one that was goes to the depot. */
void sheaf_stash(struct front *f, uintptr_t top)
{
	uintptr_t previous;

	if (!sheaf_swap(f, percpu_spare, top, &previous))
		sheaf_put(f, top);
	else if (previous && previous != front_stop_word)
		sheaf_put(f, previous);
}

/*
 * Makes a sheaf the current one of this CPU; its old one becomes the spare. If it cannot be put
 * there (sheaf_swap()) it is emptied instead.
 */
void sheaf_install(struct front *f, uintptr_t top)
{
	uintptr_t old;

	if (!sheaf_swap(f, percpu_word, top, &old))
		sheaf_delete(sheaf_flush(f, top));
	else if (!front_is_stopped(old))
		sheaf_stash(f, old);
}

uintptr_t sheaf_unstash(struct front *f)
{
	return sheaf_take_out(f, percpu_spare, 0);
}

uintptr_t sheaf_withdraw(struct front *f)
{
	return sheaf_take_out(f, percpu_word, front_gone_word);
}

/* ---- alloc ---- */

/* A sheaf with objects from the depot in exchange for the empty one `top` (or 0); 0: none. */
uintptr_t sheaf_from_depot(struct front *f, uintptr_t top)
{
	struct depot *d = array_depot(f);
	uintptr_t other = top ? depot_exchange(d, DEPOT_EMPTY, top) : 0;

	if (!other) {
		/* the depot may have no space for an empty one: take a full one all the same */
		other = depot_get(d, DEPOT_FULL);
		if (other && top) {
			depot_note_made(d, DEPOT_EMPTY, 1);
			sheaf_delete(top);
		}
	}
	if (!other && depot_may_underflow(d))
		array_limit_underflow(f, d);
	return other;
}

/* A hint. */
static bool spare_is_empty(struct front *f)
{
	int cpu = percpu_cpu();
	uintptr_t top = cpu < 0 ? 0 : load_relaxed(percpu_spare(f->id, cpu));

	return top && !front_is_stopped(top) && !sheaf_count_at(top, load_relaxed(&f->capacity));
}

/*
 * A sheaf with at least one object, owned by the caller; 0: out of memory. Of two empty sheaves the
 * CPU's array is exchanged, so that the spare need not be taken and the array not become the spare.
 */
static uintptr_t sheaf_with_objects(struct front *f, gfp_t gfp)
{
	uintptr_t top = spare_is_empty(f) ? sheaf_withdraw(f) : 0;
	uintptr_t other;

	if (!top)
		top = sheaf_unstash(f);
	if (top && sheaf_count(top))
		return sheaf_near(f, top);
	other = sheaf_from_depot(f, top);
	if (other) {
		sheaf_prefetch(other);
		other = sheaf_near(f, other);
		sheaf_prefetch_objects(other);
		return other;
	}
	if (!top)
		top = sheaf_get_empty(f);
	if (!top)
		return 0;
	other = sheaf_fill(f, top, gfp);
	if (other != top)
		return other;
	sheaf_put_empty(f, top);
	return 0;
}

static noinline void *alloc_miss(struct front *f, gfp_t gfp)
{
	uintptr_t top = sheaf_with_objects(f, gfp);
	void *obj;

	if (!top) /* there may be memory for an object, though not for a sheaf */
		return engine_one(f, gfp, NUMA_NO_NODE);
	obj = *(void **)top;
	sheaf_install(f, top - sizeof(void *));
	return obj;
}

static void *array_alloc(struct front *f, gfp_t gfp, int node)
{
	void *obj;
	int cpu;

	/* Objects cached may lie anywhere, since frees are taken from all nodes. */
	if (node != NUMA_NO_NODE && os_topology.nr_nodes > 1 &&
	    (gfp & __GFP_THISNODE || (unsigned int)node != os_current_node()))
		return engine_one(f, gfp, node);
	cpu = percpu_cpu();
	if (unlikely(cpu < 0 || load_relaxed(&f->closed)))
		return engine_one(f, gfp, node);
	obj = array_exchange_empty(f, cpu);
	if (!obj && !seems_empty(f->id, cpu))
		obj = array_pop(f->id, cpu);
	return likely(obj) ? obj : alloc_miss(f, gfp);
}

/* ---- free ---- */

/* See array_sheaf.h. */
uintptr_t sheaf_for_full(struct front *f, uintptr_t top)
{
	struct depot *d = array_depot(f);
	uintptr_t other;

	if (os_topology.nr_nodes > 1) {
		top = array_remote_sort(f, top);
		if (sheaf_room(top))
			return top;
	}
	array_limit_age(os_current_node());
	other = depot_exchange(d, DEPOT_FULL, top);
	if (other) {
		sheaf_prefetch(other);
		return other;
	}
	/* a hint: else each overflow would make a sheaf, only to leave it empty in the depot */
	other = depot_has_room(d) ? sheaf_make(f) : 0;
	if (!other || depot_put(d, DEPOT_FULL, top))
		return other;
	sheaf_put_empty(f, other);
	return 0;
}

/* A sheaf with space for at least one object, owned by the caller; 0: out of memory. */
static uintptr_t sheaf_with_room(struct front *f)
{
	uintptr_t top = sheaf_unstash(f);
	uintptr_t other;

	if (!top)
		return sheaf_get_empty(f);
	if (sheaf_room(top))
		return top;
	other = sheaf_for_full(f, top);
	if (other)
		return other;
	array_limit_reap();
	depot_note_made(array_depot(f), DEPOT_FULL, 1);
	return sheaf_flush(f, top);
}

static noinline void free_miss(struct front *f, void *obj)
{
	bool gone = unlikely(buddy_falls()) && array_give_up(f);
	uintptr_t top = gone ? 0 : sheaf_with_room(f);

	if (!top) {
		f->engine->ops->flush(f->engine, &obj, 1);
		return;
	}
	top += sizeof(void *);
	*(void **)top = obj;
	sheaf_install(f, top);
}

static void array_free(struct front *f, void *obj)
{
	int cpu = percpu_cpu();

	if (unlikely(cpu < 0 || load_relaxed(&f->closed)))
		f->engine->ops->flush(f->engine, &obj, 1);
	else if (!array_exchange_full(f, cpu, obj) &&
		 (seems_full(f->id, cpu) || !array_push(f->id, cpu, obj)))
		free_miss(f, obj);
}

/* ---- the whole front ---- */

static void flush_taken(struct front *f, uintptr_t top)
{
	if (top && !front_is_stopped(top))
		sheaf_delete(sheaf_flush(f, top));
}

static bool holds_none(struct front *f, int cpu)
{
	uintptr_t top = load_relaxed(percpu_word(f->id, cpu));

	return (!top || top == front_stop_word) && !load_relaxed(percpu_spare(f->id, cpu));
}

/*
 * Takes the sheaves out of a CPU's two words and stops the first one. 0, also if there were none;
 * -errno: the CPU could not be fenced, and a sheaf may still be there. Each fence interrupts the
 * CPU: there is one at most, unless an install comes in between.
 */
static int drain_cpu(struct front *f, int cpu, bool settle)
{
	uintptr_t *const word[2] = { percpu_word(f->id, cpu), percpu_spare(f->id, cpu) };
	uintptr_t top[2];
	int ret = 0;

	if (holds_none(f, cpu)) {
		if (settle)
			ret = percpu_settle(cpu);
		if (!settle || ret || holds_none(f, cpu))
			return ret;
	}
	ret = percpu_stop_both(cpu, word, front_stop_word, top);
	flush_taken(f, top[0]);
	flush_taken(f, top[1]);
	/* Still closed: nothing was put there, nor is taken. */
	if (load_relaxed(word[1]) == front_stop_word)
		percpu_put_back(cpu, word[1], 0);
	return ret;
}

void array_drain_cpu(struct front *f, int cpu)
{
	/* seen by installs as in array_drain() */
	__atomic_fetch_or(&f->closed, FRONT_DRAINING, __ATOMIC_SEQ_CST);
	drain_cpu(f, cpu, false);
	__atomic_fetch_and(&f->closed, ~(uint32_t)FRONT_DRAINING, __ATOMIC_RELEASE);
}

int array_drain_cpus(struct front *f, bool settle)
{
	int ret = 0;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		int err = drain_cpu(f, cpu, settle);

		ret = ret ? ret : err;
	}
	return ret;
}

void array_drain_depot(struct front *f, struct depot *d)
{
	uintptr_t top;

	while ((top = depot_take(d, DEPOT_FULL)))
		sheaf_delete(sheaf_flush(f, top));
	while ((top = depot_take(d, DEPOT_EMPTY)))
		sheaf_delete(top);
	array_remote_drain(f, d);
}

/*
 * One drain at a time: the registry lock. Only with FRONT_CLOSED it matters that an
 * install which began before is over; else it is as one that begins right after the drain.
 */
void array_drain(struct front *f)
{
	bool settle = f->closed & FRONT_CLOSED;

	/*
	 * seen by every install that starts after percpu_stop_both's fence;
	 * pairs with sheaf_install
	 */
	__atomic_fetch_or(&f->closed, FRONT_DRAINING, __ATOMIC_SEQ_CST);
	array_charged_drain(f); /* first: it waits for others who give objects to this front */
	array_drain_cpus(f, settle);
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		array_drain_depot(f, &f->depot[node]);
	array_limit_wait(); /* a reap may still hold sheaves of this front */
	__atomic_fetch_and(&f->closed, ~(uint32_t)FRONT_DRAINING, __ATOMIC_RELEASE);
}

static unsigned long word_count(struct front *f, uintptr_t top)
{
	return top && !front_is_stopped(top) ? sheaf_count_at(top, f->capacity) : 0;
}

static unsigned long array_held(struct front *f)
{
	unsigned long held = 0;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		held += word_count(f, load_relaxed(percpu_word(f->id, cpu)));
		held += word_count(f, load_relaxed(percpu_spare(f->id, cpu)));
	}
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		held += depot_objects(&f->depot[node]) + array_remote_held(&f->depot[node]);
	return held + array_charged_held(f);
}

static void array_destroy(struct front *f)
{
	const struct array_charged_ops *ops = load_acquire(&array_charged); /* likewise */

	front_stop_words(f->id);
	if (ops)
		ops->forget(f);
	array_limit_forget(f);
	array_idle_forget(f);
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		array_remote_destroy(&f->depot[node]);
		depot_destroy(&f->depot[node]);
	}
	meta_free(f->depot, os_topology.nr_nodes * sizeof(struct depot));
	f->depot = NULL;
}

static void array_each_lock(struct front *f, void (*act)(struct lock *l))
{
	bool taking = act == lock_fork_prepare;

	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		struct depot *d = &f->depot[node];

		if (taking)
			depot_each_lock(d, act);
		array_remote_each_lock(d, act);
		if (!taking)
			depot_each_lock(d, act);
	}
}

static void check_sheaf(struct front *f, uintptr_t top, unsigned int capacity)
{
	unsigned int bottom = USLAB_SHEAF_CAPACITY - capacity;

	if (!top || front_is_stopped(top))
		return;
	CHECK(sheaf_index(top) >= bottom);
	CHECK(sheaf_bottom(top) == bottom);
	CHECK(!sheaf_base(top)[bottom]);
	for (unsigned int i = bottom + 1; i <= sheaf_index(top); i++) {
		struct page *page = page_head_of(sheaf_base(top)[i]);

		if (page && page->type == PAGE_HEAP)
			CHECK(page->heap == f->engine->ops->heap);
		else
			CHECK(page && page->type == PAGE_SLAB && page->engine == f->engine);
	}
}

static void array_check(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		check_sheaf(f, load_relaxed(percpu_word(f->id, cpu)), f->capacity);
		check_sheaf(f, load_relaxed(percpu_spare(f->id, cpu)), f->capacity);
		check_sheaf(f, load_relaxed(percpu_charged(f->id, cpu)),
			    array_charged_capacity(f->capacity));
	}
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		depot_check(&f->depot[node]);
		array_remote_check(&f->depot[node], node);
	}
}

const struct front_ops front_array_ops = {
	.name = TEXT_IN_CORES("array"),
	.init = array_init,
	.alloc = array_alloc,
	.free = array_free,
	.try_alloc = array_try_alloc,
	.try_free = array_try_free,
	.alloc_bulk = array_alloc_bulk,
	.free_bulk = array_free_bulk,
	.take_local = array_take_local,
	.drain = array_drain,
	.reap = array_reap,
	.set_capacity = array_set_capacity,
	.held = array_held,
	.destroy = array_destroy,
	.each_lock = array_each_lock,
	.check = array_check,
};
