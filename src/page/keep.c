/* SPDX-License-Identifier: MIT */
/*
 * page/keep.c - mappings of freed large blocks, kept for a while for the next ones
 *
 * Data:       keep_ranges[0 .. keep_counters.count): ranges by address.
 * Invariants: see page/keep.h. A range that is being unmapped or purged, or whose pages are being
 *             moved, is not in the table.
 * Locks:      keep_lock (RANK_LARGE): table and counters. Ranges are taken out under it and given
 *             to the system after it, one at a time.
 * Flow:       see page/keep.h.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/time/clock.h"
#include "os/lock/lock.h"
#include "os/memory/vm.h"
#include "page/keep.h"
#include "page/large.h"
#include "page/refaults.h"

#define NONE (-1ul)

static struct lock keep_lock = { 0, RANK_LARGE };
struct keep_range keep_ranges[KEEP_COUNT]; /* keep_lock */
static size_t keep_limit = SIZE_MAX;	   /* set by the user; atomic */

/* keep_lock */
static size_t clean_bytes;
static size_t purged_lately; /* bytes purged and not taken again; halves with time */
static uint64_t halved;	     /* when it last did */
static uint64_t taken_at;    /* when pages of a range were last taken, or keep_refaults halved */
static uint64_t no_moves_before; /* the system refused one; UINT64_MAX: never again */

struct keep_counters keep_counters;
size_t keep_refaults;
size_t keep_leaving;

/* ---- refaults: all with keep_lock held ------------------------------------------------------- */

static size_t halve(size_t bytes, uint64_t *since, uint64_t now)
{
	uint64_t halvings = (now - *since) / KEEP_HALF_LIFE;

	if (!halvings)
		return bytes;
	*since = now;
	return halvings < 64 ? bytes >> halvings : 0;
}

static void tick_locked(uint64_t now)
{
	purged_lately = halve(purged_lately, &halved, now);
	store_relaxed(&keep_refaults, halve(keep_refaults, &taken_at, now));
}

/* Clean bytes are taken: as many as were purged a moment ago count as refaults. */
static void note_clean_locked(size_t bytes)
{
	size_t again = MIN(bytes, purged_lately);

	refaults_note(again >> PAGE_SHIFT);
	purged_lately -= again;
	store_relaxed(&keep_refaults, MIN(keep_refaults + again, KEEP_MAX_REFAULTS));
}

/* ---- the table: all with keep_lock held ------------------------------------------------------ */

static bool adjoin(const struct keep_range *low, const struct keep_range *high)
{
	return low->start + low->size == high->start;
}

static void count_locked(const struct keep_range *r, size_t bytes)
{
	if (r->dirty)
		/* pairs with limit_held() */
		store_release(&keep_counters.bytes, keep_counters.bytes + bytes);
	else
		clean_bytes += bytes;
}

static struct keep_range remove_locked(unsigned long i)
{
	struct keep_range r = keep_ranges[i];

	store_relaxed(&keep_counters.count, keep_counters.count - 1);
	for (; i < keep_counters.count; i++)
		keep_ranges[i] = keep_ranges[i + 1];
	count_locked(&r, -r.size);
	return r;
}

/*
 * Merges r with a neighbour of its kind. The result has the age of the larger part, so that a small
 * one does not keep the others from being purged.
 */
static bool join_locked(unsigned long i, const struct keep_range *r)
{
	struct keep_range *other = &keep_ranges[i];

	if (i >= keep_counters.count || other->dirty != r->dirty ||
	    !(adjoin(other, r) || adjoin(r, other)))
		return false;
	if (r->size > other->size)
		other->since = r->since;
	other->start = MIN(other->start, r->start);
	other->size += r->size;
	count_locked(r, r->size);
	return true;
}

