/* SPDX-License-Identifier: MIT */
/*
 * engine/engine.h - objects in pages: what every engine offers, called per batch
 *
 * Data:       struct engine is embedded in struct cache; state is the engine's own (page/meta.c).
 * Invariants: const after init but for object_size and state.
 * Locks:      each engine's own (RANK_ENGINE); callers hold nothing above RANK_DEPOT.
 * Flow:       called by front/ (refill, flush), cache/ (the rest), debug/, engine/ and malloc/;
 *             engines call page/.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/instrument/memcheck.h"
#include <uslab/slab.h>

struct engine;
struct engine_evacuation;
struct debug;
struct lock;
struct page;

#define SLAB_MAX_OBJECTS 32767 /* of any engine: what slab_counters.objects holds (spec 4.1) */

/* What makes new slabs of a cache debug slabs (spec 5.1), which have no CPU slabs in SLUB. */
#define DEBUG_SLAB_FLAGS \
	(SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TRACE)

/*
 * A heap: pages whose objects belong to several caches, and blocks of any size beside them (slob,
 * slobseg:pow2). One for the whole process, const; its pages have type PAGE_HEAP. A page alone does
 * not say whose an object is, so what kfree() and free() get needs a header that does.
 */
struct engine_heap {
	const char *name; /* of the engine, TEXT_IN_CORES() */
	size_t max_size;  /* bytes; larger requests are whole pages */

	/*
	 * A block for kmalloc or malloc: size bytes (1 .. max_size), aligned to align (a power of
	 * two, 8 .. page) and, if size is a power of two, to size. gfp: __GFP_THISNODE. Holds
	 * anything. NULL: out of memory.
	 */
	void *(*alloc)(const struct engine_heap *heap, size_t size, size_t align, gfp_t gfp,
		       int node);

	/* As try_alloc and try_free of struct engine_ops, for blocks. */
	void *(*try_alloc)(const struct engine_heap *heap, size_t size, size_t align, int node);
	bool (*try_free)(const struct engine_heap *heap, void *p);

	/* Of a block from alloc, or (owner, size) of an object of a cache with by_address set. */
	void (*free)(void *p);
	size_t (*size)(const void *p);	      /* usable bytes */
	size_t (*usable)(size_t size);	      /* those of a block that is asked for */
	unsigned int (*owner)(const void *p); /* number of its cache; 0: from alloc */

	struct engine_heap_counters *counters; /* readers add up counters[0 .. more_counters] */
	unsigned int more_counters;	       /* a heap with one lock has none */

	void (*each_lock)(const struct engine_heap *heap,
			  void (*act)(struct lock *l)); /* for fork */
	void (*check)(const struct engine_heap *heap);
};

/* Written under the heap's lock; read by malloc/info.c, and by tools from outside. */
struct engine_heap_counters {
	unsigned long pages;   /* of type PAGE_HEAP */
	unsigned long objects; /* blocks and objects in use in them */
	unsigned long blocks;  /* of these, from alloc */
	unsigned long bytes; /* in use, with headers and rounding: pages * PAGE_SIZE - free bytes */
};

/* Who a slab belongs to: its engine, or what stands between the cache and the engine. */
enum layout_kind {
	LAYOUT_PLAIN, /* the engine */
	LAYOUT_DEBUG, /* debug/debug.h: checked, poisoned, tracked */
	LAYOUT_GUARD, /* debug/kfence/kfence.h: one object beside an inaccessible page */
};

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
	unsigned int key;	 /* where a key lies behind each object (<uslab/layout.h>); or 0 */
	unsigned int colour_off; /* slab: bytes of one step of slab_counters.colour; else 0 */
	unsigned int order;	 /* preferred slab order */
	unsigned int objects;	 /* objects in a slab of that order */
	unsigned int min_order;	 /* fallback order when memory is short */
	unsigned int min_objects;
	enum layout_kind kind;
	/* SLAB_RED_ZONE, SLAB_POISON, SLAB_STORE_USER: what is around objects */
	slab_flags_t debug;
	uint64_t magic; /* SLAB_MAGIC(stride) */
};

/*
 * n is a multiple of stride iff n * magic < magic, modulo 2^64, for any of 32 bits (Lemire, Kaser,
 * Kurz, "Faster remainder by direct computation", 2019). stride: 2 or more.
 */
#define SLAB_MAGIC(stride) (UINT64_MAX / (stride) + 1)

static inline bool slab_is_multiple(unsigned int n, uint64_t magic)
{
	return n * magic < magic;
}

/*
 * struct page.counters of a PAGE_SLAB, the same for all engines so that tools can count without
 * knowing them. inuse: objects that are not free in the slab (what fronts hold is in use).
 */
