/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/slub.h - SLUB: unqueued slabs (spec 4)
 *
 * Data:       struct slub per cache, struct engine_node per node; the slab is the page descriptor.
 * Invariants: a slab is on its node's partial list iff not frozen and it has a free object or is
 *             kept empty; nr_partial counts that list; frozen slabs are on no node list.
 *             inuse + length(freelist) + (objects - formatted) == objects for slabs on the list.
 *             The CPU slab's private free list counts as in use. Checked by slub_check().
 * Locks:      engine_node.list_lock (RANK_ENGINE) guards partial list and nr_partial, and lets only
 *             its holder take objects from a slab that is not frozen. Anybody may push objects.
 * Flow:       called by engine/slub/, cache/, debug/, front/cpuslab.c, front/cpuslab_local.c,
 *             front/cpuslab_hit.h and inspect/debug_size.c.
 */
#ifndef ENGINE_SLUB_SLUB_H
#define ENGINE_SLUB_SLUB_H

#include "engine/engine.h"
#include "engine/nodes.h"
#include "engine/stats.h"
#include "os/lock/lock.h"
#include "page/page.h"

struct topology; /* os/cpu/cpu.h */

/*
 * struct slab_counters of a slab. formatted: objects that have been linked into a free list or
 * allocated so far; those above were never touched (lazy caches only; otherwise formatted ==
 * objects).
 */

struct slub {
	unsigned long min_partial;	/* slabs, spec 4.2 */
	unsigned int cpu_partial;	/* objects */
	unsigned int cpu_partial_slabs; /* slabs */
	unsigned int remote_node_defrag_ratio;
	unsigned int nr_nodes;
	bool pack;
	bool lazy; /* free lists are built as used: nothing above `formatted` is touched */
	bool hardened;
	bool counted;	 /* see struct engine_params */
	uint64_t random; /* of free pointer encoding and draws; 0 if neither is asked for */
	uint64_t draws;	 /* numbers drawn so far, see slub_draw(); atomic */
	/* an object starts at offset n iff n * magic < magic; 2^64 / stride, rounded up */
	uint64_t magic;
	unsigned int *random_seq;  /* permutation of 0..layout.objects-1, or NULL */
	struct slab_layout layout; /* the cache's plain layout */
	/* the same for each order; NULL until somebody asks for one */
	struct slab_layout *by_order;
	struct engine_node *node[]; /* nr_nodes */
};

static inline struct slub *slub_of(const struct engine *e)
{
	return e->state;
}

/* ---- order choice and derived numbers, pure functions (spec 4.2, 4.3) ---- */

/* min_objects 0: by nr_cpus. Returns the order, or -E2BIG. */
int slub_calculate_order(unsigned int size, unsigned int nr_cpus, unsigned int min_order,
			 unsigned int max_order, unsigned int min_objects);
/* The kernel's order with the global knobs, on a machine with so many CPUs. The same. */
int slub_order_on(unsigned int size, const struct topology *machine);
/* Orders and numbers of objects for layout->stride, with the global knobs. 0 or -E2BIG. */
int slub_layout_orders(struct slab_layout *layout, bool pack);
unsigned long slub_min_partial(unsigned int size);
unsigned int slub_cpu_partial(unsigned int size); /* objects */

/* Global knobs slab_min_order, slab_max_order, slab_min_objects (spec 4.3). 0 or -EINVAL. */
int slub_set_orders(unsigned int min_order, unsigned int max_order, unsigned int min_objects);

/* ---- tune.c: knobs of a cache that is in use; callers hold the registry lock ---- */

/* New slabs have that order. 0; -EINVAL: beyond the global knobs, or too small; -ENOMEM. */
int slub_set_order(struct engine *e, unsigned int order);
/*
 * Objects that a CPU may have in partial slabs (spec 4.2); those that it has
 * are the caller's to drain.
 */
void slub_set_cpu_partial(struct engine *e, unsigned int objects);

/*
 * The message of spec 4.16, rate-limited, unless __GFP_NOWARN: true: it was said, and wants a line
 * for each node behind it.
 */
bool slub_say_oom(const struct engine *e, const struct slab_layout *layout, gfp_t gfp, int node);
void slub_say_oom_node(unsigned int node, unsigned long slabs, unsigned long objects,
		       unsigned long free);

/* ---- free pointers: freeptr.h has get/set with encoding ---- */

/* ---- what front/cpuslab.c needs: slabs that belong to a CPU ---- */

/*
 * A partial slab of node (spec 4.9), frozen, its freelist detached into *freelist; further slabs
 * for the CPU's partial list are returned frozen in *partials, linked by page.next with .slabs
 * set at the head (NULL: none). NULL: no partial slab.
 */
struct page *slub_cpu_get_partial(struct engine *e, int node, gfp_t gfp, void **freelist,
				  struct page **partials);
/* A new slab, frozen, its whole freelist detached into *freelist. NULL: out of memory. */
struct page *slub_cpu_new_slab(struct engine *e, gfp_t gfp, int node, void **freelist);
/* Takes the remote frees of an owned slab: its freelist, or NULL, then the slab is unfrozen. */
void *slub_cpu_get_freelist(struct engine *e, struct page *slab);
/*
 * Up to nr objects of a frozen slab that is on no list; what is left goes back to it. Returns how
 * many; *empty: nothing was left, and the slab is unfrozen.
 */
unsigned int slub_cpu_take(struct engine *e, struct page *slab, unsigned int nr, void **objs,
			   bool *empty);
/* Gives a cpu slab back to its node together with the CPU's private freelist (spec 4.12). */
void slub_cpu_deactivate(struct engine *e, struct page *slab, void *freelist);
/*
 * Last object of a list that was taken off a slab, and how many it has. NULL: it is
 * empty; or it leads out of the slab or in a circle, which was reported, and its objects
 * count as in use for ever.
 */
void *slub_list_end(struct engine *e, struct page *slab, void *list, unsigned int *count);
/* Unfreezes a whole per-CPU partial list (spec 4.12). */
void slub_cpu_unfreeze_partials(struct engine *e, struct page *partials);
/*
 * Slow free of a chain head..tail of cnt objects of one slab (spec 4.11). Returns true when the
 * slab was full and is now frozen for the caller, who must put it on its CPU partial list.
 * cpu_partial false: the "no CPU partial support" rows of the table.
 */
bool slub_free_chain(struct engine *e, struct page *slab, void *head, void *tail, unsigned int cnt,
		     bool cpu_partial);

/*
 * The commonest row of that table in one straight line: the object goes onto the list
 * of a slab that belongs to some CPU. false: nothing was done, slub_free_chain()
 * finds out what is to be done.
 */
bool slub_push_frozen(struct engine *e, struct page *slab, void *obj);

#endif /* ENGINE_SLUB_SLUB_H */
