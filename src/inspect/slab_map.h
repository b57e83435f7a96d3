/* SPDX-License-Identifier: MIT */
/*
 * inspect/slab_map.h - one slab of a process: where its objects lie, and which of them are free
 *
 * Data:       struct slab_map of the caller; the slab's bytes are copied into the snapshot's buffer
 *             if they fit there. One map may be used for one slab after the other: it keeps the
 *             layouts and caches that it has read.
 * Invariants: objects lie within the block: first + objects * stride <= base + bytes; metadata of
 *             debug layouts lies within the stride. Free lists are followed for at most as many
 *             steps as there are objects.
 * Locks:      none; a slab that changes meanwhile is read again a few times.
 * Flow:       used by address.c, slab_map.c, tracks.c and bench/uslab-bench-mesh.c; calls
 *             snapshot_read().
 */
#ifndef INSPECT_SLAB_MAP_H
#define INSPECT_SLAB_MAP_H

#include "debug/debug.h"
#include "inspect/internal.h"
#include "inspect/tracks.h"

#define SLAB_MAP_OBJECTS 32768u /* more than 15 bits can count */
#define SLAB_MAP_PIECE 16384u	/* bytes of the buffer that are left to the caller */

struct slab_map {
	unsigned int cache; /* index in snapshot.cache[] */
	uint64_t descriptor;
	uint64_t base; /* address of the block, and its bytes */
	uint64_t bytes;
	uint64_t first; /* address of object 0 */
	unsigned int objects;
	struct page page;
	struct slab_layout layout;
	struct slab_counters counters;
	bool known; /* free[] is valid; else it is not known which objects are free */
	uint64_t free[SLAB_MAP_OBJECTS / 64]; /* bit i: object i is on the slab's own free list */

	/* ---- kept from slab to slab ---- */
	uint64_t layout_address; /* of layout; 0: none so far */
	uint64_t debug_address;	 /* of debug; 0: none so far */
	bool copied;		 /* the slab's bytes are in the buffer */
	struct debug debug;	 /* of debug slabs: codes and sizes; last, without its node[] */
};

void slab_map_init(struct slab_map *map);

/*
 * The slab whose head is page number `number` of the arena. false: there is
 * none, or it cannot be one.
 */
bool slab_map_open(struct snapshot *s, struct slab_map *map, unsigned long number);

/*
 * Reads the slab's bytes and its free list. Objects cached by fronts count as used. May find
 * another state of the same slab than slab_map_open() did; false: it is no longer the same slab.
 */
bool slab_map_fill(struct snapshot *s, struct slab_map *map);

/* Bytes of the slab, after slab_map_fill(). false: cannot be read, or not inside. */
bool slab_map_read(struct snapshot *s, const struct slab_map *map, uint64_t address, void *buf,
		   size_t len);

/* Object i with its users, in a slab that has them. false: they cannot be read. */
bool slab_map_record(struct snapshot *s, const struct slab_map *map, unsigned int i,
		     struct track_record *record);

static inline bool slab_map_has_tracks(const struct slab_map *map)
{
	return map->layout.kind == LAYOUT_DEBUG && (map->layout.debug & SLAB_STORE_USER);
}

static inline uint64_t slab_map_object(const struct slab_map *map, unsigned int i)
{
	return map->first + (uint64_t)i * map->layout.stride;
}

static inline bool slab_map_is_free(const struct slab_map *map, unsigned int i)
{
	return map->free[i / 64] >> i % 64 & 1;
}

#endif /* INSPECT_SLAB_MAP_H */
