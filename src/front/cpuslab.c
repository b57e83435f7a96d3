/* SPDX-License-Identifier: MIT */
/*
 * front/cpuslab.c - a slab for each CPU: its private free list and partial slabs (spec 4.7 - 4.12)
 *
 * Data:       struct kmem_cache_cpu of each CPU: {freelist, slab}, and the list of partial slabs.
 * Invariants: freelist is not empty => slab is set and all objects of the list are slab's.
 *             slab and the partial slabs are frozen, and of this CPU only.
 *             Checked by cpuslab_check().
 * Locks:      kmem_cache_cpu.lock (RANK_CPUSLAB): slab and partial change under it only, and so
 *             does freelist but for the two hit paths. Held over list_lock and a fence, never while
 *             a new slab is made.
 * Flow:       called through front_cpuslab_ops; calls percpu.c, engine/slub/, page/nested.h.
 *
 * Contract. alloc pops the head of the running CPU's free list; free pushes onto it if the object's
 * slab is the running CPU's; both in one step that any interruption undoes. All else is a slow
 * path.
 *
 * A thread that holds the lock of CPU c may be migrated at any instruction. It then goes on holding
 * the lock, but every percpu_* step fails with -EAGAIN and changes nothing. So each step keeps the
 * invariant of {freelist, slab}, and what a step detached the thread owns:
 *
 *     hit alloc   { freelist == h && link of h == next }  -> freelist = next
 *     hit free    { freelist == h && slab == S }          -> freelist = obj      (link of obj is h)
 *     detach      freelist -> 0 (the objects are ours), then
 *                 { slab == S && freelist == 0 }          -> slab = 0            (S is ours)
 *     install     { slab == 0 && freelist == 0 }          -> slab = S, then
 *                 { freelist == 0 && slab == S }          -> freelist = list
 *     drain       slab = 0, fence; freelist = STOPPED, fence   (percpu_stop_xchg, from any CPU)
 *
 * Objects that could not be put onto freelist in the second half of install, or were taken in the
 * first half of a detach that failed, are freed to S: S is frozen, and its next owner finds them
 * there.
 *
 * Who may run at the same time as whom on one CPU's {freelist, slab}. S: sequences of one CPU
 * exclude one another, and the invariant holds between their steps; L: both hold the lock; F: the
 * fence of drain.
 *
 *                  hit alloc   hit free   detach   install   drain
 *     hit alloc        S           S         S        S        F
 *     hit free         S           S         S        S        F
 *     detach           S           S         L        L        L
 *     install          S           S         L        L        L
 *     drain            F           F         L        L        L
 *
 * F, hit free: it stores only if slab == S; after the first fence none is in flight, and every
 * later one sees slab == 0. F, hit alloc: STOPPED is a value that no hit stores, so after the
 * second fence freelist != STOPPED says that a pop committed: percpu_stop_xchg starts over.
 *
 * ABA: a hit alloc that compares h again after h was popped and pushed finds another link, or the
 * same one, and then next is right. Progress: a hit fails only when another thread of this CPU
 * succeeded or this one was interrupted; the slow path starts over only when it was moved or raced.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "engine/descriptor.h"
#include "front/cpuslab_hit.h"
#include "os/cpu/cpu.h"

#define LOOKAHEAD 3 /* objects of other slabs that a bulk free skips at most */

/* The CPU that a slow path works on, and the slab that it holds: frozen, and not yet a CPU's. */
struct work {
	struct engine *e;
	unsigned int id;
	int node;
	gfp_t gfp;
	int cpu;
	struct kmem_cache_cpu *c;
	struct page *slab;
	void *freelist;
};

/* ---- the slow paths' steps; lock held -------------------------------------------------------- */

/* Locks the running CPU's state; the thread may be migrated at once. false: there is none. */
static bool enter(struct work *w)
{
	w->cpu = percpu_cpu();
	if (w->cpu < 0)
		return false;
	w->c = percpu_state(w->id, w->cpu);
	lock_acquire(&w->c->lock);
	return true;
}

