/* SPDX-License-Identifier: MIT */
/*
 * cache/mobility/mobility.h - caches whose objects may be moved, so that slabs become empty
 *
 * Why:        docs/adr/0060.
 * Data:       struct mobility, one for each cache that has, or had, functions that move objects.
 * Invariants: one thread runs a cache's moves at a time (running); used, round and set are its own.
 *             set is empty while nobody runs.
 * Locks:      cache_lock for the list, the functions and running; `_locked`: the caller holds it.
 *             No lock is held while a function of the program runs.
 * Flow:       mobility.c has the functions; defrag.c is one call of kmem_cache_defrag(), which goes
 *             round by round; choice.c says which slabs, evacuate.c empties one; auto.c has it done
 *             by itself. Called by
 *             api/mobility_api.c and cache/; read by inspect/.
 */
#ifndef CACHE_MOBILITY_H
#define CACHE_MOBILITY_H

#include "cache/cache.h"
#include "cache/control/control.h"
#include "engine/evacuation.h"

#define MOBILITY_RATIO 50 /* percent: slabs with more objects in use stay, if not set otherwise */
#define MOBILITY_ALWAYS (EVACUATED_WHOLE / 8) /* those with at most so many are always emptied */

/* How objects of a cache move: by move, or by migrate with or without isolate. */
struct mobility_functions {
	kmem_cache_isolate_func isolate;
	kmem_cache_migrate_func migrate;
	uslab_move_func move;
	void *arg; /* of move */
};

/* Since the cache has such functions; written by who runs, read at any time. */
struct mobility_counters {
	unsigned long slabs; /* given back */
	unsigned long bytes; /* of these */
	unsigned long moved; /* objects */
	unsigned long refused;
};

/*
 * A round looks at all partial slabs, several times: first for those that have the fewest objects
 * in use.
 */
struct mobility_round {
	bool begun;
	int scope;	    /* the node that was asked for */
	unsigned int node;  /* where it is */
	unsigned int use;   /* see struct evacuation_choice; 0: a node is new */
	unsigned long left; /* slabs of that node to look at with that use */
	unsigned long more; /* that may be added to these */
	bool surveys;	    /* they are counted, before some are emptied */
	unsigned long keep; /* see struct evacuation_choice */
	unsigned long below;
	unsigned long far;
	unsigned long leaving;	   /* pages of slabs that are to be emptied, as far was set */
	bool low;		   /* all objects go to slabs below that page, also to new ones */
	const struct page *target; /* the slab that objects went to last; maybe freed; or NULL */
	struct evacuation_survey survey;
	bool purges; /* they were looked at; what was freed is to be purged */
};

struct mobility {
	struct list_head list; /* mobility_list */
	struct cache *cache;
	struct mobility_functions functions; /* none: objects do not move any more */
	struct mobility_functions used;	     /* by the step that is under way */
	uint32_t replaced;		     /* functions, since that step began; atomic */
	unsigned int ratio;		     /* percent; atomic */
	uintptr_t running;		     /* 1: a thread is in it; atomic */
	uint64_t sweep;			     /* the last one whose round has ended; by who runs */
	unsigned long settled;		     /* partial slabs at the end of that; likewise */
	struct mobility_round round;
	struct evacuated set;
	struct mobility_counters counters;
};

extern struct list_head mobility_list;

/* ---- mobility.c ---- */

/*
 * 0; -EINVAL: a cache of kmalloc() or malloc(), or isolate and migrate without a constructor;
 * -EBUSY: other users merged with it; -EOPNOTSUPP: its engine cannot empty slabs; -ENOMEM. Nothing
 * has changed then. Returns when no other thread runs the old functions.
 */
int mobility_set(struct cache *c, const struct mobility_functions *functions);
/* 0; -EINVAL; -EOPNOTSUPP: its objects do not move. */
int mobility_set_ratio(struct cache *c, unsigned int percent);
int mobility_set_ratio_locked(struct cache *c, unsigned int percent);
/* NULL: no object of it ever moved. */
struct mobility *mobility_find_locked(const struct cache *c);

/* This thread runs it from now on. 0; -EBUSY: one does; -EOPNOTSUPP. */
int mobility_claim_locked(struct mobility *m);
void mobility_release(struct mobility *m);
/* The end of a cache: its functions are not called any more, and have returned. */
void mobility_remove(const struct cache *c);
/* In a child of fork(): what other threads had begun is ended. Context: no lock but cache_lock. */
void mobility_forked_locked(void);
void mobility_check(void);

/* ---- evacuate.c ---- */

#define MOBILITY_SPARES 32

/* One call of kmem_cache_defrag(). */
struct mobility_run {
	struct mobility *m;
	struct cache *c;
	const struct engine_evacuation *ops;
	uint64_t end_us;	      /* os_clock_us(); 0: there is no budget */
	bool has_begun;		      /* something was done: from now on the budget counts */
	bool has_closed;	      /* the front */
	bool has_lent;		      /* there may be objects in lent sheaves */
	bool has_tried;		      /* an object of the slab that is emptied */
	bool grows;		      /* the objects of this slab may go to new ones */
	unsigned int node;	      /* of the spares */
	void *spare[MOBILITY_SPARES]; /* free objects of fuller slabs */
	unsigned int nr_spares;
	unsigned int nr_taken; /* the last time; 0: none were */
	void *fresh;	       /* one of these that the program may write to; NULL */
};

enum mobility_result {
	MOBILITY_DONE,	   /* all objects of the slab were looked at */
	MOBILITY_NO_SPACE, /* there is no free object in another partial slab */
	MOBILITY_LATE,	   /* the budget is used up */
};

/* Moves the objects of a slab that is being emptied. */
enum mobility_result mobility_empty(struct mobility_run *r, struct page *slab);
/* Gives back what was taken for the next moves. */
void mobility_give_spares(struct mobility_run *r);
/* Is the budget used up, or are the functions others by now? */
bool mobility_is_late(const struct mobility_run *r);

/* ---- choice.c ---- */

enum mobility_found { MOBILITY_FOUND, MOBILITY_FOUND_NONE, MOBILITY_FOUND_LATE };

/* Takes some slabs that are to be emptied, on the node where the round is, into the set. */
enum mobility_found mobility_find(struct mobility_run *r);

/* ---- defrag.c ---- */

/*
 * Empties slabs of a cache, for budget_us microseconds (0: as long as it takes). node:
 * NUMA_NO_NODE: all. 0: the round has ended; 1: there is more to do; -EINVAL: no such node;
 * -EBUSY, -EOPNOTSUPP: see mobility_claim_locked(). The caller may hold no lock.
 */
int cache_defrag(struct cache *c, int node, uint64_t budget_us);

/* The same for several caches, see control.h. */
void cache_defrag_sweep(struct control_sweep *sweep);

/* ---- auto.c ---- */

/* USLAB_CONF=defrag=PERCENT[:SHARE]. false: refused. */
bool mobility_set_option(const char *value);
/* Has the library's own thread do it, if asked for. 0 or -errno. Context: see os/time/ticker.h. */
int mobility_start(void);

#endif /* CACHE_MOBILITY_H */
