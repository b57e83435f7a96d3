/* SPDX-License-Identifier: MIT */
/*
 * inspect/tracks.c - objects of debug slabs with their users, and the stacks
 *
 * Data:       none; struct snapshot of the caller, whose buffer is used.
 * Invariants: every block of pages is read once, whatever the descriptors contain: one that begins
 *             inside of another is skipped. So the time is bounded by the size of the arena also
 *             for a corrupted process.
 * Locks:      none.
 * Flow:       tracks_visit, tracks_visit_some: blocks.c; page descriptors in pieces -> slab_map.c
 *             -> visit().
 */
#include "inspect/tracks.h"

#include <limits.h>
#include <string.h>

#include "base/bits.h"
#include "inspect/internal.h"
#include "inspect/slab_map.h"

#define PIECE (SLAB_MAP_PIECE / sizeof(struct page))

/* One pass over the slabs of a process. */
struct visit {
	struct snapshot *s;
	const bool *wanted; /* by index in s->cache[] */
	void (*visit)(const struct track_record *record, void *arg);
	void *arg;
	long count;
	unsigned long next; /* pages below it are done */
	struct slab_map map;
};

/* ---- all of them ----------------------------------------------------------------------------- */

/* Isolated slabs (a check failed) are on no list: as in the kernel they are left out. */
static void visit_slab(struct visit *v, unsigned long number)
{
	struct slab_map *map = &v->map;
	struct track_record record;

	if (!slab_map_open(v->s, map, number))
		return;
	v->next = number + (1ul << map->page.order);
	if (!slab_map_has_tracks(map) || map->counters.frozen || !v->wanted[map->cache] ||
	    !slab_map_fill(v->s, map))
		return;
	for (unsigned int i = 0; i < map->objects; i++) {
		if (slab_map_is_free(map, i) || !slab_map_record(v->s, map, i, &record))
			continue;
		record.live = true; /* also if the list was not valid: it changed too fast */
		v->count++;
		v->visit(&record, v->arg);
	}
}

/* By a descriptor as it was a moment ago: those of other caches are not read at all. */
static bool is_wanted(const struct visit *v, const struct page *page)
{
	int index;

	if (page->type != PAGE_SLAB)
		return false;
	index = snapshot_find_engine(v->s, (uintptr_t)page->engine);
	return index >= 0 && v->wanted[index];
}

static void visit_piece(struct visit *v, unsigned long first, unsigned long nr)
{
	const struct page *page = (const struct page *)v->s->buffer;

	for (unsigned long i = 0; i < nr; i++)
		if (first + i >= v->next && is_wanted(v, &page[i]))
			visit_slab(v, first + i);
}

static void visit_slabs(struct visit *v)
{
	struct snapshot *s = v->s;

	slab_map_init(&v->map);
	for (unsigned long i = 0; i < s->nr_pages && !s->error; i += PIECE) {
		unsigned long nr = MIN(PIECE, s->nr_pages - i);

		/* descriptors behind an unreadable one are not readable either */
		if (!snapshot_read(s, s->descriptors + i * sizeof(struct page), s->buffer,
				   nr * sizeof(struct page)))
			break;
		visit_piece(v, i, nr);
	}
}

static bool wants_slabs(const struct visit *v)
{
	for (unsigned int i = 0; i < v->s->nr_caches; i++)
		if (v->wanted[i] && !v->s->cache[i].whole_pages)
			return true;
	return false;
}

long tracks_visit_some(struct snapshot *s, const bool *wanted,
		       void (*visit)(const struct track_record *record, void *arg), void *arg)
{
	struct visit v = { .s = s, .wanted = wanted, .visit = visit, .arg = arg };

	if (wanted[s->blocks_row])
		v.count = blocks_visit(s, visit, arg);
	if (wants_slabs(&v))
		visit_slabs(&v);
	return s->error ? s->error : v.count;
}

long tracks_visit(struct snapshot *s, unsigned int cache,
		  void (*visit)(const struct track_record *record, void *arg), void *arg)
{
	bool wanted[SNAPSHOT_MAX_CACHES];

	for (unsigned int i = 0; i < SNAPSHOT_MAX_CACHES; i++)
		wanted[i] = cache == UINT_MAX || cache == i;
	return tracks_visit_some(s, wanted, visit, arg);
}

/* ---- stacks and time ------------------------------------------------------------------------- */

unsigned int tracks_stack(struct snapshot *s, uint32_t handle, uint64_t *pcs, unsigned int max)
{
	uint32_t chunk = handle / (STACKS_CHUNK / STACKS_UNIT);
	uint64_t place = handle % (STACKS_CHUNK / STACKS_UNIT) * (uint64_t)STACKS_UNIT;
	struct stack_record record;
	uint64_t depot, base;

	if (!handle || chunk >= STACKS_CHUNKS || !s->root.stacks ||
	    !snapshot_read(s, s->root.stacks, &depot, sizeof(depot)) || !depot ||
	    !snapshot_read(s, depot + offsetof(struct stacks, chunk) + chunk * sizeof(base), &base,
			   sizeof(base)) ||
	    !base || place + sizeof(record) > STACKS_CHUNK ||
	    !snapshot_read(s, base + place, &record, sizeof(record)))
		return 0;
	place += sizeof(record);
	if (!record.nr || record.nr > STACKS_DEPTH ||
	    place + record.nr * sizeof(*pcs) > STACKS_CHUNK) {
		s->totals.inconsistent++;
		return 0;
	}
	max = MIN(max, record.nr);
	return snapshot_read(s, base + place, pcs, max * sizeof(*pcs)) ? max : 0;
}

/* An overflow may have written over it. Of the clock: 2^40 ms are 34 years. */
bool tracks_is_possible(const struct track *track)
{
	return track->cpu < USLAB_MAX_CPUS && !(track->when >> 40);
}

static void find_newest(const struct track_record *record, void *arg)
{
	uint64_t *newest = arg;

	if (tracks_is_possible(&record->alloc))
		*newest = MAX(*newest, record->alloc.when);
	if (tracks_is_possible(&record->free))
		*newest = MAX(*newest, record->free.when);
}

uint64_t tracks_now(struct snapshot *s)
{
	if (!s->reader->still)
		return reader_clock_ms(s->reader);
	/* The clock stopped with the process: the time of the newest track is close to it. */
	if (!s->now_known) {
		s->now = 0;
		tracks_visit(s, UINT_MAX, find_newest, &s->now);
		s->now_known = true;
	}
	return s->now;
}