static void leave(struct work *w)
{
	lock_release(&w->c->lock);
	nested_call(); /* what was reported meanwhile is delivered now */
}

/* Frees the objects of a detached free list to their frozen slab. */
static void return_chain(struct engine *e, struct page *slab, void *head)
{
	unsigned int cnt;
	void *tail = slub_list_end(e, slab, head, &cnt);

	if (cnt)
		slub_free_chain(e, slab, head, tail, cnt, true);
}

/*
 * Detaches the CPU's slab and its free list into *slab and *freelist. 0 or -EAGAIN: migrated, the
 * CPU still has its slab.
 */
static int detach_locked(struct work *w, struct page **slab, void **freelist)
{
	uintptr_t s = load_relaxed(&w->c->slab);
	uintptr_t list;
	int err;

	*slab = (struct page *)s;
	*freelist = NULL;
	for (;;) {
		err = percpu_xchg(w->cpu, &w->c->freelist, 0, &list);
		if (!err) {
			/* Twice only if frees came in between: the first list goes back. */
			return_chain(w->e, *slab, *freelist);
			*freelist = (void *)list;
			err = percpu_cmp2_store(w->cpu, &w->c->slab, s, &w->c->freelist, 0, 0);
		}
		if (!err)
			return 0;
		if (err < 0) {
			return_chain(w->e, *slab, *freelist);
			return -EAGAIN;
		}
	}
}

/* Gives the CPU's slab back to its node. 0 or -EAGAIN. */
static int drop_cpu_slab_locked(struct work *w)
{
	struct page *slab;
	void *freelist;

	if (detach_locked(w, &slab, &freelist))
		return -EAGAIN;
	slub_cpu_deactivate(w->e, slab, freelist);
	return 0;
}

/*
 * The CPU's free list is not empty, and yet no hit took from it. If its head lies outside of the
 * slab, a link was overwritten, and no hit ever will: the list is reported and dropped.
 */
static void check_head_locked(struct work *w, const struct page *slab)
{
	uintptr_t head = load_relaxed(&w->c->freelist);

	if (likely(!head || freeptr_is_inside(slab, (void *)head)))
		return;
	if (!percpu_cmp2_store(w->cpu, &w->c->freelist, head, &w->c->slab, (uintptr_t)slab, 0))
		engine_mistake_now(w->e, page_address(slab), ENGINE_LIST_BROKEN);
}

/*
 * Steps b and c of spec 4.8: takes the CPU's slab into w->slab, which stays NULL if there is no
 * slab, or it is of another node or full. -EAGAIN: migrated, or another thread freed into it.
 */
static int take_cpu_slab_locked(struct work *w)
{
	struct page *slab = (struct page *)load_relaxed(&w->c->slab);

	w->slab = NULL;
	if (!slab)
		return 0;
	if (!node_matches(slab, w->node)) {
		engine_count(w->e, ALLOC_NODE_MISMATCH);
		return drop_cpu_slab_locked(w);
	}
	/* Detached from the CPU first: a full slab has no owner once the engine has unfrozen it. */
	if (percpu_cmp2_store(w->cpu, &w->c->slab, (uintptr_t)slab, &w->c->freelist, 0, 0)) {
		check_head_locked(w, slab);
		return -EAGAIN;
	}
	w->freelist = slub_cpu_get_freelist(w->e, slab);
	if (w->freelist)
		w->slab = slab;
	return 0;
}

/* Step d: the head of the CPU's partial list. */
static void take_cpu_partial_locked(struct work *w)
{
	struct page *slab;

	while (!w->slab && (slab = w->c->partial)) {
		store_relaxed(&w->c->partial, slab->next);
		slab->next = NULL;
		slab->slabs = 0;
		engine_count(w->e, CPU_PARTIAL_ALLOC);
		if (!node_matches(slab, w->node)) {
			engine_count(w->e, ALLOC_NODE_MISMATCH);
			slub_cpu_deactivate(w->e, slab, NULL);
			continue;
		}
		w->freelist = slub_cpu_get_freelist(w->e, slab);
		if (w->freelist)
			w->slab = slab;
	}
}