struct slab_counters {
	uint64_t inuse : 16;
	uint64_t objects : 15;
	uint64_t frozen : 1; /* slub: belongs to a CPU; debug, slab: isolated */
	/*
	 * slub: objects that were linked or allocated so far, see slub.h; slab: live objects of an
	 * isolated slab
	 */
	uint64_t formatted : 16;
	/* slab: object 0 lies at colour * layout->colour_off; debug: its list */
	uint64_t colour : 16;
};

/* What cache/ wants; engines fill in the rest of struct engine. */
struct engine_params {
	const char *name;	  /* for messages; lives as long as the cache */
	unsigned int object_size; /* bytes, > 0 */
	unsigned int align;	  /* already through calculate_alignment (spec 5.3); power of two */
	slab_flags_t flags;
	void (*ctor)(void *obj);
	void (*dtor)(void *obj);
	unsigned int id;	  /* number of the cache, for statistics */
	unsigned char page_class; /* class byte of this cache's pages, 0: none */
	uint8_t page_lists;	  /* enum pcp_kind (page/pcp.h) of slabs; slab and slub only */
	bool by_address;	  /* kfree() or free() must find the cache from the address alone */
	bool queued;		  /* a front queues free objects: they come and go in batches */
	/* slub: a front of Linux 7.0 counts objects (stats.h), and no CPU has partial slabs */
	bool counted;
	bool pack;	 /* footprint first: small orders, free lists built as used */
	bool hardened;	 /* encode free pointers (spec 4.5) */
	bool randomised; /* shuffle the free list of a new slab (spec 4.5) */
};

struct engine_stats {
	unsigned long nr_slabs;
	unsigned long nr_partial; /* on the nodes' partial lists */
	unsigned long total_objects;
	unsigned long free_objects; /* on the free lists of slabs on partial lists */
	/* of slabs and whole pages that are this cache's; not of a heap */
	unsigned long slab_bytes;
};

struct engine_ops {
	const char *name;  /* TEXT_IN_CORES() */
	const char *front; /* the historical one, by name */

	const struct engine_heap *heap; /* NULL: every page belongs to one cache */
	unsigned int kmalloc_min;	/* bytes of the smallest kmalloc cache; 0: 8 */
	slab_flags_t kmalloc_flags;	/* further flags of kmalloc caches */

	/* Computes layout and state. 0, -E2BIG (no order fits), -ENOMEM. */
	int (*init)(struct engine *e, const struct engine_params *params);

	/*
	 * Up to want objects (>= 1) into objs[], from node (-1: local first); gfp: __GFP_THISNODE.
	 * Returns how many; 0 is out of memory. Objects are constructed if there is a ctor, and
	 * otherwise hold anything. Heaps (and slobseg) construct here, each time, and destruct
	 * when an object is flushed; SLAB and SLUB when the slab is made, and when it is freed.
	 */
	unsigned int (*refill)(struct engine *e, void **objs, unsigned int want, gfp_t gfp,
			       int node);

	/*
	 * Optional (NULL): up to want objects as from refill, of the local node's partial slabs
	 * that most likely have most free ones, so that they lie on few pages. No slab is made;
	 * fewer or 0 is no error.
	 */
	unsigned int (*refill_near)(struct engine *e, void **objs, unsigned int want);

	/*
	 * Optional (NULL: arrays are filled one by one), both or neither: two stages of
	 * kmem_cache_alloc_array() (spec 13.2). Objects as from refill, without a warning; 0 is no
	 * error. take_partial: of the local node's partial slabs, head first, each with all its
	 * free objects, until one has more than are still wanted; one lock for all. take_new: of
	 * new slabs, each with all its objects, ascending, as long as no fewer are wanted.
	 */
	unsigned int (*take_partial)(struct engine *e, void **objs, unsigned int want);
	unsigned int (*take_new)(struct engine *e, void **objs, unsigned int want, gfp_t gfp);

	/* Takes n objects of this engine back; may permute objs[]. */
	void (*flush)(struct engine *e, void **objs, unsigned int n);

	/*
	 * The same for one object without waiting, in any context (lock_tries_begin()): locks are
	 * tried, memory comes from pages that are free now, nothing is reported. For caches without
	 * a constructor. try_alloc: NULL: none can be had so. try_free: false: nothing was done,
	 * since a lock is held, pages would have to go, or something is wrong with the object;
	 * flush() is to find out.
	 */
	void *(*try_alloc)(struct engine *e, int node);
	bool (*try_free)(struct engine *e, void *obj);

	/*
	 * Optional (NULL): with SLAB_TYPESAFE_BY_RCU, flush has objects wait, and this takes them
	 * back after their grace period (typesafe.h).
	 */
	void (*reclaim)(struct engine *e, void **objs, unsigned int n);

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

