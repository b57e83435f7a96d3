/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/slab.h - what the files of engine/slub share: one slab, one node
 *
 * Data:       struct slub_state, a copy of {freelist, counters} of a slab at one instant.
 * Invariants: full <=> inuse == objects, which implies an empty freelist and formatted == objects.
 * Locks:      see the table at the head of free.c; `_locked`: the caller holds node->list_lock.
 * Flow:       included by engine/slub/ only.
 */
#ifndef ENGINE_SLUB_SLAB_H
#define ENGINE_SLUB_SLAB_H

#include <string.h>

#include "base/atomic.h"
#include "engine/descriptor.h"
#include "engine/mistake.h"
#include "engine/slub/freeptr.h"
#include "engine/slub/slub.h"
#include "os/cpu/dword.h"

#define SLUB_MAX_ORDER 10 /* of the buddy allocator */
#define SLUB_BITMAP_WORDS ((SLAB_MAX_OBJECTS + 64) / 64)

struct slub_state {
	void *freelist;
	struct slab_counters counters;
};

/*
 * A copy of {freelist, counters}. The two loads are not one: only a slub_exchange() that succeeds
 * proves the copy. The acquire pairs with the exchange in chain_push(), so that the links behind
 * the free list's head are visible.
 */
static inline struct slub_state slub_read(const struct page *slab)
{
	struct slub_state state;
	uint64_t word;

	state.freelist = load_acquire(&slab->freelist);
	word = load_relaxed(&slab->counters);
	memcpy(&state.counters, &word, sizeof(word));
	return state;
}

/* Both words at once, or nothing and CMPXCHG_DOUBLE_FAIL; the caller reads again. Full barrier. */
static inline bool slub_exchange(struct engine *e, struct page *slab, const struct slub_state *old,
				 const struct slub_state *new)
{
	struct dword expect = { (uintptr_t)old->freelist, engine_counters_word(old->counters) };
	struct dword update = { (uintptr_t) new->freelist, engine_counters_word(new->counters) };

	if (likely(dword_cas(&slab->both, expect, update)))
		return true;
	engine_count(e, CMPXCHG_DOUBLE_FAIL);
	return false;
}

/*
 * Was the copy whole? An exchange by another thread may lie between the two loads of slub_read(): a
 * free list that does not fit the counters is a corrupt one only if this says yes.
 */
static inline bool slub_is_still(struct engine *e, struct page *slab,
				 const struct slub_state *state)
{
	return slub_exchange(e, slab, state, state);
}

/*
 * Of a slab from which so many objects were taken: did its list end too early, or too late? Then it
 * was cut, or runs in a circle (double free).
 */
static inline bool slub_ends_wrong(const struct slub_state *old, const struct slub_state *new,
				   unsigned int taken)
{
	bool all_taken = new->counters.inuse == old->counters.objects;
	bool all_linked = new->counters.formatted == new->counters.objects;

	if (!taken || new->counters.inuse > old->counters.objects)
		return true;
	return all_taken ? new->freelist != NULL : all_linked && !new->freelist;
}

static inline void *slub_object(const struct page *slab, unsigned int i)
{
	const struct slab_layout *layout = slab->layout;

	return (char *)page_address(slab) + layout->red_left_pad + (size_t)i * layout->stride;
}

static inline struct engine_node *slub_node_of(const struct engine *e, const struct page *slab)
{
	return slub_of(e)->node[slab->node];
}

/* ---- layout.c ---- */

/* Everything of layout but the orders (spec 4.4, no debug flags). */
void slub_layout_sizes(struct slab_layout *layout, unsigned int object_size, unsigned int align,
		       slab_flags_t flags, bool has_ctor);

/* ---- order.c ---- */

/* The kernel's order with the global knobs and this machine's CPUs / the order of pack caches. */
int slub_default_order(unsigned int size);
bool slub_order_is_allowed(unsigned int order);
int slub_pack_order(unsigned int size);
unsigned int slub_pack_min_partial(unsigned int order);

/* ---- tune.c ---- */

unsigned int slub_cpu_partial_slabs(const struct slub *s);
void slub_delete_orders(struct slub *s);

/* ---- slab.c ---- */

/* What becomes of the objects of a new slab. */
enum slub_new {
	SLUB_LINKED, /* free: constructed, in a free list */
	SLUB_LAZY,   /* free, and none formatted yet */
	SLUB_WHOLE,  /* in use: constructed, in no list; hardened: each with a link that ends one */
};

/*
 * A slab that is the caller's alone, counted in its node, on no list. May map memory. NULL: out of
 * memory.
 */
struct page *slub_new_slab(struct engine *e, gfp_t gfp, int node, enum slub_new what);
/*
 * One with all its objects free without waiting, of what that node has free now; for caches without
 * a constructor.
 */
struct page *slub_try_new_slab(struct engine *e, unsigned int node);
/* One below page far (page/low.h), likewise its caller's alone. NULL: none is to be had there. */
struct page *slub_new_low_slab(struct engine *e, unsigned long far);
/* Gives the pages of an empty slab back; it is on no list and its node forgot it already. */
void slub_free_pages(struct engine *e, struct page *slab);
/* The same for slabs linked by page.next. Context: no lock held. */
void slub_free_slabs(struct engine *e, struct page *slabs);
/* The node forgets a slab (nr_slabs, total_objects, nr_pages); any context. */
void slub_unaccount(struct engine *e, struct page *slab);
/* Links what was never formatted into the free list, for owners that want all of it. */
void slub_format_rest_locked(struct engine *e, struct page *slab);
/*
 * Index of the next object of a slab in the order of the cache's permutation; *pos: where in that,
 * at first anywhere below its length. It is made for slabs of the plain layout: entries beyond
 * this slab's objects are skipped (spec 4.5).
 */
