/* SPDX-License-Identifier: MIT */
/*
 * inspect/usage.h - how many bytes this process has in slabs, cheap enough to read after every call
 *
 * Data:       none of its own.
 * Invariants: slab_bytes + large_bytes == pages allocated from the zones, but for those on CPUs'
 *             lists. When quiet, slab_bytes equals snapshot_totals.slab_bytes.
 * Locks:      none: counters are read as they are, exact when quiet. usage_read_slow() also walks
 *             the list of caches: no other thread may create or destroy one meanwhile.
 * Flow:       called by tools (uslab replay, uslab compare); reads the
 *             counters of page/ and front/.
 */
#ifndef INSPECT_USAGE_H
#define INSPECT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct usage {
	uint64_t slab_bytes;
	uint64_t large_bytes;  /* kmallocs that are too large for a cache, in whole pages */
	uint64_t mapped_bytes; /* those too large for the arena: mappings of their own */
};

/* All zero before the library is initialised. */
void usage_read(struct usage *usage);

struct usage_slow {
	uint64_t queue_bytes;	 /* objects in arrays and queues of CPUs and nodes */
	uint64_t cpu_slab_bytes; /* free objects in slabs that belong to a CPU: front cpuslab */
	uint64_t meta_bytes;	 /* allocated by the library itself, page/meta.h */
	uint64_t page_blocks;	 /* blocks of pages asked for since start */
};

/* These need a walk over all caches and CPUs. */
void usage_read_slow(struct usage_slow *usage);

/*
 * From now on the library's time is what this function says, in us, which must not go back; NULL:
 * the kernel's again. Returns the time before. For who plays in less time what took longer.
 * Context: no other thread uses the library.
 */
uint64_t usage_play_time(uint64_t (*us)(void));

/* Bytes of memory that the system can give without swapping; 0: unknown. */
uint64_t usage_available_memory(void);

/* Pages of the arena so far, by number: usage_page_of() is not below it outside of the arena. */
uint64_t usage_nr_pages(void);
uint64_t usage_page_of(const void *p);
/* Does it belong to a slab, a heap or a large kmalloc? */
bool usage_page_in_use(uint64_t page);

#endif /* INSPECT_USAGE_H */
