/* SPDX-License-Identifier: MIT */
/*
 * inspect/memory.h - the resident memory of a process that uses uslab, by kind
 *
 * Why:        docs/adr/0064.
 * Data:       struct memory, given by the caller (some 100 KiB).
 * Invariants: each resident page of the arena counts once: the kinds up to MEMORY_BETWEEN add up to
 *             arena_bytes. Nothing is counted twice elsewhere, unless the process lies.
 * Locks:      none; the process goes on meanwhile. A page is counted by what its descriptor said a
 *             moment before the system said whether it is resident.
 * Flow:       called by tools after a snapshot was taken, whose reader it uses; calls back for
 *             which pages are resident.
 *
 * Data of the process is not trusted: see inspect/snapshot.h. Of ranges outside of the arena each
 * is looked at in whole pages, and all of them together are bounded.
 */
#ifndef INSPECT_MEMORY_H
#define INSPECT_MEMORY_H

#include "inspect/snapshot.h"

enum memory_kind {
#define MEMORY_KIND(item, key, help) MEMORY_##item,
#include "inspect/memory.def"
	NR_MEMORY_KINDS
};

/* The state of a page. */
#define MEMORY_RESIDENT 1u /* and no page of zeros that was only read */
#define MEMORY_SWAPPED 2u
#define MEMORY_HUGE 4u /* resident, as a part of a huge page */

#define MEMORY_PIECE 1024u /* pages whose states are asked for at once, at most */

struct memory_range {
	uint64_t start;
	uint64_t size;
	enum memory_kind kind;
};

/* What the system says. */
struct memory_pages {
	/* States of nr pages of PAGE_SIZE from addr on. 0, or the error that ends everything. */
	int (*states)(void *ctx, uint64_t addr, size_t nr, uint8_t *state);
	void *ctx;
	const struct memory_range *range; /* further ones: of the library's file */
	unsigned int nr_ranges;
};

/* Resident bytes of a cache; all but live and padding are free. */
struct memory_cache {
	unsigned long live, padding, held_cpu, held_node, lent, free, tails;
	unsigned long estimated; /* see struct memory */

	/* ---- while pages are counted ---- */
	unsigned long objects; /* in use, held ones included */
	unsigned long inuse;   /* their bytes that are resident */
	unsigned long strides; /* their bytes, resident or not */
};

/* A layout of slabs, as read. */
struct memory_layout {
	uint64_t address;
	unsigned int stride;
};

#define MEMORY_LAYOUTS 256u

struct memory {
	unsigned long kind[NR_MEMORY_KINDS]; /* resident bytes */
	unsigned long arena_bytes;	     /* of the kinds of the arena together */
	unsigned long bytes;		     /* of all kinds */
	unsigned long huge;		     /* of these, in huge pages */
	unsigned long swapped;		     /* besides: bytes in swap */
	/*
	 * Of slabs some pages of which are not resident it is not known which objects these would
	 * have held: so many of the bytes of objects in use may be free ones.
	 */
	unsigned long estimated;
	struct memory_cache cache[SNAPSHOT_MAX_CACHES]; /* as in the snapshot */

	/* ---- while it is being taken ---- */
	struct snapshot *s;
	const struct memory_pages *pages;
	int error;
	unsigned long left; /* pages outside of the arena that may still be looked at */
	unsigned int layouts_read;
	struct memory_layout layout[MEMORY_LAYOUTS];
	uint32_t clock[SNAPSHOT_MAX_NODES]; /* as struct page.stamp */
	uint32_t delay;
	uint8_t state[MEMORY_PIECE];
};

/* key and help of a kind */
const char *memory_key(enum memory_kind kind);
const char *memory_help(enum memory_kind kind);

/* m needs no preparation. 0, or the error of pages->states or of the reader. */
int memory_take(struct memory *m, struct snapshot *s, const struct memory_pages *pages);

/* ---- memory.c and memory_own.c ---- */

/* The states of nr pages are in m->state. false: m->error. */
bool memory_states(struct memory *m, uint64_t addr, size_t nr);
/* Resident bytes of the first nr of them, huge ones and swapped ones noted. */
unsigned long memory_count(struct memory *m, size_t nr);
/* Counts what lies outside of the arena. */
void memory_own(struct memory *m);

#endif /* INSPECT_MEMORY_H */
