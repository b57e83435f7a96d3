/* SPDX-License-Identifier: MIT */
/*
 * page/keep.c - mappings of freed large blocks, kept for a while for the next ones
 *
 * Data:       kept[0 .. keep_counters.count): ranges by address.
 * Invariants: see page/keep.h. A range that is being unmapped or purged is not in the table.
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

#define NONE (-1ul)

struct range {
	char *start;
	size_t size;
	uint64_t since; /* os_clock_ms() */
	bool dirty;
};

static struct lock keep_lock = { 0, RANK_LARGE };
static struct range kept[KEEP_COUNT];	   /* keep_lock */
static size_t keep_limit = KEEP_MAX_BYTES; /* atomic */

/* keep_lock */
static size_t clean_bytes;
static size_t purged_lately; /* bytes purged and not taken again; halves with time */
static uint64_t halved;	     /* when it last did */
static uint64_t taken;	     /* when a dirty range was last taken, or keep_refaults halved */

struct keep_counters keep_counters;
size_t keep_refaults;

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
	store_relaxed(&keep_refaults, halve(keep_refaults, &taken, now));
}

/* Clean bytes are taken: as many as were purged a moment ago count as refaults. */
static void note_clean_locked(size_t bytes)
{
	size_t again = MIN(bytes, purged_lately);

	purged_lately -= again;
	store_relaxed(&keep_refaults, MIN(keep_refaults + again, 2 * KEEP_MAX_BYTES));
}

/* ---- the table: all with keep_lock held ------------------------------------------------------ */

static bool adjoin(const struct range *low, const struct range *high)
{
	return low->start + low->size == high->start;
}

static void count_locked(const struct range *r, size_t bytes)
{
	if (r->dirty)
		store_relaxed(&keep_counters.bytes, keep_counters.bytes + bytes);
	else
		clean_bytes += bytes;
}

static struct range remove_locked(unsigned long i)
{
	struct range r = kept[i];

	store_relaxed(&keep_counters.count, keep_counters.count - 1);
	for (; i < keep_counters.count; i++)
		kept[i] = kept[i + 1];
	count_locked(&r, -r.size);
	return r;
}

/*
 * Merges r with a neighbour of its kind. The result has the age of the larger part, so that a small
 * one does not keep the others from being purged.
 */
static bool join_locked(unsigned long i, const struct range *r)
{
	struct range *other = &kept[i];

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
static bool insert_locked(struct range r)
{
	unsigned long next = 0;
	unsigned long i;

	while (next < keep_counters.count && kept[next].start < r.start)
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
		kept[i] = kept[i - 1];
	kept[next] = r;
	store_relaxed(&keep_counters.count, keep_counters.count + 1);
	count_locked(&r, r.size);
	return true;
}

static unsigned long find_oldest_locked(bool dirty_only)
{
	unsigned long oldest = NONE;
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++)
		if ((kept[i].dirty || !dirty_only) &&
		    (oldest == NONE || kept[i].since < kept[oldest].since))
			oldest = i;
	return oldest;
}

static unsigned long find_lowest_locked(void)
{
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++)
		if (kept[i].dirty)
			return i;
	return NONE;
}

/* Removes a range, or its last bytes. NONE: size 0. */
static struct range take_end_locked(unsigned long i, size_t bytes)
{
	struct range r = { NULL, 0, 0, false };

	if (i == NONE)
		return r;
	r = kept[i];
	if (bytes >= r.size)
		return remove_locked(i);
	bytes = ALIGN_UP(bytes, os_page_size());
	kept[i].size -= bytes;
	count_locked(&r, -bytes);
	r.start += r.size - bytes;
	r.size = bytes;
	if (!kept[i].size)
		remove_locked(i);
	return r;
}

/* ---- giving back ----------------------------------------------------------------------------- */

size_t keep_release(size_t bytes)
{
	size_t released = 0;
	struct range r;

	while (released < bytes) {
		lock_acquire(&keep_lock);
		r = take_end_locked(find_oldest_locked(bytes != SIZE_MAX), bytes - released);
		lock_release(&keep_lock);
		if (!r.size)
			break;
		os_release(r.start, r.size);
		released += r.size;
	}
	return released;
}

void keep_release_old(uint32_t delay_ms)
{
	uint64_t now = os_clock_ms();
	struct range r;

	if (load_relaxed(&keep_counters.count) == 0 || now < delay_ms)
		return;
	do {
		unsigned long i;

		lock_acquire(&keep_lock);
		tick_locked(now);
		i = find_oldest_locked(false);
		if (i != NONE && kept[i].since > now - delay_ms)
			i = NONE;
		r = take_end_locked(i, SIZE_MAX);
		lock_release(&keep_lock);
		if (r.size)
			os_release(r.start, r.size);
	} while (r.size);
}