/* Step e: a node's partial slabs; the further ones become the CPU's partial list, empty by now. */
static void take_node_partial_locked(struct work *w)
{
	struct page *partials;

	if (w->slab)
		return;
	ASSERT(!w->c->partial);
	w->slab = slub_cpu_get_partial(w->e, w->node, w->gfp, &w->freelist, &partials);
	store_relaxed(&w->c->partial, partials);
}

/*
 * Step g: makes w->slab the CPU's, with the rest of its free list. A slab that another thread has
 * installed meanwhile is given back. 0 or -EAGAIN: migrated, the slab is still held.
 */
static int install_locked(struct work *w, void *rest)
{
	struct kmem_cache_cpu *c = w->c;

	if (load_relaxed(&c->slab)) {
		engine_count(w->e, CPUSLAB_FLUSH);
		if (drop_cpu_slab_locked(w))
			return -EAGAIN;
	}
	if (percpu_cmp2_store(w->cpu, &c->slab, 0, &c->freelist, 0, (uintptr_t)w->slab))
		return -EAGAIN;
	if (rest && percpu_cmp2_store(w->cpu, &c->freelist, 0, &c->slab, (uintptr_t)w->slab,
				      (uintptr_t)rest))
		return_chain(w->e, w->slab, rest);
	return 0;
}

/* ---- alloc ----------------------------------------------------------------------------------- */

/*
 * Returns the first object of the slab held; the slab with the others becomes the CPU's. Lock held.
 */
static void *use_slab(struct work *w)
{
	void *obj = w->freelist;
	void *rest = freeptr_get(slub_of(w->e), w->slab->layout, obj);

	while (install_locked(w, rest)) {
		leave(w);
		if (!enter(w)) {
			slub_cpu_deactivate(w->e, w->slab, rest);
			return obj;
		}
	}
	leave(w);
	return obj;
}

/* A thread without a CPU, which has no front. */
static void *engine_one(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	return f->engine->ops->refill(f->engine, &obj, 1, gfp, node) ? obj : NULL;
}

static cold void *alloc_slow(struct front *f, gfp_t gfp, int node)
{
	struct work w = { .e = f->engine, .id = f->id, .node = node, .gfp = gfp };
	void *obj;

	if (percpu_cpu() < 0)
		return engine_one(f, gfp, node);
	engine_count(f->engine, ALLOC_SLOWPATH);
	if (node >= (int)slub_of(f->engine)->nr_nodes)
		w.node = -1; /* spec 4.8a */
	for (;;) {
		if (!enter(&w))
			return engine_one(f, gfp, node);
		if (!take_cpu_slab_locked(&w))
			break;
		leave(&w);
		obj = pop(f, w.node);
		if (obj)
			return obj;
	}
	take_cpu_partial_locked(&w);
	take_node_partial_locked(&w);
	if (w.slab)
		return use_slab(&w);

	leave(&w); /* making a slab may take long */
	w.slab = slub_cpu_new_slab(w.e, gfp, w.node, &w.freelist);
	if (!w.slab)
		return NULL;
	if (enter(&w))
		return use_slab(&w);
	obj = w.freelist;
	slub_cpu_deactivate(w.e, w.slab, freeptr_get(slub_of(w.e), w.slab->layout, obj));
	return obj;
}

static noinline void *alloc_general(struct front *f, gfp_t gfp, int node)
{
	void *obj = pop_general(f, node);

	if (unlikely(!obj))
		return alloc_slow(f, gfp, node);
	engine_count(f->engine, ALLOC_FASTPATH);
	return obj;
}

static noinline void *count_alloc(struct front *f, void *obj)
{
	engine_count(f->engine, ALLOC_FASTPATH);
	return obj;
}