/* false: the table is full. */
static bool insert_locked(struct keep_range r)
{
	unsigned long next = 0;
	unsigned long i;

	while (next < keep_counters.count && keep_ranges[next].start < r.start)
		next++;
	if (next > 0 && join_locked(next - 1, &r)) {
		r = remove_locked(next - 1);
		next--;
	}
	if (join_locked(next, &r))
		return true;
	if (keep_counters.count == KEEP_COUNT)
		return false;
	for (i = keep_counters.count; i > next; i--)
		keep_ranges[i] = keep_ranges[i - 1];
	keep_ranges[next] = r;
	store_relaxed(&keep_counters.count, keep_counters.count + 1);
	count_locked(&r, r.size);
	return true;
}

static unsigned long find_oldest_locked(bool dirty_only)
{
	unsigned long oldest = NONE;
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++)
		if ((keep_ranges[i].dirty || !dirty_only) &&
		    (oldest == NONE || keep_ranges[i].since < keep_ranges[oldest].since))
			oldest = i;
	return oldest;
}

static unsigned long find_lowest_locked(void)
{
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++)
		if (keep_ranges[i].dirty)
			return i;
	return NONE;
}

/*
 * Removes a range, or its last bytes, to be given back to the system: then gone() is called. NONE:
 * size 0.
 */
static struct keep_range take_end_locked(unsigned long i, size_t bytes)
{
	struct keep_range r = { NULL, 0, 0, false };

	if (i == NONE)
		return r;
	r = keep_ranges[i];
	bytes = ALIGN_UP(MIN(bytes, r.size), os_page_size());
	if (r.dirty)
		fetch_add(&keep_leaving, bytes);
	if (bytes == r.size)
		return remove_locked(i);
	keep_ranges[i].size -= bytes;
	count_locked(&r, -bytes);
	r.start += r.size - bytes;
	r.size = bytes;
	return r;
}

/* Its pages are the system's. */
static void gone(const struct keep_range *r)
{
	if (r->dirty)
		fetch_sub(&keep_leaving, r->size);
}

static void release(const struct keep_range *r)
{
	os_release(r->start, r->size);
	gone(r);
}

/* ---- giving back ----------------------------------------------------------------------------- */

size_t keep_release(size_t bytes)
{
	size_t released = 0;
	struct keep_range r;

	while (released < bytes) {
		lock_acquire(&keep_lock);
		r = take_end_locked(find_oldest_locked(bytes != SIZE_MAX), bytes - released);
		lock_release(&keep_lock);
		if (!r.size)
			break;
		release(&r);
		released += r.size;
	}
	return released;
}

void keep_release_old(uint32_t delay_ms)
{
	uint64_t now = os_clock_ms();
	struct keep_range r;

	if (load_relaxed(&keep_counters.count) == 0 || now < delay_ms)
		return;
	do {
		unsigned long i;

		lock_acquire(&keep_lock);
		tick_locked(now);
		i = find_oldest_locked(false);
		if (i != NONE && keep_ranges[i].since > now - delay_ms)
			i = NONE;
		r = take_end_locked(i, SIZE_MAX);
		lock_release(&keep_lock);
		if (r.size)
			release(&r);
	} while (r.size);
}

/* Purges a range and keeps its addresses, up to KEEP_MAX_CLEAN. */
static void purge(struct keep_range *r)
{
	bool stays = false;

	if (os_purge(r->start, r->size) == 0) {
		gone(r);
		r->dirty = false;
		r->since = os_clock_ms();
		lock_acquire(&keep_lock);
		stays = clean_bytes + r->size <= KEEP_MAX_CLEAN && insert_locked(*r);
		lock_release(&keep_lock);
	}
	if (!stays)
		release(r);
}

void keep_purge(size_t bytes)
{
	size_t purged = 0;
	struct keep_range r;

	while (purged < bytes) {
		lock_acquire(&keep_lock);
		tick_locked(os_clock_ms());
		r = take_end_locked(find_lowest_locked(), bytes - purged);
		purged_lately += r.size;
		lock_release(&keep_lock);
		if (!r.size)
			break;
		purge(&r);
		purged += r.size;
	}
}

/* The table is full, maybe of clean ranges: unmaps the oldest, dirty or clean. */
static void drop_oldest(void)
{
	struct keep_range r;

	lock_acquire(&keep_lock);
	r = take_end_locked(find_oldest_locked(false), SIZE_MAX);
	lock_release(&keep_lock);
	if (r.size)
		release(&r);
}

