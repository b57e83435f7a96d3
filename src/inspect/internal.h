/* SPDX-License-Identifier: MIT */
/*
 * inspect/internal.h - the parts of taking a snapshot
 *
 * Data:       struct snapshot (inspect/snapshot.h).
 * Invariants: once s->error is set every further read fails at once.
 * Locks:      none.
 * Flow:       snapshot.c calls layouts.c, heaps.c, pages.c, numa.c, fronts.c, lent.c, mobility.c,
 *             limits.c; all of them read through snapshot_read().
 */
#ifndef INSPECT_INTERNAL_H
#define INSPECT_INTERNAL_H

#include "inspect/snapshot.h"

/*
 * Reads from the process. false: failed. Unmapped memory only counts as an inconsistency (a cache
 * was just destroyed, or the process is corrupted); every other error ends the snapshot.
 */
bool snapshot_read(struct snapshot *s, uint64_t addr, void *buf, size_t len);

/* Reads a string; printable ASCII only, NUL last, empty when it cannot be read. */
void snapshot_text(struct snapshot *s, uint64_t addr, char *to, size_t size);

/* Adds a row that is no cache: count blocks of whole pages. */
struct snapshot_cache *snapshot_add_row(struct snapshot *s, const char *name, unsigned long count,
					unsigned long bytes);

/* Fills in whether whole pages are tracked, and how many of them are, mapped ones included. */
void blocks_fill_row(struct snapshot *s, struct snapshot_cache *c);

/* Index of the cache whose struct engine is at that address; -1: no such cache. */
int snapshot_find_engine(const struct snapshot *s, uint64_t engine);

/*
 * layouts.c: reads the layout of new slabs of cache number index and, if it was ever debugged,
 * flags. Returns the address of its engine's own ops.
 */
uint64_t snapshot_layouts(struct snapshot *s, unsigned int index, const struct engine *e);
/* The kind of a slab of that cache by its layout's address; *debug: which of Z, P, U it has. */
enum layout_kind snapshot_kind(struct snapshot *s, unsigned int index, uint64_t layout,
			       slab_flags_t *debug);
/* Counts of reports and stacks. */
void snapshot_debug_totals(struct snapshot *s);

/* layouts.c: when caches are known: which of them are sampled by a tool that died. */
void snapshot_sampling(struct snapshot *s);

/* Reads all page descriptors: slabs and objects in use per cache, page runs, free pages. */
void snapshot_pages(struct snapshot *s);

/* heaps.c: finds the heaps; counts a page of one; adds their rows after all pages are counted. */
void snapshot_heaps(struct snapshot *s);
void snapshot_heap_page(struct snapshot *s, const struct page *page);
void snapshot_heap_rows(struct snapshot *s);

/* numa.c: counts a block of pages where it lies; reads the counters of nodes. */
void snapshot_node_block(struct snapshot *s, const struct page *page);
void snapshot_numa(struct snapshot *s);

/*
 * Where the words of arrays are in the window of a CPU, and how many objects such an array has at
 * most: the inline words, those that are used without rseq (in each process one of the two is
 * stopped or was never set), the spares, and those of charged objects.
 */
struct snapshot_array_place {
	uint64_t offset;
	unsigned int capacity;
};

#define SNAPSHOT_ARRAY_PLACES 5
extern const struct snapshot_array_place snapshot_array_places[SNAPSHOT_ARRAY_PLACES];

/* Is that the word of an array of a cache, and none of those that always miss (front/front.h)? */
static inline bool snapshot_is_array(const struct snapshot *s, unsigned int id, uint64_t word)
{
	return word != s->word[id] && word != s->word[id] + USLAB_SHEAF_SIZE &&
	       word != s->word[id] + 2 * USLAB_SHEAF_SIZE;
}

/* Reads what CPUs, depots and barns hold, and the event counters. */
void snapshot_fronts(struct snapshot *s);

/* Have its CPUs slabs of their own? */
bool snapshot_has_cpu_slabs(const struct snapshot_cache *c);

/*
 * lent.c: calls visit for each lent sheaf and its address, until it says false. false: the list
 * changed meanwhile, or is damaged, and some were left out.
 */
struct slab_sheaf;
typedef bool snapshot_visit_sheaf(struct snapshot *s, uint64_t address,
				  const struct slab_sheaf *sheaf, void *arg);
bool snapshot_each_sheaf(struct snapshot *s, snapshot_visit_sheaf *visit, void *arg);
/* Counts their objects. */
void snapshot_lent(struct snapshot *s);
/* mobility.c: caches whose objects move. */
void snapshot_moves(struct snapshot *s);
/* limits.c: limits of the process and of caches. */
void snapshot_limits(struct snapshot *s);

#endif /* INSPECT_INTERNAL_H */
