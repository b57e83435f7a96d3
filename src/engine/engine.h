/* SPDX-License-Identifier: MIT */
/*
 * engine/engine.h - objects in pages: what every engine offers, called per batch
 *
 * Data:       struct engine is embedded in struct cache; state is the engine's own (page/meta.c).
 * Invariants: const after init but for object_size and state.
 * Locks:      each engine's own (RANK_ENGINE); callers hold nothing above RANK_DEPOT.
 * Flow:       called by front/ (refill, flush) and cache/ (the rest); calls page/.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/compiler.h"
#include <uslab/slab.h>

struct engine;

/*
 * How objects lie in a slab. Belongs to the slab, not to the cache: a slab keeps the layout that it
 * was made with, so that debug layouts can come and go on a live cache. Immutable once published.
 */
struct slab_layout {
	unsigned int stride;	   /* bytes from one object to the next */
	unsigned int object_size;  /* bytes that the user asked for, at creation of the layout */
	unsigned int inuse;	   /* offset where metadata begins (spec 4.4) */
	unsigned int offset;	   /* of the free pointer in the object */
	unsigned int red_left_pad; /* bytes before each object (debug layouts) */
	unsigned int order;	   /* preferred slab order */
	unsigned int objects;	   /* objects in a slab of that order */
	unsigned int min_order;	   /* fallback order when memory is short */
	unsigned int min_objects;
};

/* What cache/ wants; engines fill in the rest of struct engine. */
struct engine_params {
	const char *name;	  /* for messages; lives as long as the cache */
	unsigned int object_size; /* bytes, > 0 */
	unsigned int align;	  /* already through calculate_alignment (spec 5.3); power of two */
	slab_flags_t flags;
	void (*ctor)(void *obj);
	unsigned int id;	  /* number of the cache, for statistics */
	unsigned char page_class; /* class byte of this cache's pages, 0: none */
	bool pack;		  /* footprint first: small orders, free lists built as used */
	bool hardened;		  /* encode free pointers (spec 4.5) */
	bool randomised;	  /* shuffle the free list of a new slab (spec 4.5) */
};

struct engine_stats {
	unsigned long nr_slabs;
	unsigned long nr_partial; /* on the nodes' partial lists */
	unsigned long total_objects;
	unsigned long free_objects; /* on the free lists of slabs on partial lists */
	unsigned long slab_bytes;
};

struct engine_ops {
	const char *name;

	/* Computes layout and state. 0, -E2BIG (no order fits), -ENOMEM. */
	int (*init)(struct engine *e, const struct engine_params *params);

	/*
	 * Up to want objects (>= 1) into objs[], from node (-1: local first); gfp: __GFP_THISNODE.
	 * Returns how many; 0 is out of memory. Objects are constructed if there is a ctor, and
	 * otherwise hold anything.
	 */
	unsigned int (*refill)(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
			       int node);

	/* Takes n objects of this engine back; may permute objs[]. */
	void (*flush)(struct engine *e, void **objs, unsigned int n);

	/* Gives back empty slabs, sorts the rest (spec 4.14). 0, or 1 if slabs remain. */
	int (*shrink)(struct engine *e);

	/*
	 * Ends the engine: frees all slabs. Returns the number of objects still in use; if not 0
	 * nothing was torn down and the engine stays usable.
	 */
	unsigned long (*destroy)(struct engine *e);

	/*
	 * Calls visit for every object in use of partial slabs (for reports), with the address at
	 * which its slab starts; quiescent caches.
	 */
	void (*walk)(struct engine *e, void (*visit)(void *slab, void *obj, void *arg), void *arg);

	void (*stats)(struct engine *e, struct engine_stats *stats);

	void (*fork_prepare)(struct engine *e);
	void (*fork_parent)(struct engine *e);
	void (*fork_child)(struct engine *e);

	/* Verifies all invariants; dies on a violation. Debug builds and tests. */
	void (*check)(struct engine *e);
};

struct engine {
	const struct engine_ops *ops;
	const struct slab_layout *layout; /* of new slabs */
	void *state;			  /* struct slub, ... */
	const char *name;
	unsigned int size;	  /* stride, bytes: s->size of the kernel */
	unsigned int object_size; /* raised by merging (under the registry lock) */
	unsigned int align;
	unsigned int id; /* number of the cache */
	slab_flags_t flags;
	gfp_t allocflags; /* spec 4.2 */
	void (*ctor)(void *obj);
	unsigned char page_class;
	bool pack; /* footprint first, see struct engine_params */
};

extern const struct engine_ops slub_ops;

#endif /* ENGINE_ENGINE_H */
