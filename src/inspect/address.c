/* SPDX-License-Identifier: MIT */
/*
 * inspect/address.c - what an address of a process is
 *
 * Data:       none; struct snapshot of the caller.
 * Invariants: see inspect/tracks.h. Cached objects are searched in the arrays of CPUs and nodes
 *             and in lent sheaves, each within its bounds, chains of arrays for at most as many
 *             steps as are counted.
 * Locks:      none.
 * Flow:       tracks_address: place in the reserved range -> page descriptor
 *             -> slab_map.c -> arrays.
 */
#include <limits.h>
#include <string.h>

#include "base/bits.h"
#include "cache/lent.h"
#include "front/depot.h"
#include "front/percpu.h"
#include "front/queues.h"
#include "front/sheaves.h"
#include "page/arena.h"
#include "inspect/slab_map.h"
#include "inspect/tracks.h"

#define MAX_ENTRIES (16 * QUEUES_MAX_LIMIT) /* objects of a queue: the largest limit */
#define PIECE (SLAB_MAP_PIECE / sizeof(uint64_t))

/* ---- cached by a front ---------------------------------------------------------------------- */

static uint64_t window(const struct snapshot *s, unsigned int cpu)
{
	return s->totals.arena_base + (uint64_t)USLAB_WINDOWS_OFFSET +
	       ((uint64_t)(cpu + USLAB_WINDOW_CPU0) << USLAB_WINDOW_SHIFT);
}

/* Is the object one of n words at that address? */
static bool is_among(struct snapshot *s, uint64_t object, uint64_t address, uint64_t n)
{
	const uint64_t *word = (const uint64_t *)s->buffer;

	for (uint64_t done = 0; done < n; done += PIECE) {
		uint64_t part = MIN(PIECE, n - done);

		if (!snapshot_read(s, address + done * sizeof(*word), s->buffer,
				   part * sizeof(*word)))
			return false;
		for (uint64_t i = 0; i < part; i++)
			if (word[i] == object)
				return true;
	}
	return false;
}

/* Is the object in the array with this top? */
static bool in_sheaf(struct snapshot *s, uint64_t object, uint64_t top, unsigned int capacity)
{
	unsigned int bottom = USLAB_SHEAF_CAPACITY - capacity;

	if (!top || top % sizeof(void *) || sheaf_index(top) <= bottom)
		return false;
	return is_among(s, object, top - (sheaf_index(top) - bottom - 1) * sizeof(void *),
			sheaf_index(top) - bottom);
}

static bool in_words(struct snapshot *s, const struct snapshot_cache *c, uint64_t object,
		     unsigned int cpu)
{
	uint64_t word;

	for (unsigned int i = 0; i < SNAPSHOT_ARRAY_PLACES; i++) {
		const struct snapshot_array_place *place = &snapshot_array_places[i];

		if (snapshot_read(s, window(s, cpu) + place->offset + c->id * sizeof(word), &word,
				  sizeof(word)) &&
		    snapshot_is_array(s, c->id, word) &&
		    in_sheaf(s, object, word, MIN(c->capacity, place->capacity)))
			return true;
	}
	return false;
}

/* Looks at no more sheaves than there can be with objects. */
static bool in_stack(struct snapshot *s, const struct snapshot_cache *c, uint64_t object,
		     const struct depot_stack *stack)
{
	uint64_t top = stack->top;

	for (unsigned long most = MIN(stack->nr, c->total_objects); top && most; most--) {
		if (in_sheaf(s, object, top, c->capacity))
			return true;
		if (!snapshot_read(s, (uintptr_t)sheaf_base(top), &top, sizeof(top)))
			return false;
	}
	return false;
}

/* Those on their way to other nodes. */
static bool in_remotes(struct snapshot *s, const struct snapshot_cache *c, uint64_t object,
		       uint64_t remote)
{
	struct depot_remote r;

	for (unsigned int node = 0; remote && node < s->totals.nodes; node++)
		if (snapshot_read(s, remote + node * sizeof(r), &r, sizeof(r)) && r.top &&
		    in_sheaf(s, object, r.top, c->capacity))
			return true;
	return false;
}

