/* SPDX-License-Identifier: MIT */
/*
 * inspect/slab_map.c - one slab of a process: where its objects lie, and which of them are free
 *
 * Data:       struct slab_map of the caller; the upper part of the snapshot's buffer.
 * Invariants: see inspect/slab_map.h. Impossible values are counted as inconsistent, and the slab
 *             is left out or its free objects are unknown.
 * Locks:      none.
 * Flow:       slab_map_open: descriptor, layout, checks; slab_map_fill: the bytes, then the list
 *             that the slab's engine keeps.
 */
#include "inspect/slab_map.h"

#include <string.h>

#include "base/bits.h"
#include "engine/slub/freeptr.h"
#include "front/percpu.h"
#include "page/arena.h"

#define COPY (s->buffer + SLAB_MAP_PIECE)
#define COPY_SIZE (SNAPSHOT_BUFFER - SLAB_MAP_PIECE)
#define TRIES 3	       /* to read a slab that changes */
#define MAX_INDEX 256u /* objects in a slab of engine slab: numbers are one byte */

void slab_map_init(struct slab_map *map)
{
	map->layout_address = map->debug_address = 0;
	map->copied = map->known = false;
}

static bool impossible(struct snapshot *s)
{
	s->totals.inconsistent++;
	return false;
}

/* ---- where objects lie ----------------------------------------------------------------------- */

static bool read_descriptor(struct snapshot *s, const struct slab_map *map, struct page *page)
{
	return snapshot_read(s, map->descriptor, page, sizeof(*page));
}

static void take_counters(struct slab_map *map)
{
	memcpy(&map->counters, &map->page.counters, sizeof(map->counters));
}

/* A layout never changes: the same address is not read again. */
static bool read_layout(struct snapshot *s, struct slab_map *map)
{
	uint64_t address = (uintptr_t)map->page.layout;

	if (map->layout_address == address)
		return true;
	map->layout_address = 0;
	if (!snapshot_read(s, address, &map->layout, sizeof(map->layout)))
		return false;
	map->layout_address = address;
	return true;
}

static bool read_debug(struct snapshot *s, struct slab_map *map)
{
	uint64_t place = s->work[map->cache].engine + offsetof(struct engine, debug);
	uint64_t address;

	if (!snapshot_read(s, place, &address, sizeof(address)))
		return false;
	if (map->debug_address == address)
		return true;
	map->debug_address = 0;
	if (!snapshot_read(s, address, &map->debug, sizeof(map->debug)))
		return false;
	map->debug_address = address;
	return true;
}

/* Bytes from an object's start to the end of its metadata in a debug slab. */
static uint64_t debug_end(const struct slab_map *map)
{
	const struct slab_layout *l = &map->layout;
	uint64_t end = debug_tracks_offset(l);

	if (l->debug & SLAB_STORE_USER)
		end += 2 * sizeof(struct track) + (map->debug.orig_size ? sizeof(uint32_t) : 0);
	return MAX(end, (uint64_t)l->object_size);
}

static bool layout_fits(const struct slab_map *map)
{
	const struct slab_layout *l = &map->layout;

	if (!l->stride || l->stride > map->bytes || l->object_size > l->stride ||
	    l->kind > LAYOUT_GUARD)
		return false;
	return l->kind != LAYOUT_DEBUG || l->red_left_pad + debug_end(map) <= l->stride;
}

/* The number of objects is in the descriptor; false if they exceed the block. */
static bool place_objects(struct slab_map *map)
{
	const struct slab_layout *l = &map->layout;
	uint64_t start = 0;

	if (l->kind == LAYOUT_PLAIN)
		start = (uint64_t)map->counters.colour * l->colour_off;
	map->objects = map->counters.objects;
	map->first = map->base + start + l->red_left_pad;
	return start + (uint64_t)map->objects * l->stride <= map->bytes;
}

bool slab_map_open(struct snapshot *s, struct slab_map *map, unsigned long number)
{
	int index;

	map->known = map->copied = false;
	map->descriptor = s->descriptors + number * sizeof(struct page);
	if (number >= s->nr_pages || !read_descriptor(s, map, &map->page))
		return false;
	index = snapshot_find_engine(s, (uintptr_t)map->page.engine);
	if (map->page.type != PAGE_SLAB || index < 0)
		return false; /* freed meanwhile, or its cache was created or destroyed */
	if (map->page.order > ARENA_CHUNK_ORDER || number % (1ul << map->page.order) ||
	    (1ul << map->page.order) > s->nr_pages - number)
		return impossible(s);
	map->cache = (unsigned int)index;
	map->base = s->totals.arena_base + ((uint64_t)number << PAGE_SHIFT);
	map->bytes = PAGE_SIZE << map->page.order;
	take_counters(map);
	if (!read_layout(s, map) || (map->layout.kind == LAYOUT_DEBUG && !read_debug(s, map)))
		return false;
	return (layout_fits(map) && place_objects(map)) || impossible(s);
}

/* ---- its bytes ------------------------------------------------------------------------------- */

bool slab_map_read(struct snapshot *s, const struct slab_map *map, uint64_t address, void *buf,
		   size_t len)
{
	if (address < map->base || len > map->bytes || address - map->base > map->bytes - len)
		return impossible(s);
	if (!map->copied)
		return snapshot_read(s, address, buf, len);
	memcpy(buf, COPY + (address - map->base), len);
	return true;
}

/* ---- free lists ------------------------------------------------------------------------------ */

static void mark_free(struct slab_map *map, unsigned int i)
{
	map->free[i / 64] |= 1ull << i % 64;
}