/* What may wait at all: so much, and as much as there were refaults. */
static size_t limit_now(void)
{
	size_t limit = KEEP_MAX_BYTES + load_relaxed(&keep_refaults);
	size_t most = load_relaxed(&keep_limit);

	return MIN(limit, most);
}

/* A very large block is kept once there were as many refaults. Until then its pages may be some. */
static bool may_keep(size_t size)
{
	if (size > load_relaxed(&keep_limit))
		return false;
	if (size <= KEEP_MAX_BLOCK || size <= load_relaxed(&keep_refaults))
		return true;
	lock_acquire(&keep_lock);
	tick_locked(os_clock_ms());
	purged_lately += size;
	lock_release(&keep_lock);
	return false;
}

bool keep_put(void *p, size_t size)
{
	struct keep_range r = { p, size, os_clock_ms(), true };
	bool done = false;
	size_t limit;

	if (!may_keep(size))
		return false;
	limit = limit_now();
	while (!done) {
		size_t over = 0;

		lock_acquire(&keep_lock);
		if (keep_counters.bytes + size > limit)
			over = keep_counters.bytes + size - limit;
		else
			done = insert_locked(r);
		lock_release(&keep_lock);
		if (over)
			keep_purge(over);
		else if (!done)
			drop_oldest();
	}
	return true;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Where a block may lie: neighbouring ranges. */
struct gap {
	char *start; /* of the block */
	size_t size; /* of the ranges from there on */
	size_t clean;
};

/* The neighbouring ranges from range i on, as far as size bytes need. */
static struct gap look_locked(unsigned long i, size_t size, size_t align)
{
	char *start = (char *)ALIGN_UP((uintptr_t)keep_ranges[i].start, align);
	size_t head = (size_t)(start - keep_ranges[i].start);
	struct gap gap = { start, 0, 0 };

	/* What is left in front takes one more entry. */
	if (head >= keep_ranges[i].size || (head && keep_counters.count == KEEP_COUNT))
		return gap;
	do {
		size_t part = keep_ranges[i].size - head;

		if (!keep_ranges[i].dirty && gap.size < size)
			gap.clean += MIN(part, size - gap.size);
		gap.size += part;
		head = 0;
		i++;
	} while (i < keep_counters.count && adjoin(&keep_ranges[i - 1], &keep_ranges[i]));
	return gap;
}

/* Where a block has the fewest clean bytes; of equals the smallest gap; NULL: it fits nowhere. */
static char *find_gap_locked(size_t size, size_t align)
{
	struct gap best = { NULL, SIZE_MAX, SIZE_MAX };
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++) {
		struct gap gap = look_locked(i, size, align);

		if (gap.size >= size &&
		    (gap.clean < best.clean || (gap.clean == best.clean && gap.size <= best.size)))
			best = gap;
	}
	return best.start;
}

struct hole {
	char *start;
	char *end;
};

/* What a block got that is clean. */
struct taken {
	size_t clean; /* bytes */
	unsigned int count;
	struct hole hole[KEEP_HOLES]; /* more than that are left as they are */
};

static void add_hole(struct taken *taken, char *start, char *end)
{
	taken->clean += (size_t)(end - start);
	if (taken->count < KEEP_HOLES)
		taken->hole[taken->count++] = (struct hole){ start, end };
}

/* Removes [start, end), which is covered by ranges. Adds to taken what of it is clean. */
static void take_range_locked(char *start, char *end, struct taken *taken)
{
	unsigned long i = 0;

	while (i < keep_counters.count && keep_ranges[i].start < end) {
		struct keep_range r = keep_ranges[i];
		char *from = MAX(r.start, start);
		char *to = MIN(r.start + r.size, end);

		if (from >= to) {
			i++;
			continue;
		}
		remove_locked(i);
		if (!r.dirty)
			add_hole(taken, from, to);
		if (r.start < from)
			insert_locked((struct keep_range){ r.start, (size_t)(from - r.start),
							   r.since, r.dirty });
		if (r.start + r.size > to)
			insert_locked((struct keep_range){ to, (size_t)(r.start + r.size - to),
							   r.since, r.dirty });
	}
}