/* The slow path is a tail call, so that a hit saves no registers. */
static void *cpuslab_alloc(struct front *f, gfp_t gfp, int node)
{
	void *obj;

	if (unlikely(!pops_plain(f, node)))
		return alloc_general(f, gfp, node);
	obj = pop_plain(f);
	if (unlikely(!obj))
		return alloc_slow(f, gfp, node);
	return engine_counts() ? count_alloc(f, obj) : obj;
}

/* Pops are not counted here, as in the kernel. */
static unsigned int cpuslab_alloc_bulk(struct front *f, gfp_t gfp, unsigned int nr, void **p)
{
	unsigned int n;

	for (n = 0; n < nr; n++) {
		p[n] = pop(f, NUMA_NO_NODE);
		if (!p[n])
			p[n] = alloc_slow(f, gfp, NUMA_NO_NODE);
		if (!p[n])
			break;
	}
	return n;
}

/* ---- free ------------------------------------------------------------------------------------ */

/* A slab that was full and is frozen for this thread: onto the CPU's partial list (spec 4.12). */
static void put_cpu_partial(struct front *f, struct page *slab)
{
	struct work w = { .e = f->engine, .id = f->id };
	struct page *drained = NULL;
	struct page *old;

	if (!enter(&w)) {
		slab->next = NULL;
		slub_cpu_unfreeze_partials(w.e, slab);
		return;
	}
	old = w.c->partial;
	if (old && old->slabs >= load_relaxed(&slub_of(w.e)->cpu_partial_slabs)) {
		drained = old;
		old = NULL;
	}
	slab->next = old;
	slab->slabs = old ? old->slabs + 1 : 1;
	store_relaxed(&w.c->partial, slab);
	leave(&w);

	if (drained) {
		slub_cpu_unfreeze_partials(w.e, drained);
		engine_count(w.e, CPU_PARTIAL_DRAIN);
	}
}

static void free_chain(struct front *f, struct page *slab, void *head, void *tail, unsigned int cnt)
{
	if (likely(push_chain(f, slab, head, tail)))
		engine_count(f->engine, FREE_FASTPATH);
	else if (slub_free_chain(f->engine, slab, head, tail, cnt,
				 !(load_relaxed(&f->engine->flags) & DEBUG_SLAB_FLAGS)))
		put_cpu_partial(f, slab);
}

/* Is slab the running CPU's? A hint: the thread may be migrated. */
static inline bool is_this_cpus(struct front *f, const struct page *slab)
{
	int cpu = percpu_cpu();

	return cpu < 0 || load_relaxed(&percpu_state(f->id, cpu)->slab) == (uintptr_t)slab;
}

static noinline void free_slow(struct front *f, struct page *slab, void *obj)
{
	if (is_this_cpus(f, slab) || !slub_push_frozen(f->engine, slab, obj))
		free_chain(f, slab, obj, obj, 1);
}

static noinline void count_free(struct front *f)
{
	engine_count(f->engine, FREE_FASTPATH);
}

/* As cpuslab_alloc(). */
static void cpuslab_free(struct front *f, void *obj)
{
	struct page *slab = page_head_unchecked(obj);

	if (unlikely(!has_sequences(slub_of(f->engine)) || !push_plain(f, slab, obj, obj)))
		free_slow(f, slab, obj);
	else if (engine_counts())
		count_free(f);
}

/*
 * Links the last of nr objects, as long as they are of the slab that begins at start, behind *tail,
 * and updates *tail. Links are not encoded. Returns how many are left.
 */
static always_inline unsigned int chain_neighbours(const char *start, size_t bytes,
						   const struct slab_layout *layout,
						   unsigned int nr, void **p, void **tail)
{
	char *last = *tail;
	char *obj;

	for (; nr; nr--, last = obj) {
		obj = p[nr - 1];
		if ((size_t)(obj - start) >= bytes || unlikely(obj == last))
			break;
		store_relaxed(freeptr_slot(layout, last), (uintptr_t)obj);
	}
	*tail = last;
	return nr;
}

