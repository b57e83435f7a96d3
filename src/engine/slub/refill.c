/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/refill.c - objects for a front: of partial slabs, then of new ones (spec 4.8, 4.9)
 *
 * Why:        docs/adr/0010, docs/adr/0056, docs/adr/0058, docs/adr/0074.
 * Data:       none of its own.
 * Invariants: a slab leaves the partial list in the same hold of list_lock that made it full.
 * Locks:      list_lock is taken once for all partial slabs of a node; new slabs are allocated
 *             without it. Pushes by free.c run at any time; see the table at the head of free.c.
 * Flow:       called through slub_ops, and by low.c; calls ascend.c, lane.c, slab.c,
 *             node.c.
 *
 * Objects come out in the order of the free lists, those of one slab ascending in lazy caches
 * (ascend.c), then (lazy caches) ascending from what was never touched. A pack cache is content
 * with half of what was wanted before it takes new memory.
 *
 * To follow a free list is to wait for memory: each link lies in another cache line. So where a
 * slab's whole list is wanted it is only detached under the lock, and the lists of several slabs
 * are followed side by side after it. Measured on the hackbench trace, 31 objects at a time: 1.4 us
 * a refill one list after the other, 0.8 us side by side.
 */
#include "base/bits.h"
#include "engine/placement.h"
#include "engine/slub/slab.h"

#define MAX_CHAINS 16

/* The free list of a slab, taken off it whole: nobody else's. */
struct chain_out {
	struct page *slab;
	void *next;	 /* first object that is still to come out */
	void **out;	 /* where it goes */
	void **first;	 /* where the first one went */
	unsigned int nr; /* objects left */
};

struct refill {
	struct engine *e;
	void **objs;
	unsigned int want;
	unsigned int got;	/* those of chains included */
	unsigned int nr_chains; /* detached and not yet followed */
	bool backwards;		/* from the tail of the partial list */
	bool whole;		/* ends before a slab that has more objects than are wanted */
	bool lanes;		/* leaves slabs alone that other CPUs take from */
	bool broken;		/* a free list was, and that has to be delivered */
	struct chain_out chains[MAX_CHAINS];
};

/* The slab counts as full: nothing of it is taken. node NULL: it is on no list. */
static cold void give_up_locked(struct refill *r, struct engine_node *node, struct page *slab,
				bool listed)
{
	engine_mistake(r->e, page_address(slab), ENGINE_LIST_BROKEN);
	r->broken = true;
	if (node && !listed)
		engine_node_add_partial_locked(node, slab, false);
	slub_isolate_locked(r->e, node, slab);
}

/*
 * Takes up to max objects of a slab into objs, linked ones first. Returns how many; *full tells
 * that none is left. Context: list_lock held, or (node NULL) the slab is private; so nobody else
 * takes, and the links behind the list's head stay, but pushes may put more before it.
 *
 * A slab leaves the partial list before the exchange that makes it full: from then on a push with
 * CPU partial support may freeze it for its own list at once, without the lock.
 */
static unsigned int take_objects(struct refill *r, struct engine_node *node, struct page *slab,
				 bool *full)
{
	struct engine *e = r->e;
	void **objs = r->objs + r->got;
	unsigned int max = r->want - r->got;
	const struct slab_layout *layout = slab->layout;
	const struct slub *s = slub_of(e);
	struct slub_state old;
	struct slub_state new;
	unsigned int linked;
	unsigned int fresh;
	unsigned int i;
	bool listed = node;

again:
	do {
		old = slub_read(slab);
		new = old;
		for (linked = 0; linked < max && new.freelist; linked++) {
			objs[linked] = new.freelist;
			new.freelist = freeptr_get(s, layout, new.freelist);
			if (unlikely(new.freelist && !freeptr_is_inside(slab, new.freelist)))
				goto broken;
		}
		fresh = MIN(max - linked,
			    (unsigned int)(old.counters.objects - old.counters.formatted));
		new.counters.formatted += fresh;
		new.counters.inuse += linked + fresh;
		if (unlikely(slub_ends_wrong(&old, &new, linked + fresh)))
			goto broken;
		*full = new.counters.inuse == new.counters.objects;
		if (*full && listed) {
			engine_node_remove_partial_locked(node, slab);
			listed = false;
		}
	} while (unlikely(!slub_exchange(e, slab, &old, &new)));

	if (unlikely(node && !listed && !*full))
		engine_node_add_partial_locked(node, slab, false);
	for (i = 0; i < fresh; i++)
		objs[linked + i] = slub_object(slab, old.counters.formatted + i);
	return linked + fresh;

broken:
	if (!slub_is_still(e, slab, &old))
		goto again;
	give_up_locked(r, node, slab, listed);
	*full = true;
	return 0;
}