/* ---- filling: pages of other ranges move to where a block has none --------------------------- */

/* Takes a dirty unit out of the smallest range that has one. NULL: there is none. */
static char *take_unit_locked(size_t size)
{
	struct taken ignored = { 0 };
	size_t least = SIZE_MAX;
	char *unit = NULL;
	unsigned long i;

	/* What is left on both sides takes one more entry. */
	for (i = 0; i < keep_counters.count && keep_counters.count < KEEP_COUNT; i++) {
		const struct keep_range *r = &keep_ranges[i];
		char *end = (char *)ALIGN_DOWN((uintptr_t)r->start + r->size, size);

		if (!r->dirty || r->size >= least || end < r->start + size)
			continue;
		least = r->size;
		unit = end - size;
	}
	if (unit)
		take_range_locked(unit, unit + size, &ignored);
	return unit;
}

/* Each unit may become a mapping to the system, of which a process has 65530. */
static bool may_move_locked(void)
{
	return large_bytes() + keep_counters.bytes + clean_bytes <= KEEP_MAX_MOVED &&
	       os_clock_ms() >= no_moves_before;
}

/*
 * A unit whose pages were moved, or could not be. It is kept, but for a small one that is of
 * several mappings: none of it would ever move. A process at its limits moves nothing any more.
 */
static void put_unit(struct keep_range r, enum os_move how)
{
	bool stays = r.size > KEEP_UNIT || how != OS_MOVE_SEVERAL;

	lock_acquire(&keep_lock);
	if (stays)
		stays = (r.dirty || clean_bytes + r.size <= KEEP_MAX_CLEAN) && insert_locked(r);
	if (how == OS_MOVE_REFUSED && no_moves_before != UINT64_MAX)
		no_moves_before = r.since + KEEP_HALF_LIFE;
	if (how == OS_MOVE_LOST)
		no_moves_before = UINT64_MAX;
	lock_release(&keep_lock);
	if (!stays)
		os_release(r.start, r.size);
}

/* Moves the pages of a unit to a hole. REFUSED also if there is no unit. */
static enum os_move move_unit(char *to, size_t size)
{
	struct keep_range r = { NULL, size, os_clock_ms(), false };
	enum os_move how;

	lock_acquire(&keep_lock);
	if (may_move_locked())
		r.start = take_unit_locked(size);
	lock_release(&keep_lock);
	if (!r.start)
		return OS_MOVE_REFUSED;
	how = os_move(r.start, to, size);
	r.dirty = how != OS_MOVED;
	put_unit(r, how);
	return how;
}

/* Returns how much of a hole has pages now. *lost: the unit of it that is none of ours any more. */
static size_t fill_hole(struct hole hole, struct hole *lost)
{
	char *to = (char *)ALIGN_UP((uintptr_t)hole.start, KEEP_UNIT);
	size_t moved = 0;
	bool small = false;

	while (to + KEEP_UNIT <= hole.end) {
		size_t size = KEEP_UNIT;
		enum os_move how;

		if (!small && (uintptr_t)to % KEEP_BIG_UNIT == 0 && to + KEEP_BIG_UNIT <= hole.end)
			size = KEEP_BIG_UNIT;
		how = move_unit(to, size);
		if (how == OS_MOVED) {
			moved += size;
			to += size;
			continue;
		}
		if (how == OS_MOVE_LOST)
			*lost = (struct hole){ to, to + size };
		/* A small one of several mappings is gone now; the next one may move. */
		if (how == OS_MOVE_LOST || (how == OS_MOVE_REFUSED && size == KEEP_UNIT))
			break;
		small |= size > KEEP_UNIT;
	}
	return moved;
}

static void release_part(char *start, char *end)
{
	if (start < end)
		os_release(start, (size_t)(end - start));
}