/*
 * Frees the last of nr objects together with those of its slab that are near in the array (spec
 * 5.8); the others are moved to the front. The last one is the first to be reused.
 * Returns how many are left.
 */
static unsigned int free_last_slab(struct front *f, unsigned int nr, void **p)
{
	void *head = p[--nr];
	struct page *slab = page_head_unchecked(head);
	const struct slub *s = slub_of(f->engine);
	const struct slab_layout *layout = slab->layout;
	const char *start = page_address(slab);
	const size_t bytes = PAGE_SIZE << slab->order;
	unsigned int lookahead = LOOKAHEAD;
	unsigned int cnt = nr + 1;
	unsigned int left;
	void *tail = head;

	if (likely(!s->hardened))
		nr = chain_neighbours(start, bytes, layout, nr, p, &tail);
	cnt -= nr;
	left = nr;
	while (nr && lookahead) {
		void *obj = p[--nr];

		if ((size_t)((char *)obj - start) >= bytes) {
			lookahead--;
			continue;
		}
		if (--left != nr) {
			p[nr] = p[left];
			p[left] = obj;
		}
		if (unlikely(obj == tail)) {
			engine_mistake_now(f->engine, obj, ENGINE_FREE_AGAIN);
			continue;
		}
		freeptr_set(s, layout, tail, obj);
		tail = obj;
		cnt++;
	}
	free_chain(f, slab, head, tail, cnt);
	return left;
}

static void cpuslab_free_bulk(struct front *f, unsigned int nr, void **p)
{
	while (nr)
		nr = free_last_slab(f, nr, p);
}

/* ---- the whole front ------------------------------------------------------------------------- */

static int cpuslab_init(struct front *f, unsigned int capacity)
{
	(void)capacity;
	if (!engine_is(f->engine, &slub_ops))
		return -EINVAL; /* only SLUB's slabs can be owned by a CPU */
	f->capacity = 0;
	front_stop_words(f->id);
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		memset(c, 0, sizeof(*c));
		lock_init(&c->lock, RANK_CPUSLAB);
	}
	return 0;
}

/* Detaches a CPU's slab, from any CPU; lock held. NULL: none, or that CPU cannot be fenced. */
static struct page *stop_cpu_locked(int cpu, struct kmem_cache_cpu *c, void **freelist)
{
	uintptr_t slab;
	uintptr_t list;

	if (!load_relaxed(&c->slab) || percpu_stop_xchg(cpu, &c->slab, 0, &slab))
		return NULL;
	if (percpu_stop_xchg(cpu, &c->freelist, STOPPED, &list)) {
		store_relaxed(&c->slab, slab); /* pushes may go on */
		return NULL;
	}
	/* Nothing can be in flight: pushes need a slab, pops an object. */
	store_relaxed(&c->freelist, 0);
	*freelist = (void *)list;
	return (struct page *)slab;
}

static void drain_cpu(struct front *f, int cpu)
{
	struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
	struct page *partials;
	struct page *slab;
	void *freelist = NULL;

	lock_acquire(&c->lock);
	slab = stop_cpu_locked(cpu, c, &freelist);
	partials = c->partial;
	store_relaxed(&c->partial, NULL);
	lock_release(&c->lock);

	if (slab) {
		engine_count(f->engine, CPUSLAB_FLUSH);
		slub_cpu_deactivate(f->engine, slab, freelist);
	}
	slub_cpu_unfreeze_partials(f->engine, partials);
}

/* flush_all of spec 4.12; any number at a time, and alloc and free may go on. */
static void cpuslab_drain(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);

		if (load_relaxed(&c->slab) || load_relaxed(&c->partial))
			drain_cpu(f, cpu);
	}
}

/* Where the link of the object at that address lies; NULL: there is none of this slab. */
static uintptr_t *slot_in_slab(const struct page *slab, uintptr_t obj)
{
	uintptr_t *slot = freeptr_slot(slab->layout, (void *)obj);
	uintptr_t at = (uintptr_t)slot - (uintptr_t)page_address(slab);

	return at % sizeof(*slot) || at >= PAGE_SIZE << slab->order ? NULL : slot;
}

