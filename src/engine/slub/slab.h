/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/slab.h - what the files of engine/slub share: one slab, one node
 *
 * Data:       struct slab_state, a copy of {freelist, counters} of a slab at one instant.
 * Invariants: full <=> inuse == objects, which implies an empty freelist and carved == objects.
 * Locks:      see the table at the head of free.c; `_locked`: the caller holds node->list_lock.
 * Flow:       included by engine/slub/ only.
 */
#ifndef ENGINE_SLUB_SLAB_H
#define ENGINE_SLUB_SLAB_H

#include <string.h>

#include "base/atomic.h"
#include "engine/mistake.h"
#include "engine/slub/freeptr.h"
#include "engine/slub/slub.h"
#include "os/cpu/dword.h"

#define SLAB_MAX_ORDER 10 /* of the buddy allocator */
#define SLAB_BITMAP_WORDS ((SLAB_MAX_OBJECTS + 64) / 64)

BUILD_ASSERT(sizeof(struct slab_counters) == sizeof(uint64_t));

struct slab_state {
	void *freelist;
	struct slab_counters counters;
};

static inline uint64_t counters_word(struct slab_counters counters)
{
	uint64_t word;

	memcpy(&word, &counters, sizeof(word));
	return word;
}

/*
 * A copy of {freelist, counters}. The two loads are not one: only a slab_exchange() that succeeds
 * proves the copy. The acquire pairs with the exchange in chain_push(), so that the links behind
 * the free list's head are visible.
 */
static inline struct slab_state slab_read(const struct page *slab)
{
	struct slab_state state;
	uint64_t word;

	state.freelist = load_acquire(&slab->freelist);
	word = load_relaxed(&slab->counters);
	memcpy(&state.counters, &word, sizeof(word));
	return state;
}

/* Both words at once, or nothing and CMPXCHG_DOUBLE_FAIL; the caller reads again. Full barrier. */
static inline bool slab_exchange(struct engine *e, struct page *slab, const struct slab_state *old,
				 const struct slab_state *new)
{
	struct dword expect = { (uintptr_t)old->freelist, counters_word(old->counters) };
	struct dword update = { (uintptr_t) new->freelist, counters_word(new->counters) };

	if (likely(dword_cas(&slab->both, expect, update)))
		return true;
	slub_count(e, CMPXCHG_DOUBLE_FAIL);
	return false;
}

/*
 * Was the copy whole? An exchange by another thread may lie between the two loads of slab_read(): a
 * free list that does not fit the counters is a corrupt one only if this says yes.
 */
static inline bool slab_is_still(struct engine *e, struct page *slab,
				 const struct slab_state *state)
{
	return slab_exchange(e, slab, state, state);
}

static inline void *slab_object(const struct page *slab, unsigned int i)
{
	const struct slab_layout *layout = slab->layout;

	return (char *)page_address(slab) + layout->red_left_pad + (size_t)i * layout->stride;
}

static inline struct slub_node *slab_node(const struct engine *e, const struct page *slab)
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

/*
 * A slab of its own list and CPU, with every object free, counted in its node, on no list. lazy: no
 * object carved yet; otherwise linked and constructed. May map memory. NULL: out of memory.
 */
struct page *slab_new(struct engine *e, gfp_t gfp, int node, bool lazy);
/* Gives the pages of an empty slab back; it is on no list and its node forgot it already. */
void slab_free_pages(struct engine *e, struct page *slab);
/* The same for slabs linked by page.next. Context: no lock held. */
void slab_free_list(struct engine *e, struct page *slabs);
/* The node forgets a slab (nr_slabs, total_objects, nr_pages); any context. */
void slab_unaccount(struct engine *e, struct page *slab);
/* Links what was never carved into the free list, for owners that want all of it. */
void slab_carve_rest_locked(struct engine *e, struct page *slab);
/* A permutation for random free lists. NULL: out of memory. */
unsigned int *slab_random_sequence(unsigned int objects, uint64_t seed);
/* A number out of the cache's own sequence; any context. */
uint64_t slub_draw(struct slub *s);

/*
 * The free list of a slab is broken: what it held counts as in use from now on and is not used
 * again; so the slab is full, and off its list. Context: list_lock. The caller reports it.
 */
void slab_isolate_locked(struct engine *e, struct slub_node *node, struct page *slab);
/*
 * Does an object of the slab start at p, of which only the page is known to be
 * right? One multiplication.
 */
static inline bool slab_starts_object(const struct engine *e, const struct page *slab,
				      const void *p)
{
	uint64_t offset = (uint64_t)((const char *)p - (const char *)page_address(slab));

	return offset * slub_of(e)->magic < slub_of(e)->magic;
}

/* ---- node.c ---- */

struct slub_node *node_new(void);
void node_delete(struct slub_node *node);
void node_add_partial_locked(struct slub_node *node, struct page *slab, bool tail);
void node_remove_partial_locked(struct slub_node *node, struct page *slab);
/* Full slabs are linked in caches with SLAB_STORE_USER only, so that reports can list them. */
void node_add_full_locked(const struct engine *e, struct slub_node *node, struct page *slab);
void node_remove_full_locked(struct page *slab);
/* Free objects of the node's partial slabs; takes list_lock. */
unsigned long node_count_free(struct slub_node *node);
/* The node that a request without one starts with; an unknown node counts as none (spec 4.8a). */
unsigned int node_first(const struct slub *s, int node);
/* get_any_partial (spec 4.9): calls take on the other nodes until it returns true. */
bool node_try_others(struct slub *s, unsigned int first, bool (*take)(struct slub_node *, void *),
		     void *arg);

/* ---- refill.c, free.c, shrink.c, check.c, oom.c ---- */

unsigned int slub_refill(struct engine *e, void **objs, unsigned int want, gfp_t gfp, int node);
void slub_flush(struct engine *e, void **objs, unsigned int n);
int slub_shrink(struct engine *e);
void slub_walk(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg);
bool slub_is_free(struct engine *e, struct page *slab, const void *obj);
/* Does the free list end, with as many objects as are free, each at its start? list_lock. */
bool slub_list_is_whole_locked(struct engine *e, struct page *slab);
void slub_check(struct engine *e);
/* The whole message of spec 4.16. */
void slub_warn_oom(struct engine *e, gfp_t gfp, int node);

#endif /* ENGINE_SLUB_SLAB_H */