static bool in_depot(struct snapshot *s, const struct snapshot_cache *c, uint64_t object,
		     uint64_t address)
{
	struct depot depot;
	struct depot_lane lane;

	if (!snapshot_read(s, address, &depot, sizeof(depot)))
		return false;
	for (unsigned int i = 0; depot.lanes && i < MIN(depot.nr_lanes, DEPOT_LANES); i++)
		if (snapshot_read(s, (uintptr_t)(depot.lanes + i), &lane, sizeof(lane)) &&
		    in_stack(s, c, object, &lane.stack[DEPOT_FULL]))
			return true;
	return in_remotes(s, c, object, (uintptr_t)depot.remote);
}

static bool in_array_front(struct snapshot *s, unsigned int index, uint64_t object)
{
	const struct snapshot_cache *c = &s->cache[index];

	for (unsigned int cpu = 0; cpu < s->totals.cpus; cpu++)
		if (in_words(s, c, object, cpu))
			return true;
	for (unsigned int node = 0; s->work[index].depots && node < s->totals.nodes; node++)
		if (in_depot(s, c, object, s->work[index].depots + node * sizeof(struct depot)))
			return true;
	return false;
}

static bool in_queue(struct snapshot *s, uint64_t object, const struct queue *queue)
{
	return queue->entry &&
	       is_among(s, object, (uintptr_t)queue->entry, MIN(queue->avail, MAX_ENTRIES));
}

static bool in_cpu_queue(struct snapshot *s, unsigned int id, uint64_t object, unsigned int cpu)
{
	struct kmem_cache_cpu state;
	uint64_t place = window(s, cpu) + USLAB_WINDOW_STATE + id * USLAB_CPU_STATE_SIZE;

	if (!snapshot_read(s, place, &state, sizeof(state)) || !state.bottom ||
	    state.top == QUEUES_STOPPED || state.top <= state.bottom)
		return false;
	return is_among(s, object, state.bottom + sizeof(void *),
			MIN((state.top - state.bottom) / sizeof(void *), QUEUES_MAX_LIMIT));
}

static bool in_node_queues(struct snapshot *s, uint64_t object, uint64_t address)
{
	struct queues_node node;
	struct queue alien;

	if (!snapshot_read(s, address, &node, sizeof(node)))
		return false;
	if (in_queue(s, object, &node.shared))
		return true;
	for (unsigned int n = 0; node.alien && n < s->totals.nodes; n++)
		if (snapshot_read(s, (uintptr_t)node.alien + n * sizeof(alien), &alien,
				  sizeof(alien)) &&
		    in_queue(s, object, &alien))
			return true;
	return false;
}

static bool in_queues(struct snapshot *s, unsigned int index, uint64_t object)
{
	uint64_t address = s->work[index].queues;
	struct queues queues;

	for (unsigned int cpu = 0; cpu < s->totals.cpus; cpu++)
		if (in_cpu_queue(s, s->cache[index].id, object, cpu))
			return true;
	if (!snapshot_read(s, address, &queues, sizeof(queues)))
		return false;
	address += offsetof(struct queues, node);
	for (unsigned int n = 0; n < MIN(queues.nr_nodes, s->totals.nodes); n++)
		if (in_node_queues(s, object, address + n * sizeof(struct queues_node)))
			return true;
	return false;
}

/* *next: the one behind it in a barn. */
static bool in_sheaf_at(struct snapshot *s, uint64_t object, uint64_t address, uint64_t *next)
{
	struct sheaf sheaf;

	*next = 0;
	if (!address || !snapshot_read(s, address, &sheaf, sizeof(sheaf)))
		return false;
	*next = (uintptr_t)sheaf.next;
	return is_among(s, object, address + offsetof(struct sheaf, obj),
			MIN(sheaf.nr, MIN((unsigned int)sheaf.capacity, SHEAVES_MAX_CAPACITY)));
}

static bool in_cpu_sheaf(struct snapshot *s, unsigned int id, uint64_t object, unsigned int cpu)
{
	uint64_t place = window(s, cpu) + USLAB_WINDOW_STATE + id * USLAB_CPU_STATE_SIZE;
	struct kmem_cache_cpu state;
	uint64_t none;

	return snapshot_read(s, place, &state, sizeof(state)) &&
	       (in_sheaf_at(s, object, (uintptr_t)state.main, &none) ||
		in_sheaf_at(s, object, (uintptr_t)state.spare, &none));
}