/* How free pointers of the slab are encoded. */
static struct slub code_of(const struct snapshot *s, const struct slab_map *map)
{
	const struct snapshot_work *work = &s->work[map->cache];

	if (map->layout.kind == LAYOUT_DEBUG)
		return (struct slub){ .hardened = map->debug.hardened,
				      .random = map->debug.random };
	return (struct slub){ .hardened = work->hardened, .random = work->random };
}

/* Marks the objects of the list that begins with obj. false: it is not valid. */
static bool follow(struct snapshot *s, struct slab_map *map, uint64_t obj)
{
	struct slub code = code_of(s, map);

	while (obj) {
		uint64_t offset = obj - map->first;
		uint64_t slot = obj + map->layout.offset;
		uint64_t i = offset / map->layout.stride;
		uint64_t value;

		if (obj < map->first || offset % map->layout.stride || i >= map->objects ||
		    slab_map_is_free(map, (unsigned int)i))
			return false;
		mark_free(map, (unsigned int)i);
		if (!slab_map_read(s, map, slot, &value, sizeof(value)))
			return false;
		obj = freeptr_code(&code, value, (const uintptr_t *)slot);
	}
	return true;
}

/* The private list of the CPU that owns the slab. */
static bool follow_of_cpu(struct snapshot *s, struct slab_map *map)
{
	uint64_t place = s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET +
			 USLAB_WINDOW_STATE + s->cache[map->cache].id * USLAB_CPU_STATE_SIZE;

	for (unsigned int cpu = 0; cpu < s->totals.cpus; cpu++) {
		uint64_t window = (uint64_t)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT;
		struct kmem_cache_cpu state;

		if (!snapshot_read(s, place + window, &state, sizeof(state)))
			return false;
		if (state.slab == map->descriptor)
			return follow(s, map, state.freelist);
	}
	return true; /* on a CPU's partial list: nothing private */
}

/* SLUB: linked objects, and those that were never touched. */
static bool fill_slub(struct snapshot *s, struct slab_map *map)
{
	if (!follow(s, map, (uintptr_t)map->page.freelist))
		return false;
	for (unsigned int i = map->counters.formatted; i < map->objects; i++)
		mark_free(map, i);
	return !map->counters.frozen || follow_of_cpu(s, map);
}

/* SLAB: numbers of free objects, from entry inuse on; no array: the slab is full. */
static bool fill_index(struct snapshot *s, struct slab_map *map)
{
	uint64_t index = (uintptr_t)map->page.freelist;
	uint8_t number[MAX_INDEX];

	if (!index)
		return true;
	if (map->objects > MAX_INDEX || !snapshot_read(s, index, number, map->objects))
		return false;
	for (unsigned int i = map->counters.inuse; i < map->objects; i++) {
		if (number[i] >= map->objects)
			return false;
		mark_free(map, number[i]);
	}
	return true;
}

static bool fill_free(struct snapshot *s, struct slab_map *map)
{
	const char *engine = s->cache[map->cache].engine;

	memset(map->free, 0, sizeof(map->free));
	switch (map->layout.kind) {
	case LAYOUT_DEBUG: /* the free list of an isolated one may be damaged */
		return !map->counters.frozen && follow(s, map, (uintptr_t)map->page.freelist);
	case LAYOUT_GUARD:
		return false;
	case LAYOUT_PLAIN:
		break;
	}
	if (!strcmp(engine, "slab"))
		return fill_index(s, map);
	if (!strcmp(engine, "slub"))
		return fill_slub(s, map);
	return follow(s, map, (uintptr_t)map->page.freelist);
}

static bool copy_slab(struct snapshot *s, struct slab_map *map)
{
	if (map->layout.kind == LAYOUT_GUARD || map->bytes > COPY_SIZE)
		return true;
	map->copied = snapshot_read(s, map->base, COPY, map->bytes);
	return map->copied;
}

/* Was the slab the same before and after the read? Stores the new descriptor. */
static bool is_stable(struct snapshot *s, struct slab_map *map, bool *same)
{
	struct page page;
	bool stable;

	*same = read_descriptor(s, map, &page) && page.type == PAGE_SLAB &&
		page.engine == map->page.engine && page.layout == map->page.layout &&
		page.order == map->page.order;
	stable = page.freelist == map->page.freelist && page.counters == map->page.counters;
	if (*same) {
		map->page = page;
		take_counters(map);
		*same = place_objects(map);
	}
	return stable;
}

bool slab_map_fill(struct snapshot *s, struct slab_map *map)
{
	bool same = true;

	for (int i = 0; i < TRIES; i++) {
		map->copied = map->known = false;
		if (!copy_slab(s, map))
			return false;
		map->known = fill_free(s, map);
		if (is_stable(s, map, &same) || !same)
			break;
	}
	return same;
}

/* ---- users ----------------------------------------------------------------------------------- */

bool slab_map_record(struct snapshot *s, const struct slab_map *map, unsigned int i,
		     struct track_record *record)
{
	uint64_t object = slab_map_object(map, i);
	uint64_t place = object + debug_tracks_offset(&map->layout);
	uint32_t size = map->layout.object_size;
	struct track track[2];

	if (!slab_map_read(s, map, place, track, sizeof(track)))
		return false;
	if (map->debug.orig_size &&
	    !slab_map_read(s, map, place + sizeof(track), &size, sizeof(size)))
		return false;
	record->cache = map->cache;
	record->address = object;
	record->size = MIN(size, map->layout.object_size);
	record->waste = map->layout.object_size - record->size;
	record->node = map->page.node;
	record->live = map->known && !slab_map_is_free(map, i);
	record->alloc = track[TRACK_ALLOC];
	record->free = track[TRACK_FREE];
	return true;
}
