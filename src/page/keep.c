/* SPDX-License-Identifier: MIT */
/*
 * page/keep.c - mappings of freed large blocks that wait a moment for the next one
 *
 * Data:       kept[0 .. keep_counters.count): ranges in the order in which they came.
 * Invariants: see page/keep.h. A range on its way to the system is in no table.
 * Locks:      keep_lock (RANK_LARGE): table and counters. Ranges are taken out under it and given
 *             to the system after it, one at a time.
 * Flow:       see page/keep.h.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/vm.h"
#include "page/keep.h"

struct range {
	char *start;
	size_t size;
	uint64_t since; /* os_clock_ms() */
};

static struct lock keep_lock = { 0, RANK_LARGE };
static struct range kept[KEEP_COUNT];	   /* keep_lock */
static size_t keep_limit = KEEP_MAX_BYTES; /* atomic */

struct keep_counters keep_counters;

static struct range remove_locked(unsigned long i)
{
	struct range r = kept[i];

	keep_counters.count--;
	for (; i < keep_counters.count; i++)
		kept[i] = kept[i + 1];
	store_relaxed(&keep_counters.bytes, keep_counters.bytes - r.size);
	return r;
}

static void append_locked(struct range r)
{
	kept[keep_counters.count++] = r;
	store_relaxed(&keep_counters.bytes, keep_counters.bytes + r.size);
}

/* Takes the oldest range out; false: there is none, or it came after before. */
static bool take_oldest(struct range *r, uint64_t before)
{
	bool found;

	lock_acquire(&keep_lock);
	found = keep_counters.count > 0 && kept[0].since <= before;
	if (found)
		*r = remove_locked(0);
	lock_release(&keep_lock);
	return found;
}

size_t keep_release(size_t bytes)
{
	size_t released = 0;
	struct range r;

	while (released < bytes && take_oldest(&r, UINT64_MAX)) {
		os_release(r.start, r.size);
		released += r.size;
	}
	return released;
}

void keep_release_old(uint32_t delay_ms)
{
	uint64_t now = os_clock_ms();
	struct range r;

	if (load_relaxed(&keep_counters.bytes) == 0)
		return;
	while (now >= delay_ms && take_oldest(&r, now - delay_ms))
		os_release(r.start, r.size);
}

bool keep_put(void *p, size_t size)
{
	size_t limit = load_relaxed(&keep_limit);
	bool done = false;

	if (size > MIN(limit, KEEP_MAX_BLOCK))
		return false;
	while (!done) {
		size_t over = 0;

		lock_acquire(&keep_lock);
		if (keep_counters.bytes + size > limit)
			over = keep_counters.bytes + size - limit;
		else if (keep_counters.count == KEEP_COUNT)
			over = 1;
		done = over == 0;
		if (done)
			append_locked((struct range){ p, size, os_clock_ms() });
		lock_release(&keep_lock);
		if (over)
			keep_release(over);
	}
	return true;
}

/* The smallest range that is large enough, by at most a quarter; of equals the newest. */
static long find_larger_locked(size_t size, size_t align)
{
	size_t best = size + size / 4 + 1;
	long found = -1;
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++) {
		if (kept[i].size >= size && kept[i].size <= best &&
		    ((uintptr_t)kept[i].start & (align - 1)) == 0) {
			best = kept[i].size;
			found = (long)i;
		}
	}
	return found;
}

/* The largest of those that are half as large or more. */
static long find_smaller_locked(size_t size)
{
	size_t best = size / 2;
	long found = -1;
	unsigned long i;

	for (i = 0; i < keep_counters.count; i++) {
		if (kept[i].size < size && kept[i].size >= best) {
			best = kept[i].size;
			found = (long)i;
		}
	}
	return found;
}

void *keep_take(size_t size, size_t align)
{
	struct range r = { NULL, 0, 0 };
	char *grown;
	long i;

	if (load_relaxed(&keep_counters.bytes) == 0)
		return NULL;
	lock_acquire(&keep_lock);
	i = find_larger_locked(size, align);
	/* Growing may move it, and then no alignment beyond a page's is left. */
	if (i < 0 && align <= os_page_size())
		i = find_smaller_locked(size);
	if (i >= 0)
		r = remove_locked((unsigned long)i);
	lock_release(&keep_lock);

	if (r.size > size)
		os_release(r.start + size, r.size - size);
	if (r.size >= size || !r.start)
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

void keep_fork_prepare(void)
{
	lock_fork_prepare(&keep_lock);
}

void keep_fork_parent(void)
{
	lock_fork_parent(&keep_lock);
}

void keep_fork_child(void)
{
	lock_fork_child(&keep_lock);
}

void keep_check(void)
{
	size_t bytes = 0;
	unsigned long i;

	lock_acquire(&keep_lock);
	CHECK(keep_counters.count <= KEEP_COUNT);
	for (i = 0; i < keep_counters.count; i++) {
		CHECK(kept[i].size > 0 && kept[i].size <= KEEP_MAX_BLOCK);
		CHECK(((uintptr_t)kept[i].start | kept[i].size) % os_page_size() == 0);
		CHECK(i == 0 || kept[i - 1].since <= kept[i].since);
		bytes += kept[i].size;
	}
	CHECK(bytes == keep_counters.bytes && bytes <= KEEP_MAX_BYTES);
	lock_release(&keep_lock);
}