/*
 * Counts the objects on a CPU's free list while hits change it: what was the link of an object may
 * be the program's bytes a moment later. So no link is followed out of the slab, and not more links
 * than the slab has objects.
 */
static unsigned int count_freelist(const struct front *f, const struct page *slab, uintptr_t obj)
{
	unsigned int most = engine_counters(slab).objects;
	unsigned int nr = 0;
	uintptr_t *slot;

	while (nr < most && obj > STOPPED && (slot = slot_in_slab(slab, obj))) {
		nr++;
		obj = freeptr_code(slub_of(f->engine), load_relaxed(slot), slot);
	}
	return nr;
}

static unsigned int free_in(const struct page *slab)
{
	struct slab_counters counters = engine_counters(slab);

	return counters.objects - counters.inuse;
}

/* Objects that neither the program has nor the engine counts as free. */
static unsigned long held_by_cpu(struct front *f, struct kmem_cache_cpu *c)
{
	const struct page *slab;
	unsigned long held = 0;

	lock_acquire(&c->lock); /* its slabs remain this CPU's */
	slab = (const struct page *)load_relaxed(&c->slab);
	if (slab)
		held = free_in(slab) + count_freelist(f, slab, load_relaxed(&c->freelist));
	for (slab = c->partial; slab; slab = slab->next)
		held += free_in(slab);
	lock_release(&c->lock);
	return held;
}

static unsigned long cpuslab_held(struct front *f)
{
	unsigned long held = 0;

	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		held += held_by_cpu(f, percpu_state(f->id, cpu));
	return held;
}

static void cpuslab_destroy(struct front *f)
{
	front_stop_words(f->id);
}

static void cpuslab_each_lock(struct front *f, void (*act)(struct lock *l))
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++)
		act(&percpu_state(f->id, cpu)->lock);
}

/* The CPU's free list: objects of its slab, each once as far as its length tells. */
static void check_freelist(struct front *f, const struct page *slab, uintptr_t freelist)
{
	unsigned int count = 0;
	void *obj;

	CHECK(freelist != STOPPED);
	for (obj = (void *)freelist; obj;
	     obj = freeptr_get(slub_of(f->engine), slab->layout, obj)) {
		CHECK(page_head_of(obj) == slab);
		CHECK(++count <= engine_counters(slab).inuse);
	}
}

static void check_frozen(struct front *f, const struct page *slab)
{
	CHECK(slab->type == PAGE_SLAB);
	CHECK(slab->engine == f->engine);
	CHECK(engine_counters(slab).frozen);
	CHECK(engine_counters(slab).inuse <= engine_counters(slab).objects);
}

static void cpuslab_check(struct front *f)
{
	for (int cpu = 0; cpu < (int)os_topology.nr_cpu_ids; cpu++) {
		struct kmem_cache_cpu *c = percpu_state(f->id, cpu);
		struct page *slab = (struct page *)c->slab;

		CHECK(slab || !c->freelist);
		if (slab) {
			check_frozen(f, slab);
			check_freelist(f, slab, c->freelist);
		}
		for (slab = c->partial; slab; slab = slab->next) {
			check_frozen(f, slab);
			CHECK(slab->freelist);
			CHECK(slab->slabs == (slab->next ? slab->next->slabs + 1 : 1));
		}
	}
}

const struct front_ops front_cpuslab_ops = {
	.name = TEXT_IN_CORES("cpuslab"),
	.init = cpuslab_init,
	.alloc = cpuslab_alloc,
	.free = cpuslab_free,
	.alloc_bulk = cpuslab_alloc_bulk,
	.free_bulk = cpuslab_free_bulk,
	.take_local = cpuslab_take_local,
	.drain = cpuslab_drain,
	.held = cpuslab_held,
	.destroy = cpuslab_destroy,
	.each_lock = cpuslab_each_lock,
	.check = cpuslab_check,
};