	/*
	 * Optional (NULL: pages do not say whose their objects are): the same for one slab of this
	 * engine, full or not; none of one that cannot be told or is isolated.
	 */
	void (*walk_slab)(struct engine *e, struct page *slab,
			  void (*visit)(void *slab, void *obj, void *arg), void *arg);

	/*
	 * Is that object, of a slab of this engine and at its start, free in its slab? What fronts
	 * hold is in use. NULL: the engine finds out for itself when an object comes back (heaps).
	 */
	bool (*is_free)(struct engine *e, struct page *slab, const void *obj);

	void (*stats)(struct engine *e, struct engine_stats *stats);

	/* Optional (NULL: none can be): slabs are emptied, see evacuation.h. */
	const struct engine_evacuation *evacuation;

	/*
	 * Optional (NULL): the front's queues move so many objects at once, on so many
	 * CPUs of a node; and one step of giving idle slabs of a node back, a little each
	 * time. Returns slabs freed.
	 */
	void (*tune)(struct engine *e, unsigned int batchcount);
	unsigned long (*reap)(struct engine *e, unsigned int node);

	/*
	 * Optional (NULL: it has none): each lock of this engine, for fork. What a heap shares is
	 * the heap's.
	 */
	void (*each_lock)(struct engine *e, void (*act)(struct lock *l));

	/* Verifies all invariants; dies on a violation. Debug builds and tests. */
	void (*check)(struct engine *e);
};

struct engine {
	/* atomic: whoever finds those of debug/ here (debug_attach()) finds struct debug ready */
	const struct engine_ops *_Atomic ops;
	const struct slab_layout *layout; /* of new slabs */
	void *state;			  /* struct slub, ... */
	struct debug *debug;		  /* debug/debug.h; NULL: all slabs are plain ones */
	const char *name;
	unsigned int size;	  /* stride, bytes: s->size of the kernel */
	unsigned int object_size; /* raised by merging (under the registry lock) */
	unsigned int align;
	unsigned int id; /* number of the cache */
	slab_flags_t flags;
	gfp_t allocflags;	    /* spec 4.2 */
	unsigned long heap_objects; /* of this cache, in use in PAGE_HEAP pages; the heap's lock */
	void (*ctor)(void *obj);
	void (*dtor)(void *obj); /* only with a ctor; NULL: none */
	unsigned char page_class;
	uint8_t page_lists : 7; /* enum pcp_kind, as in struct engine_params */
	bool lanes : 1;		/* slabs say which CPUs take from them: slub/lane.c */
	bool pack;		/* footprint first, see struct engine_params */
	/* flush and shrink check each object and free list: set during drains by cache/; atomic */
	bool verify_frees;
	unsigned int mark; /* bytes to the mark of a free object (base/mark.h); 0: it has none */
};

/*
 * For init of the engines: all of a cache's struct engine that its params and its layout say; the
 * rest is 0.
 */
void engine_init(struct engine *e, const struct engine_params *params, const struct engine_ops *ops,
		 const struct slab_layout *layout, void *state);
/* For allocflags, by the flags of a cache (spec 4.2); shown by tools, no effect in user space. */
gfp_t engine_page_flags(slab_flags_t flags);

/*
 * Destructs nr objects of a slab that goes back to the pages; nobody else has it. Context: locks
 * that do not belong to the slab may be held.
 */
void engine_destruct_slab(const struct engine *e, void *first, size_t stride, unsigned int nr);

/* The same for what comes back to an engine that constructs at each allocation. */
static inline void engine_destruct(const struct engine *e, void **objs, unsigned int n)
{
	for (unsigned int i = 0; unlikely(e->dtor) && i < n; i++)
		e->dtor(objs[i]);
}

/* Is it this engine, whatever stands in front of it? (debug/ keeps the name) */
static inline bool engine_is(const struct engine *e, const struct engine_ops *ops)
{
	return e->ops->name == ops->name;
}

/* What is freed stays of its type for a grace period of RCU: typesafe.h. */
static inline bool engine_is_typesafe(const struct engine *e)
{
	return load_relaxed(&e->flags) & SLAB_TYPESAFE_BY_RCU;
}

/*
 * A new slab, linked and constructed: for valgrind and the like no byte of
 * it is an object's as yet.
 */
static inline void engine_hide_slab(const struct engine *e, void *slab, size_t size)
{
	if (unlikely(os_memcheck_on) && !engine_is_typesafe(e))
		os_memcheck_close(slab, size, e->ctor ? OS_HIDE_FROM_VALGRIND : OS_HIDE_FROM_ALL);
}

extern const struct engine_ops slob_1991_ops;
extern const struct engine_ops slob_ops;
extern const struct engine_ops slobseg_pow2_ops;
extern const struct engine_ops slobseg_ops;
extern const struct engine_ops slab_ops;
extern const struct engine_ops slub_ops;

#endif /* ENGINE_ENGINE_H */