/*
 * Returns how much of a block's holes has pages now; the rest may be refaults. KEEP_GONE: a part of
 * the block was lost, the others are unmapped.
 */
static size_t fill(char *p, size_t size, const struct taken *taken)
{
	struct hole lost = { NULL, NULL };
	size_t moved = 0;
	unsigned int i;

	for (i = 0; i < taken->count && !lost.start; i++)
		moved += fill_hole(taken->hole[i], &lost);
	lock_acquire(&keep_lock);
	note_clean_locked(taken->clean - moved);
	if (moved)
		taken_at = os_clock_ms();
	lock_release(&keep_lock);
	if (!lost.start)
		return moved;
	release_part(p, lost.start);
	release_part(lost.end, p + size);
	return KEEP_GONE;
}

size_t keep_fill(void *p, size_t size)
{
	struct taken all = { 0 };

	add_hole(&all, p, (char *)p + size);
	return fill(p, size, &all);
}

/*
 * The only range may be grown by mremap. That may move it, and then its alignment is lost, and it
 * leaves holes among the addresses, which programs with many blocks would pay for.
 */
static void *grow_only_range(size_t size, size_t align)
{
	struct keep_range r = { NULL, 0, 0, false };
	char *grown;

	lock_acquire(&keep_lock);
	if (keep_counters.count == 1 && keep_ranges[0].dirty && keep_ranges[0].size >= size / 2 &&
	    keep_ranges[0].size < size && align <= os_page_size())
		r = remove_locked(0);
	lock_release(&keep_lock);
	if (!r.start)
		return NULL;
	grown = os_remap(r.start, r.size, size, true);
	lock_acquire(&keep_lock);
	if (grown)
		note_clean_locked(size - r.size);
	else if (insert_locked(r)) /* it is of several mappings */
		r.size = 0;
	lock_release(&keep_lock);
	if (!grown && r.size)
		os_release(r.start, r.size);
	return grown;
}

void *keep_take(size_t size, size_t align, bool *zeroed)
{
	struct taken got = { 0 };
	uint64_t now = os_clock_ms();
	size_t moved = 0;
	char *start;

	lock_acquire(&keep_lock);
	tick_locked(now);
	start = find_gap_locked(size, align);
	if (start)
		take_range_locked(start, start + size, &got);
	if (start && got.clean < size)
		taken_at = now;
	lock_release(&keep_lock);
	*zeroed = false;
	if (!start)
		return grow_only_range(size, align);
	if (got.clean)
		moved = fill(start, size, &got);
	*zeroed = !moved && got.clean == size;
	return moved == KEEP_GONE ? NULL : start;
}

void keep_set_limit(size_t bytes)
{
	store_relaxed(&keep_limit, bytes);
	if (load_relaxed(&keep_counters.bytes) > bytes)
		keep_release(load_relaxed(&keep_counters.bytes) - bytes);
}

void keep_each_lock(void (*act)(struct lock *l))
{
	act(&keep_lock);
}

void keep_check(void)
{
	size_t clean = 0;
	size_t dirty = 0;
	unsigned long i;

	lock_acquire(&keep_lock);
	CHECK(keep_counters.count <= KEEP_COUNT);
	for (i = 0; i < keep_counters.count; i++) {
		CHECK(keep_ranges[i].size > 0);
		CHECK(((uintptr_t)keep_ranges[i].start | keep_ranges[i].size) % os_page_size() ==
		      0);
		CHECK(i == 0 ||
		      keep_ranges[i - 1].start + keep_ranges[i - 1].size <= keep_ranges[i].start);
		CHECK(i == 0 || keep_ranges[i - 1].dirty != keep_ranges[i].dirty ||
		      !adjoin(&keep_ranges[i - 1], &keep_ranges[i]));
		*(keep_ranges[i].dirty ? &dirty : &clean) += keep_ranges[i].size;
	}
	CHECK(dirty == keep_counters.bytes && dirty <= KEEP_MAX_BYTES + KEEP_MAX_REFAULTS);
	CHECK(clean == clean_bytes && clean <= KEEP_MAX_CLEAN);
	lock_release(&keep_lock);
}