static inline unsigned int count_free(const struct slub_state *state)
{
	return state->counters.objects - state->counters.inuse;
}

/* A list that was cut to nothing is left to take_objects(), which says so. */
static inline bool can_detach(const struct refill *r, const struct slub_state *state)
{
	return r->nr_chains < MAX_CHAINS && !slub_of(r->e)->hardened && state->freelist &&
	       state->counters.formatted == state->counters.objects &&
	       count_free(state) <= r->want - r->got;
}

/*
 * Detaches the free list of a slab if no more objects are in it than are wanted; else does nothing
 * and returns false. As in take_objects() the slab leaves the partial list before the exchange.
 */
static bool try_detach_locked(struct refill *r, struct engine_node *node, struct page *slab)
{
	struct slub_state old = slub_read(slab);
	struct slub_state new;

	if (!can_detach(r, &old))
		return false;
	engine_node_remove_partial_locked(node, slab);
	for (;;) {
		new = old;
		new.freelist = NULL;
		new.counters.inuse = old.counters.objects;
		if (likely(slub_exchange(r->e, slab, &old, &new)))
			break;
		old = slub_read(slab);
		if (!can_detach(r, &old)) { /* frees came in between */
			engine_node_add_partial_locked(node, slab, false);
			return false;
		}
	}
	__builtin_prefetch(freeptr_slot(slab->layout, old.freelist));
	r->chains[r->nr_chains++] = (struct chain_out){
		.slab = slab,
		.next = old.freelist,
		.out = r->objs + r->got,
		.first = r->objs + r->got,
		.nr = count_free(&old),
	};
	r->got += count_free(&old);
	slub_node_add_full_locked(r->e, node, slab);
	return true;
}

/*
 * The next object of a list; whether it ends where it should shows whether it is intact. If not,
 * none of it is handed out: its places are left empty.
 */
static void follow_chain(struct refill *r, struct chain_out *chain)
{
	void *next = freeptr_get(slub_of(r->e), chain->slab->layout, chain->next);

	*chain->out++ = chain->next;
	chain->next = next;
	chain->nr--;
	if (unlikely(!chain->nr != !next || (next && !freeptr_is_inside(chain->slab, next)))) {
		engine_mistake(r->e, page_address(chain->slab), ENGINE_LIST_BROKEN);
		r->broken = true;
		while (chain->first < chain->out + chain->nr)
			*chain->first++ = NULL;
		chain->nr = 0;
	}
}

/* Closes up the places that broken lists left empty. */
static cold void close_up(struct refill *r)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < r->got; i++)
		if (r->objs[i])
			r->objs[n++] = r->objs[i];
	r->got = n;
}

/* The objects of all detached lists, one of each in turn, each list to its own place. */
static void follow_chains(struct refill *r)
{
	while (r->nr_chains) {
		for (unsigned int i = 0; i < r->nr_chains; i++) {
			struct chain_out *chain = &r->chains[i];

			follow_chain(r, chain);
			if (chain->nr)
				continue;
			if (likely(chain->first < chain->out)) /* not broken */
				slub_ascend(r->e, chain->slab, chain->first,
					    (unsigned int)(chain->out - chain->first));
			*chain = r->chains[--r->nr_chains];
		}
	}
}

/*
 * Are all free objects of a slab wanted? list_lock held. Those that a push adds after this look
 * stay in the slab, as if they had been freed after the refill.
 */
static bool is_wanted_whole(const struct refill *r, const struct page *slab)
{
	struct slub_state state = slub_read(slab);

	return count_free(&state) <= r->want - r->got;
}

/* What is no event in Linux 7.0, where the front counts objects (spec A9). */
static inline void count_own(const struct engine *e, enum engine_stat item)
{
	if (engine_counts() && !slub_of(e)->counted)
		engine_count(e, item);
}

/* The next partial slab of a node; NULL: there is none to take from. list_lock held. */
static inline struct page *next_locked(const struct refill *r, struct engine_node *node)
{
	if (list_empty(&node->partial))
		return NULL;
	if (r->lanes)
		return slub_lane_next_locked(node, r->backwards);
	return slub_first_partial(node, r->backwards);
}