unsigned int slub_next_random(const struct slub *s, unsigned int *pos, unsigned int objects);
/* A permutation for random free lists. NULL: out of memory. */
unsigned int *slub_random_sequence(unsigned int objects, uint64_t seed);
/* A number out of the cache's own sequence; any context. */
uint64_t slub_draw(struct slub *s);

/*
 * The free list of a slab is broken: what it held counts as in use from now on and is not used
 * again; so the slab is full, and off its list. Context: list_lock. The caller reports it.
 */
void slub_isolate_locked(struct engine *e, struct engine_node *node, struct page *slab);
/*
 * Does an object of the slab start at p, of which only the page is known to be
 * right? One multiplication.
 */
static inline bool slub_starts_object(const struct engine *e, const struct page *slab,
				      const void *p)
{
	uint64_t offset = (uint64_t)((const char *)p - (const char *)page_address(slab));

	return offset * slub_of(e)->magic < slub_of(e)->magic;
}

/* The next slab of the partial list, from that end; there is one. */
static inline struct page *slub_first_partial(struct engine_node *node, bool backwards)
{
	return backwards ? list_last(&node->partial, struct page, lru)
			 : list_first(&node->partial, struct page, lru);
}

/* ---- node.c ---- */

/* Full slabs are linked in caches with SLAB_STORE_USER only, so that reports can list them. */
void slub_node_add_full_locked(const struct engine *e, struct engine_node *node, struct page *slab);
void slub_node_remove_full_locked(struct page *slab);
/* Free objects of the node's partial slabs; takes list_lock. */
unsigned long slub_node_count_free(struct engine_node *node);
/* get_any_partial (spec 4.9): calls take on the other nodes until it returns true. */
bool slub_node_try_others(struct engine *e, unsigned int first,
			  bool (*take)(struct engine_node *, void *), void *arg);

/* ---- lane.c: CPUs take small objects from different slabs ---- */

/* Is it so in a cache of objects of that size? */
bool slub_may_have_lanes(const struct slub *s, unsigned int size);
/*
 * The next slab of the partial list that this CPU is to take from, and is known to do so from now
 * on; NULL: those looked at are others', and there are few. backwards: from the list's tail.
 */
struct page *slub_lane_next_locked(struct engine_node *node, bool backwards);
/* This CPU takes from that one, which is the caller's alone. */
void slub_lane_keep(struct page *slab);

/* ---- try.c: as struct engine_ops says ---- */

void *slub_try_alloc(struct engine *e, int node);
bool slub_try_free(struct engine *e, void *obj);

/* ---- ascend.c: objects in the order of their addresses, in lazy caches ---- */

/* Sorts n objects of one slab, which are the caller's. What is no list of such stays as it is. */
void slub_ascend(const struct engine *e, const struct page *slab, void **objs, unsigned int n);
/* Who wants fewer takes what comes. */
#define SLUB_ASCEND_LEAST 8u
/*
 * Takes the lowest max objects of a slab of the partial list that has more free ones, into objs,
 * and leaves the others sorted. max is SLUB_ASCEND_LEAST or more. Returns max; 0: nothing was done,
 * as what is there ascends already, or cannot be sorted.
 */
unsigned int slub_take_ascending_locked(struct engine *e, struct page *slab, void **objs,
					unsigned int max);

/* ---- refill.c, take_new.c, free.c, shrink.c, check.c, oom.c ---- */

unsigned int slub_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node);
unsigned int slub_refill_near(struct engine *e, void **objs, unsigned int want);
unsigned int slub_take_partial(struct engine *e, void **objs, unsigned int want);
/* Of partial slabs of that node alone. */
unsigned int slub_take_listed(struct engine *e, unsigned int node, void **objs, unsigned int want);
/* low.c: as `take` of engine/evacuation.h. */
unsigned int slub_take_below(struct engine *e, unsigned int node, void **objs, unsigned int want,
			     unsigned long far, bool grows);
unsigned int slub_take_new(struct engine *e, void **objs, unsigned int want, gfp_t gfp);
void slub_flush(struct engine *e, void **objs, unsigned int n);
int slub_shrink(struct engine *e);
unsigned long slub_reap(struct engine *e, unsigned int index);
void slub_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg);
void slub_walk_slab(struct engine *e, struct page *slab,
		    void (*visit)(void *slab, void *obj, void *arg), void *arg);
bool slub_is_free(struct engine *e, struct page *slab, const void *obj);
/* Does the free list end, with as many objects as are free, each at its start? list_lock. */
bool slub_list_is_whole_locked(struct engine *e, struct page *slab);
void slub_check(struct engine *e);
extern const struct engine_evacuation slub_evacuation; /* evacuate.c */
/* sparse.c: as is_sparse there. */
bool slub_is_sparse(struct engine *e, struct page *slab, unsigned long far);
/* The whole message of spec 4.16. */
void slub_warn_oom(struct engine *e, gfp_t gfp, int node);

#endif /* ENGINE_SLUB_SLAB_H */
