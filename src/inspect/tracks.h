/* SPDX-License-Identifier: MIT */
/*
 * inspect/tracks.h - objects of debug slabs with their users, and what an address is
 *
 * Data:       none of its own; reads the process of a snapshot that was taken, through its buffer.
 * Invariants: as for snapshots: every count bounded, free lists followed for at most as many
 *             steps as a slab has objects; which objects are free is known from the free
 *             list, or said to be unknown.
 * Locks:      none; the process goes on meanwhile. An object that changes while it is read may be
 *             given with the track of its old or its new user.
 * Flow:       called by tools (track, info -t, fs, top, gdb script's helper); reads through
 *             s->reader, which must still be usable.
 */
#ifndef INSPECT_TRACKS_H
#define INSPECT_TRACKS_H

#include "debug/debug.h"
#include "debug/stacks.h"
#include "inspect/snapshot.h"

struct track_record {
	unsigned int cache; /* index in snapshot.cache[] */
	uint64_t address;   /* of the object */
	uint64_t size;	    /* bytes asked for if known, else the cache's object_size */
	uint32_t waste;	    /* object_size - bytes asked for */
	uint8_t node;	    /* of the memory */
	bool live;
	struct track alloc;
	struct track free; /* of its life before; addr 0: none */
};

/*
 * Calls visit for each live object of debug slabs with U, of cache index `cache` (UINT_MAX: of
 * all), and for each tracked block of whole pages, whose index is s->blocks_row.
 * Returns how many, or -errno of the reader.
 */
long tracks_visit(struct snapshot *s, unsigned int cache,
		  void (*visit)(const struct track_record *record, void *arg), void *arg);

/* The same of several caches in one pass; wanted: by index in snapshot.cache[]. */
long tracks_visit_some(struct snapshot *s, const bool *wanted,
		       void (*visit)(const struct track_record *record, void *arg), void *arg);

/* ---- blocks.c: whole pages only; the other functions here have them among the rest ---- */

/* Returns how many. */
long blocks_visit(struct snapshot *s, void (*visit)(const struct track_record *record, void *arg),
		  void *arg);
/* The block in the pages that begin there, so many bytes; false: it is not tracked. */
bool blocks_find(struct snapshot *s, uint64_t pages, uint64_t bytes, struct track_record *record);

/* ---- stacks and time ---- */

/* Frames of a stack; 0: unknown handle. max: STACKS_DEPTH suffices. */
unsigned int tracks_stack(struct snapshot *s, uint32_t handle, uint64_t *pcs, unsigned int max);

/* false: it is damaged for sure, and says nothing. */
bool tracks_is_possible(const struct track *track);

/*
 * os_clock_ms() of the process now, so that age = now - track.when. For a core file the time of the
 * newest track, which is looked for once.
 */
uint64_t tracks_now(struct snapshot *s);

enum address_kind {
	ADDRESS_UNKNOWN, /* not in the arena, nor a mapping of ours */
	ADDRESS_FREE,	 /* a free page */
	ADDRESS_PAGES,	 /* whole pages: a large allocation */
	ADDRESS_HEAP,	 /* in a page of a heap (slob) */
	ADDRESS_OBJECT,	 /* in an object of a slab */
	/* in a slab, beside an object (index, object: which one) or behind all (object 0) */
	ADDRESS_PADDING,
	ADDRESS_GUARDED,  /* in an object's guarded page; object 0 */
	ADDRESS_METADATA, /* the allocator's own */
};

enum object_state {
	/* its slab's list cannot be read, or changes too fast; an isolated debug slab */
	OBJECT_UNKNOWN,
	OBJECT_LIVE,
	OBJECT_FREE,   /* on its slab's free list */
	OBJECT_CACHED, /* free, in an array or queue of a front, or lent */
};

struct address_info {
	enum address_kind kind;
	enum object_state state;
	unsigned int cache; /* index in snapshot.cache[]; UINT_MAX: none */
	uint64_t slab;	    /* address of the first page of its block, and the block's bytes */
	uint64_t slab_bytes;
	uint64_t descriptor;
	unsigned int index; /* number of the object in its slab */
	uint64_t object;    /* start of the object; offset of the address = address - object */
	uint32_t object_size;
	uint32_t red_left_pad;
	slab_flags_t debug; /* Z, P, U of its slab */
	bool tracked;
	struct track_record track;
};

/* Finds out what an address of the process is. 0 or -errno of the reader. */
int tracks_address(struct snapshot *s, uint64_t address, struct address_info *info);

#endif /* INSPECT_TRACKS_H */