/* Purges a range and keeps its addresses, up to KEEP_MAX_CLEAN. */
static void purge(struct range *r)
{
	bool stays = false;

	if (os_purge(r->start, r->size) == 0) {
		r->dirty = false;
		r->since = os_clock_ms();
		lock_acquire(&keep_lock);
		stays = clean_bytes + r->size <= KEEP_MAX_CLEAN && insert_locked(*r);
		lock_release(&keep_lock);
	}
	if (!stays)
		os_release(r->start, r->size);
}

void keep_purge(size_t bytes)
{
	size_t purged = 0;
	struct range r;

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
	struct range r;

	lock_acquire(&keep_lock);
	r = take_end_locked(find_oldest_locked(false), SIZE_MAX);
	lock_release(&keep_lock);
	if (r.size)
		os_release(r.start, r.size);
}

bool keep_put(void *p, size_t size)
{
	struct range r = { p, size, os_clock_ms(), true };
	size_t limit = load_relaxed(&keep_limit);
	bool done = false;

	if (size > MIN(limit, KEEP_MAX_BLOCK))
		return false;
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
	char *start = (char *)ALIGN_UP((uintptr_t)kept[i].start, align);
	size_t head = (size_t)(start - kept[i].start);
	struct gap gap = { start, 0, 0 };

	/* What is left in front takes one more entry. */
	if (head >= kept[i].size || (head && keep_counters.count == KEEP_COUNT))
		return gap;
	do {
		size_t part = kept[i].size - head;

		if (!kept[i].dirty && gap.size < size)
			gap.clean += MIN(part, size - gap.size);
		gap.size += part;
		head = 0;
		i++;
	} while (i < keep_counters.count && adjoin(&kept[i - 1], &kept[i]));
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

/* Removes [start, end), which is covered by ranges. Returns how much of it is dirty. */
static size_t take_range_locked(char *start, char *end)
{
	size_t dirty = 0;
	unsigned long i = 0;

	while (i < keep_counters.count && kept[i].start < end) {
		struct range r = kept[i];
		char *from = MAX(r.start, start);
		char *to = MIN(r.start + r.size, end);

		if (from >= to) {
			i++;
			continue;
		}
		remove_locked(i);
		dirty += r.dirty ? (size_t)(to - from) : 0;
		if (r.start < from)
			insert_locked((struct range){ r.start, (size_t)(from - r.start), r.since,
						      r.dirty });
		if (r.start + r.size > to)
			insert_locked((struct range){ to, (size_t)(r.start + r.size - to), r.since,
						      r.dirty });
	}
	return dirty;
}

/*
 * Takes a range for a block; it may be smaller than size. *dirty: how much of it is resident. None:
 * start NULL.
 */
static struct range take_locked(size_t size, size_t align, size_t *dirty)
{
	struct range r = { NULL, 0, 0, false };

	*dirty = 0;
	r.start = find_gap_locked(size, align);
	if (r.start) {
		r.size = size;
		*dirty = take_range_locked(r.start, r.start + size);
		return r;
	}
	/*
	 * The only range may be grown by mremap. That may move it, and then its alignment is lost,
	 * and it leaves holes among the addresses, which programs with many blocks would pay for.
	 */
	if (keep_counters.count == 1 && kept[0].dirty && kept[0].size >= size / 2 &&
	    align <= os_page_size())
		r = remove_locked(0);
	*dirty = r.size;
	return r;
}

void *keep_take(size_t size, size_t align, bool *zeroed)
{
	uint64_t now = os_clock_ms();
	struct range r;
	size_t dirty;
	char *grown;

	lock_acquire(&keep_lock);
	tick_locked(now);
	r = take_locked(size, align, &dirty);
	if (dirty)
		taken = now;
	note_clean_locked(size - dirty);
	lock_release(&keep_lock);

	*zeroed = dirty == 0;
	if (!r.start || r.size == size)
		return r.start;
	grown = os_remap(r.start, r.size, size, true);
	if (!grown)
		os_release(r.start, r.size);
	return grown;
}

void keep_set_limit(size_t bytes)
{
	store_relaxed(&keep_limit, MIN(bytes, KEEP_MAX_BYTES));
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
		CHECK(kept[i].size > 0);
		CHECK(((uintptr_t)kept[i].start | kept[i].size) % os_page_size() == 0);
		CHECK(i == 0 || kept[i - 1].start + kept[i - 1].size <= kept[i].start);
		CHECK(i == 0 || kept[i - 1].dirty != kept[i].dirty ||
		      !adjoin(&kept[i - 1], &kept[i]));
		*(kept[i].dirty ? &dirty : &clean) += kept[i].size;
	}
	CHECK(dirty == keep_counters.bytes && dirty <= KEEP_MAX_BYTES);
	CHECK(clean == clean_bytes && clean <= KEEP_MAX_CLEAN);
	lock_release(&keep_lock);
}
