/* SPDX-License-Identifier: MIT */
/*
 * inspect/snapshot.h - a process that uses uslab, as plain numbers
 *
 * Data:       struct snapshot, given by the caller (about 5 MiB, so mapped and not on a stack).
 * Invariants: every text ends with NUL and holds printable ASCII only; nr_caches and nr_aliases
 *             are within the arrays, alias ranges within nr_aliases.
 * Locks:      none; the process read goes on meanwhile. Numbers that are read at different times
 *             may not add up exactly unless it is quiet.
 * Flow:       called by tools; calls a struct reader.
 *
 * Data of the process is not trusted: every count is bounded by the array it counts, every address
 * is only passed to the reader, and no list is followed but the private free list of a cpu slab
 * (bounded by the slab's objects), the aliases of a cache (bounded by the array) and that of lent
 * sheaves (bounded by a number).
 */
#ifndef INSPECT_SNAPSHOT_H
#define INSPECT_SNAPSHOT_H

#include "debug/debug.h"
#include "engine/slub/slub.h"
#include "inspect/reader.h"
#include "inspect/root.h"

#define SNAPSHOT_NAME_MAX 64
#define SNAPSHOT_MAX_ALIASES 1024
#define SNAPSHOT_EXTRA_ROWS 3 /* "free-pages", "malloc-large" and "malloc-mapped" */
#define SNAPSHOT_MAX_HEAPS 8  /* one row for each that has pages */
#define SNAPSHOT_MAX_CACHES (USLAB_NR_HANDLES + SNAPSHOT_EXTRA_ROWS + SNAPSHOT_MAX_HEAPS)

#define SNAPSHOT_MAX_NODES 64 /* OS_MAX_NODES */

/* What sysfs breaks down by node (spec 6.3); with the meanings of the fields of the same names. */
struct snapshot_node {
	uint32_t slabs;
	uint32_t partial;
	uint32_t cpu_slabs;
	uint32_t inuse; /* objects in use in slabs: those held by fronts included */
	uint32_t total_objects;
	uint32_t objects_partial;
};

struct snapshot_cache {
#define CACHE_TEXT(member, size, key, help) char member[size];
#define CACHE_FIELD(type, member, key, help) type member;
#include "inspect/fields.def"
	slab_flags_t flags;
	uint64_t tracking_since;  /* see debug/debug.h */
	bool sampling_left;	  /* it was sampled by a tool that died, and is no more */
	bool whole_pages;	  /* no cache: blocks too large for any, in the arena or mapped */
	unsigned int first_alias; /* of snapshot.alias[], nr_aliases of them, newest first */
	unsigned int nr_aliases;
	bool no_stats;			     /* a tree of a kernel that does not count events */
	unsigned long stat[NR_ENGINE_STATS]; /* events, all CPUs */
	struct snapshot_node node[SNAPSHOT_MAX_NODES];
};

struct snapshot_totals {
#define TOTAL_TEXT(member, size, key, help) char member[size];
#define TOTAL_FIELD(type, member, key, help) type member;
#define TOTAL_ADDRESS(member, key, help) uint64_t member;
#include "inspect/fields.def"
};

/* A node, of a machine with several; else all zero. */
struct snapshot_machine_node {
#define NODE_FIELD(member, key, help) unsigned long member;
#include "inspect/fields.def"
};

/* Data of a cache that is needed only while the snapshot is being taken. */
struct snapshot_work {
	uint64_t engine;	/* address of its struct engine in the process */
	uint64_t depots;	/* of its struct depot[nodes], or 0 */
	uint64_t queues;	/* of its struct queues, or 0 */
	uint64_t sheaves;	/* of its struct sheaves, or 0 */
	uint64_t layout;	/* of the engine's own slabs */
	uint64_t debug_layouts; /* of its struct debug's layouts[], or 0 */
	unsigned long inuse;	/* in its slabs and heap: objects held by fronts included */
	uint64_t random;	/* of free pointers */
	unsigned long debug_inuse[DEBUG_LAYOUTS]; /* by debug_layout_index(): of debug slabs */
	unsigned int cpu_slabs; /* CPUs that have one: the other frozen ones are on their lists */
	bool hardened;
	bool takes_blocks; /* of a heap, which counts them */
	bool free_list;	   /* slabs without objects are on no partial list */
};

/* A heap (engine/engine.h): its counters, and its pages as counted from descriptors. */
struct snapshot_heap {
	uint64_t address; /* of struct engine_heap in the process */
	char name[16];
	unsigned long objects; /* of caches and blocks */
	unsigned long blocks;
	unsigned long bytes; /* in use */
	unsigned long pages;
	unsigned long partial; /* of these, with free bytes */
};

#define SNAPSHOT_HASH 4096    /* slots; a power of two, at least twice USLAB_NR_HANDLES */
#define SNAPSHOT_BUFFER 65536 /* bytes read at once */

struct snapshot {
	struct uslab_root root; /* as read; also when it is of another version */
	struct snapshot_totals totals;
	unsigned int nr_caches;
	unsigned int nr_aliases;
	unsigned int blocks_row; /* index of the row of whole pages in the arena */
	struct snapshot_cache cache[SNAPSHOT_MAX_CACHES]; /* by number, extra rows, heaps */
	char alias[SNAPSHOT_MAX_ALIASES][SNAPSHOT_NAME_MAX];
	struct snapshot_machine_node node[SNAPSHOT_MAX_NODES];

	/* ---- while it is being taken: inspect/internal.h ---- */
	const struct reader *reader;
	int error;    /* first error of the reader that ends everything, or 0 */
	uint64_t now; /* of a core file: tracks_now(), which looks for it when it is first asked */
	bool now_known;
	uint64_t descriptors;
	unsigned long nr_pages;
	unsigned int layouts_read; /* while pages are counted */
	unsigned int nr_heaps;
	struct snapshot_heap heap[SNAPSHOT_MAX_HEAPS];
	struct snapshot_work work[USLAB_NR_HANDLES]; /* by index in cache[] */
	uint16_t by_id[USLAB_NR_HANDLES];	     /* index + 1 of that number; 0: none */
	uint16_t hash[SNAPSHOT_HASH];		     /* index + 1 of that engine; 0: free slot */
	uint64_t word[USLAB_NR_HANDLES];	     /* handles, then stop words */
	char buffer[SNAPSHOT_BUFFER] __attribute__((aligned(64)));
};

/*
 * Reads uslab_root at that address into s->root. 0; -EPROTO: that is no uslab_root;
 * -EPROTONOSUPPORT: of another version or with other structures; -EAGAIN: not ready (the library
 * was not used so far); or the error of the reader.
 */
int snapshot_open(struct snapshot *s, const struct reader *r, uint64_t root);

/* The same, then everything else. s needs no preparation. Returns the same. */
int snapshot_take(struct snapshot *s, const struct reader *r, uint64_t root);

#endif /* INSPECT_SNAPSHOT_H */
