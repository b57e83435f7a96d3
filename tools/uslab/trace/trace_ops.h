/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_ops.h - a whole trace as a compact list of operations that cannot misuse an
 * allocator
 *
 * Everything that a trace may get wrong is settled here, before anything is allocated: a free gets
 * an operation only if its object is alive, an object that the trace allocates twice is freed in
 * between, and what no allocator could serve is left out. All of that is counted.
 *
 * Memory: 8 bytes per allocation or free, 8 more for every 64th of them, which has a time stamp,
 * and at most 80 bytes per object that is alive at the same time (hash table of pointers, slots,
 * the replay's own pointer), whatever the length of the trace.
 */
#ifndef TOOLS_TRACE_OPS_H
#define TOOLS_TRACE_OPS_H

#include "trace/trace_parse.h"

#define TRACE_CACHE_NAME 64 /* bytes with the NUL; what the library keeps of a name */

enum trace_op_kind {
	TRACE_OP_ALLOC,
	TRACE_OP_FREE,	      /* to the cache that it came from */
	TRACE_OP_KFREE,	      /* by kfree(), which takes objects of caches too */
	TRACE_OP_IMPLIED_FREE /* the trace has lost the free: the pointer is allocated again */
};

/* One operation on a slot: the place for one live object; slots are used again. */
struct trace_op {
	uint64_t slot : 28;
	uint64_t class : 20; /* index of trace_ops.classes */
	uint64_t cpu : 13;   /* of the event */
	uint64_t kind : 3;   /* enum trace_op_kind */
};

#define TRACE_MAX_SLOTS (1u << 28)
#define TRACE_MAX_CLASSES (1u << 20)
#define TRACE_MAX_CPUS (1u << 13)

#define TRACE_NO_CACHE UINT32_MAX

/* What is allocated: size and flags, from one of the caches or by kmalloc. */
struct trace_class {
	uint32_t cache; /* index of trace_ops.caches, or TRACE_NO_CACHE: normal kmalloc caches */
	uint32_t size;	/* bytes requested */
	uint32_t gfp;	/* as struct trace_event */
	uint32_t next;	/* of the same hash, index + 1; 0: none */
};

/* Kinds of kmalloc caches beside the normal and the reclaimable ones. */
enum trace_kmalloc {
	TRACE_KMALLOC_NONE, /* it is no cache of kmalloc's */
	TRACE_KMALLOC_CG,   /* kmalloc-cg-SIZE: of accounted objects, since Linux 5.14 */
	TRACE_KMALLOC_DMA,  /* dma-kmalloc-SIZE */
	TRACE_NR_KMALLOC
};

/* The kernel's name of such a cache: "kmalloc-cg-1k". */
void trace_kmalloc_name(char name[TRACE_CACHE_NAME], enum trace_kmalloc kmalloc, uint32_t size);

/*
 * Objects of one cache have the same size in words and the same stride: what else has its name is
 * another one. The kernel's merging raises the size of a cache within its last word.
 */
struct trace_cache {
	char name[TRACE_CACHE_NAME];
	bool named;	/* false: the kernel did not say, and the name is made from the sizes */
	bool accounted; /* it has SLAB_ACCOUNT, as its objects are accounted unasked */
	enum trace_kmalloc kmalloc;
	uint32_t size;	 /* bytes of an object: the most that an event says */
	uint32_t stride; /* bytes from one object to the next; 0: not said */
	uint32_t next;	 /* of the same hash, index + 1; 0: none */
};

struct trace_counts {
	uint64_t events[TRACE_NR_KINDS];
	uint64_t allocations;	    /* with an operation: those below left out */
	uint64_t failed;	    /* allocations that failed in the kernel: ptr is NULL */
	uint64_t zero_size;	    /* of 0 bytes */
	uint64_t too_large;	    /* of more than KMALLOC_MAX_SIZE */
	uint64_t matched_frees;	    /* of live objects, the implied ones included */
	uint64_t implied_frees;	    /* of these, see TRACE_OP_IMPLIED_FREE */
	uint64_t unmatched_frees;   /* of pointers that the trace does not allocate */
	uint64_t null_frees;	    /* kfree(NULL) and kfree(ZERO_SIZE_PTR) */
	uint64_t other_cache_frees; /* matched, but the free names another cache, or another way */
	uint64_t live_objects;	    /* at the end: allocations - matched_frees */
	uint64_t live_bytes;	    /* bytes requested */
	uint64_t peak_objects;
	uint64_t peak_bytes;
	uint64_t peak_op; /* index of the first operation after which so many bytes are alive */
	uint64_t cpus;	  /* that have events */
};

struct trace_ops {
	struct trace_op *ops;
	size_t nr_ops;
	uint64_t *stamps; /* time of each operation in ns; never goes back */
	struct trace_class *classes;
	uint32_t nr_classes;
	struct trace_cache *caches;
	uint32_t nr_caches;
	uint32_t nr_slots;
	struct trace_counts counts;
	uint64_t cpus_seen[TRACE_MAX_CPUS / 64]; /* a bit for each CPU that has events */
	struct trace_index *index;		 /* private; gone after trace_ops_finish() */
};

/* 0 or -ENOMEM. */
int trace_ops_init(struct trace_ops *t);

/*
 * The next event of the trace. 0; -ENOMEM; -E2BIG: more objects alive, CPUs, or kinds of allocation
 * than the fields of an operation can hold, and the event has no operation.
 */
int trace_ops_add(struct trace_ops *t, const struct trace_event *event);

/* After -E2BIG: "a CPU below 8192, found 99999", or which of the others it is. */
void trace_ops_limit(const struct trace_ops *t, const struct trace_event *event, char *text,
		     size_t size);

/* Caches of which trace_stride_of() does not know what made their strides. */
uint32_t trace_ops_unknown_strides(const struct trace_ops *t);

/*
 * The place of each CPU among those that have events, from 0, in the order of their numbers; of
 * others it means nothing.
 */
void trace_ops_rank_cpus(const struct trace_ops *t, uint16_t rank[TRACE_MAX_CPUS]);

/* Nanoseconds from the first operation to op; 0: there is no such operation. */
uint64_t trace_ops_time(const struct trace_ops *t, size_t op);

/* Frees what only trace_ops_add() needs. */
void trace_ops_finish(struct trace_ops *t);

/* Frees everything. */
void trace_ops_destroy(struct trace_ops *t);

#endif /* TOOLS_TRACE_OPS_H */