/* From a node's partial slabs, one after the other. true: all that was wanted is there. */
static bool refill_from_node(struct engine_node *node, void *arg)
{
	struct refill *r = arg;
	struct page *slab;
	unsigned int taken;
	bool full;

	/* Without the lock: a slab that is missed here costs at most a new one. */
	if (!load_relaxed(&node->nr_partial))
		return false;
	lock_acquire(&node->list_lock);
	while (r->got < r->want && (slab = next_locked(r, node))) {
		if (try_detach_locked(r, node, slab)) {
			count_own(r->e, ALLOC_FROM_PARTIAL);
			continue;
		}
		if (r->whole && !is_wanted_whole(r, slab))
			break;
		full = false;
		taken = r->want - r->got < SLUB_ASCEND_LEAST
				? 0
				: slub_take_ascending_locked(r->e, slab, r->objs + r->got,
							     r->want - r->got);
		r->got += taken ? taken : take_objects(r, node, slab, &full);
		count_own(r->e, ALLOC_FROM_PARTIAL);
		if (full)
			slub_node_add_full_locked(r->e, node, slab);
	}
	lock_release(&node->list_lock);
	follow_chains(r);
	if (unlikely(r->broken)) {
		r->broken = false;
		close_up(r);
		engine_mistakes_deliver();
	}
	return r->got == r->want;
}

/* From a new slab; what is left of it goes to its node. false: out of memory. */
static bool refill_from_new(struct refill *r, gfp_t gfp, int node)
{
	enum slub_new what = slub_of(r->e)->lazy ? SLUB_LAZY : SLUB_LINKED;
	struct page *slab = slub_new_slab(r->e, gfp, node, what);
	struct engine_node *home;
	bool full;

	if (!slab)
		return false;
	engine_count(r->e, ALLOC_SLAB);
	/* Nobody can free an object of it before this function has returned. */
	r->got += take_objects(r, NULL, slab, &full);
	if (r->lanes)
		slub_lane_keep(slab);
	if (full && !(load_relaxed(&r->e->flags) & SLAB_STORE_USER))
		return true;

	home = slub_node_of(r->e, slab);
	lock_acquire(&home->list_lock);
	if (full)
		slub_node_add_full_locked(r->e, home, slab);
	else /* in front (spec 4.13); freed slabs of pack caches go in front of that again */
		engine_node_add_partial_locked(home, slab, false);
	lock_release(&home->list_lock);
	return true;
}

/* Its chains are not cleared. */
static void refill_init(struct refill *r, struct engine *e, void **objs, unsigned int want)
{
	r->e = e;
	r->objs = objs;
	r->want = want;
	r->got = 0;
	r->nr_chains = 0;
	r->backwards = false;
	r->whole = false;
	r->lanes = false;
	r->broken = false;
	count_own(e, ALLOC_SLOWPATH);
}

/*
 * The slabs that have been on the list for longest have most free objects: those of pack caches at
 * its tail, since slabs that stop being full join them at the head, those of others at its head.
 */
unsigned int slub_refill_near(struct engine *e, void **objs, unsigned int want)
{
	struct slub *s = slub_of(e);
	struct refill r;

	refill_init(&r, e, objs, want);
	r.backwards = s->pack;
	r.lanes = e->lanes;
	refill_from_node(s->node[engine_first_node(s->nr_nodes, NUMA_NO_NODE)], &r);
	return r.got;
}

unsigned int slub_take_partial(struct engine *e, void **objs, unsigned int want)
{
	struct slub *s = slub_of(e);
	struct refill r;

	refill_init(&r, e, objs, want);
	r.whole = true;
	refill_from_node(s->node[placement_search(e, s->nr_nodes, NUMA_NO_NODE)], &r);
	return r.got;
}

unsigned int slub_take_listed(struct engine *e, unsigned int node, void **objs, unsigned int want)
{
	struct refill r;

	refill_init(&r, e, objs, want);
	refill_from_node(slub_of(e)->node[node], &r);
	return r.got;
}

unsigned int slub_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node)
{
	struct refill r;
	struct slub *s = slub_of(e);
	unsigned int first = placement_search(e, s->nr_nodes, node);
	unsigned int enough = s->pack ? MAX(want / 2, 1u) : want;

	refill_init(&r, e, objs, want);
	r.lanes = e->lanes;
	if (node >= 0 && (unsigned int)node >= s->nr_nodes)
		node = -1; /* spec 4.8a */
	if (placement_refuses(e, gfp, node))
		return 0;
	refill_from_node(s->node[first], &r);
	if (r.got < enough && node < 0)
		slub_node_try_others(e, first, refill_from_node, &r);
	while (r.got < enough && refill_from_new(&r, gfp, node)) {}
	if (unlikely(!r.got && r.lanes)) { /* no memory, but for what other CPUs take from */
		r.lanes = false;
		refill_from_node(s->node[first], &r);
		if (!r.got && node < 0)
			slub_node_try_others(e, first, refill_from_node, &r);
	}
	if (unlikely(!r.got))
		slub_warn_oom(e, gfp, node);
	return r.got;
}