/* Of a cache that has so many objects in all. */
static bool in_barn(struct snapshot *s, uint64_t object, uint64_t address, unsigned long objects)
{
	struct barn barn;
	uint64_t sheaf;

	if (!snapshot_read(s, address, &barn, sizeof(barn)))
		return false;
	sheaf = (uintptr_t)barn.full;
	for (uint64_t most = MIN(barn.nr_full, objects); sheaf && most; most--)
		if (in_sheaf_at(s, object, sheaf, &sheaf))
			return true;
	return false;
}

static bool in_sheaves(struct snapshot *s, unsigned int index, uint64_t object)
{
	uint64_t address = s->work[index].sheaves;
	struct sheaves sheaves;

	for (unsigned int cpu = 0; cpu < s->totals.cpus; cpu++)
		if (in_cpu_sheaf(s, s->cache[index].id, object, cpu))
			return true;
	if (!snapshot_read(s, address, &sheaves, sizeof(sheaves)))
		return false;
	address += offsetof(struct sheaves, barn);
	for (unsigned int n = 0; n < MIN(sheaves.nr_nodes, s->totals.nodes); n++)
		if (in_barn(s, object, address + n * sizeof(struct barn),
			    s->cache[index].total_objects))
			return true;
	return false;
}

struct search {
	uint64_t object;
	bool found;
};

static bool look_in_sheaf(struct snapshot *s, uint64_t address, const struct slab_sheaf *sheaf,
			  void *arg)
{
	struct search *search = arg;

	search->found = is_among(s, search->object, address + offsetof(struct slab_sheaf, obj),
				 sheaf->count);
	return !search->found;
}

static bool in_lent(struct snapshot *s, uint64_t object)
{
	struct search search = { .object = object };

	snapshot_each_sheaf(s, look_in_sheaf, &search);
	return search.found;
}

static bool in_hand(struct snapshot *s, unsigned int index, uint64_t object)
{
	if (in_lent(s, object))
		return true;
	if (s->work[index].queues)
		return in_queues(s, index, object);
	if (s->work[index].sheaves)
		return in_sheaves(s, index, object);
	return s->cache[index].capacity && in_array_front(s, index, object);
}

/* ---- in a slab ------------------------------------------------------------------------------- */

static enum object_state state_of(struct snapshot *s, const struct slab_map *map, unsigned int i)
{
	if (!map->known)
		return OBJECT_UNKNOWN;
	if (slab_map_is_free(map, i))
		return OBJECT_FREE;
	return in_hand(s, map->cache, slab_map_object(map, i)) ? OBJECT_CACHED : OBJECT_LIVE;
}

static void fill_object(struct snapshot *s, const struct slab_map *map, uint64_t address,
			struct address_info *info)
{
	uint64_t slots = map->first - map->layout.red_left_pad;
	uint64_t i = (address - slots) / map->layout.stride;

	info->kind = ADDRESS_PADDING;
	if (address < slots || i >= map->objects)
		return;
	info->index = (unsigned int)i;
	info->object = slab_map_object(map, info->index);
	if (address >= info->object && address < info->object + info->object_size)
		info->kind = ADDRESS_OBJECT;
	info->tracked = slab_map_has_tracks(map) &&
			slab_map_record(s, map, info->index, &info->track);
	info->state = state_of(s, map, info->index);
	info->track.live = info->state == OBJECT_LIVE;
}

static void fill_slab(struct snapshot *s, struct slab_map *map, uint64_t address,
		      struct address_info *info)
{
	info->cache = map->cache;
	info->slab = map->base;
	info->slab_bytes = map->bytes;
	/* a merged cache may have larger objects than its layout was made for */
	info->object_size = map->layout.object_size;
	if (map->layout.kind == LAYOUT_PLAIN)
		info->object_size = MIN(MAX(s->cache[map->cache].object_size, info->object_size),
					map->layout.stride);
	info->red_left_pad = map->layout.red_left_pad;
	info->debug = map->layout.debug;
	if (map->layout.kind == LAYOUT_GUARD)
		info->kind = ADDRESS_GUARDED;
	else
		fill_object(s, map, address, info);
}

/* ---- in the arena ---------------------------------------------------------------------------- */

/* The free block that a page lies in; if none is found, the page alone. */
static void fill_free(struct snapshot *s, unsigned long number, struct address_info *info)
{
	struct page page;

	info->kind = ADDRESS_FREE;
	for (unsigned int order = 0; order <= ARENA_CHUNK_ORDER; order++) {
		unsigned long head = ALIGN_DOWN(number, 1ul << order);

		if (!snapshot_read(s, s->descriptors + head * sizeof(page), &page, sizeof(page)))
			return;
		if (page_is_free(&page) && page.order >= order && page.order <= ARENA_CHUNK_ORDER &&
		    page_free_pages(&page) > number - head) {
			info->slab = s->totals.arena_base + ((uint64_t)head << PAGE_SHIFT);
			info->slab_bytes = (uint64_t)page_free_pages(&page) << PAGE_SHIFT;
			return;
		}
	}
}

static bool is_run(const struct page *page)
{
	return page->type == PAGE_RUN || page->type == PAGE_KEPT;
}

/*
 * Pages of a page run, also of one that a CPU keeps, are of type NONE but for the first one, so its
 * head is the next page before them that is of another: this returns its number and reads it. Else
 * number is returned.
 */
static unsigned long find_run(struct snapshot *s, unsigned long number, struct page *head)
{
	unsigned long least = number - MIN(number, (1ul << ARENA_CHUNK_ORDER) - 1);
	unsigned long at = number;
	struct page piece[16];

	while (at > least) {
		unsigned long n = MIN(at - least, ARRAY_SIZE(piece));

		at -= n;
		if (!snapshot_read(s, s->descriptors + at * sizeof(*piece), piece,
				   n * sizeof(*piece)))
			return number;
		while (n-- > 0) {
			if (piece[n].type == PAGE_NONE)
				continue;
			if (!is_run(&piece[n]) || piece[n].nr_pages <= number - (at + n))
				return number;
			*head = piece[n];
			return at + n;
		}
	}
	return number;
}

static void fill_page(struct snapshot *s, unsigned long number, uint64_t address,
		      struct address_info *info)
{
	struct slab_map map;
	struct page page;

	if (!snapshot_read(s, s->descriptors + number * sizeof(page), &page, sizeof(page)))
		return;
	if (page.type == PAGE_TAIL && page.head < number) {
		number = page.head;
		if (!snapshot_read(s, s->descriptors + number * sizeof(page), &page, sizeof(page)))
			return;
	} else if (page.type == PAGE_NONE) {
		number = find_run(s, number, &page);
	}
	info->slab = s->totals.arena_base + ((uint64_t)number << PAGE_SHIFT);
	info->slab_bytes = PAGE_SIZE;
	info->descriptor = s->descriptors + number * sizeof(page);
	switch (page.type) {
	case PAGE_NONE:
	case PAGE_BUDDY:
	case PAGE_LISTED:
	case PAGE_KEPT:
		fill_free(s, number, info);
		break;
	case PAGE_RUN:
		info->kind = ADDRESS_PAGES;
		info->slab_bytes = (uint64_t)page.nr_pages << PAGE_SHIFT;
		info->tracked = blocks_find(s, info->slab, info->slab_bytes, &info->track);
		break;
	case PAGE_HEAP:
		info->kind = ADDRESS_HEAP;
		break;
	case PAGE_SLAB:
		slab_map_init(&map);
		if (slab_map_open(s, &map, number) &&
		    (map.layout.kind == LAYOUT_GUARD || slab_map_fill(s, &map)))
			fill_slab(s, &map, address, info);
		break;
	default:
		break;
	}
}

/* Windows and class bytes lie below the arena; the descriptors may lie elsewhere. */
static bool is_metadata(const struct snapshot *s, uint64_t address)
{
	uint64_t base = s->totals.arena_base;

	return (address >= base + (uint64_t)USLAB_WINDOWS_OFFSET && address < base) ||
	       (address >= s->descriptors &&
		address - s->descriptors < s->nr_pages * sizeof(struct page));
}

int tracks_address(struct snapshot *s, uint64_t address, struct address_info *info)
{
	memset(info, 0, sizeof(*info));
	info->cache = UINT_MAX;
	if (!s->nr_pages)
		return s->error;
	if (address >= s->totals.arena_base && address < s->totals.arena_end)
		fill_page(s, (address - s->totals.arena_base) >> PAGE_SHIFT, address, info);
	else if (is_metadata(s, address))
		info->kind = ADDRESS_METADATA;
	return s->error;
}
