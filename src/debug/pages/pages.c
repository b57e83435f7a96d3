/* SPDX-License-Identifier: MIT */
/*
 * debug/pages/pages.c - whole pages with debug flags: red zones, poison, and who allocated and
 * freed them
 *
 * Data:       none of its own.
 * Invariants: a record is taken out of the table while the thread that frees or resizes its block
 *             checks it: of two threads that free a block one finds no record. A record in the
 *             table is true: its block's red zones and poison are there. A block that fails a check
 *             on free stays in use for ever; one that fails at the end of its quarantine is never
 *             used again.
 * Locks:      none held here, but by pages_validate(). Reports are delivered before the table is
 *             changed.
 * Flow:       see pages.h.
 */
#include "debug/pages/pages.h"

#include <string.h>

#include "base/bits.h"
#include "debug/report/report.h"
#include "debug/slab.h"

/* ---- where things are ------------------------------------------------------------------------ */

static char *start_of(const struct block_record *b)
{
	return (char *)b->address;
}

static bool has(const struct block_record *b, slab_flags_t letter)
{
	return b->debug_flags & letter;
}

/* Before the block, of which only the last page is red: alignment may need more. */
static char *left_zone(const struct block_record *b)
{
	return start_of(b) - PAGE_SIZE;
}

/* From the last byte that was asked for to the end of all pages. */
static size_t right_zone_size(const struct block_record *b)
{
	return b->base + b->bytes - b->address - b->size;
}

static bool is_poisoned(const struct block_record *b)
{
	return has(b, SLAB_POISON) && page_in_arena(start_of(b)) && b->body <= PAGES_POISON_MAX;
}

static size_t usable(const struct block_record *b)
{
	return has(b, SLAB_RED_ZONE) ? b->size : b->body;
}

/* ---- filling, checking ----------------------------------------------------------------------- */

static void fill_right(const struct block_record *b)
{
	if (has(b, SLAB_RED_ZONE))
		memset(start_of(b) + b->size, RED_ACTIVE, right_zone_size(b));
}

/* Poisons the body from there on; the program has not got it yet. */
static void poison_from(const struct block_record *b, size_t from)
{
	if (!is_poisoned(b) || from >= b->body)
		return;
	memset(start_of(b) + from, POISON_FREE, b->body - from);
	start_of(b)[b->body - 1] = (char)POISON_END;
}

static void fill(const struct block_record *b, unsigned char red)
{
	poison_from(b, 0);
	if (!has(b, SLAB_RED_ZONE))
		return;
	memset(left_zone(b), red, PAGE_SIZE);
	if (red == RED_ACTIVE)
		fill_right(b);
	else
		memset(start_of(b) + b->body, red, PAGE_SIZE);
}

/* n bytes at p must be value. Else they are reported and restored. */
static bool check_bytes(const struct block_record *b, enum report_area area, char *start,
			unsigned char value, size_t n)
{
	unsigned char *p = (unsigned char *)start;
	size_t first = 0;
	size_t last = n;

	/* all equal to the first one: compared with itself, one byte on */
	if (!n || (*p == value && !memcmp(p, p + 1, n - 1)))
		return true;
	while (p[first] == value)
		first++;
	do
		last--;
	while (p[last] == value);
	report_block_bytes(b, area, p + first, p + last, value);
	memset(p + first, value, last - first + 1);
	return false;
}

static bool check_red_zones(const struct block_record *b)
{
	return !has(b, SLAB_RED_ZONE) ||
	       (check_bytes(b, AREA_LEFT_REDZONE, left_zone(b), RED_ACTIVE, PAGE_SIZE) &&
		check_bytes(b, AREA_RIGHT_REDZONE, start_of(b) + b->size, RED_ACTIVE,
			    right_zone_size(b)));
}

/* Of a block that was freed. */
static bool check_poison(const struct block_record *b)
{
	char *start = start_of(b);

	if (has(b, SLAB_RED_ZONE) &&
	    (!check_bytes(b, AREA_LEFT_REDZONE, left_zone(b), RED_INACTIVE, PAGE_SIZE) ||
	     !check_bytes(b, AREA_RIGHT_REDZONE, start + b->body, RED_INACTIVE, PAGE_SIZE)))
		return false;
	return check_bytes(b, AREA_POISON, start, POISON_FREE, b->body - 1) &&
	       check_bytes(b, AREA_END_POISON, start + b->body - 1, POISON_END, 1);
}

static struct track make_track(const struct block_record *b, const void *caller)
{
	return has(b, SLAB_STORE_USER) ? debug_make_track(caller, true) : (struct track){ 0 };
}

/* ---- freed blocks ---------------------------------------------------------------------------- */

/*
 * End of the quarantine: true if its pages may be used again. If the program wrote to them, they
 * are reported and never used again.
 */
static bool leave(const struct block_record *b)
{
	bool whole = !has(b, SLAB_CONSISTENCY_CHECKS) || check_poison(b);

	if (!whole)
		report_fix(report_blocks(), FIX_PAGES_UNUSED, (void *)b->base);
	report_deliver();
	return whole;
}

/* all: memory is short. */
static void drop_surplus(bool all)
{
	struct block_record b;

	while (blocks_take_surplus(all, &b))
		if (leave(&b))
			run_free((char *)b.base);
}

static void wait_freed(struct block_record *b)
{
	b->state = BLOCK_FREED;
	fill(b, RED_INACTIVE);
	if (!blocks_add_freed(b))
		run_free((char *)b->base);
}

/* The record first: once the pages are freed another thread may get them. */
static void free_now(struct block_record *b)
{
	b->state = BLOCK_GONE;
	blocks_add_freed(b);
	if (has(b, SLAB_POISON))
		run_discard((char *)b->base);
	else
		run_free((char *)b->base);
}

/* ---- alloc ----------------------------------------------------------------------------------- */

/*
 * A quarantined block of exactly this layout, or new pages, no more of them than that. false: out
 * of memory.
 */
static bool take_pages(struct block_record *b, size_t before, size_t align, int node, bool *zeroed)
{
	struct block_record freed;
	char *base;

	while (blocks_take_freed(b->bytes, before, align, &freed))
		if (leave(&freed)) {
			b->base = freed.base;
			*zeroed = false;
			return true;
		}
	base = run_alloc(b->bytes, align, node, zeroed);
	if (!base) {
		drop_surplus(true);
		base = run_alloc(b->bytes, align, node, zeroed);
	}
	b->base = (uintptr_t)base;
	if (base)
		run_cut(base, b->bytes);
	return base;
}

static void *alloc_plain(size_t size, size_t body, size_t align, int node, bool *zeroed,
			 const void *caller)
{
	char *p = run_alloc(body, align, node, zeroed);
	struct block_record b = {
		.address = (uintptr_t)p,
		.size = size,
		.base = (uintptr_t)p,
		.debug_flags = SLAB_STORE_USER,
	};

	if (!p)
		return NULL;
	b.bytes = b.body = run_size(p);
	b.track = make_track(&b, caller);
	blocks_add(&b);
	return p;
}

void *pages_alloc_slow(size_t size, size_t body, size_t align, int node, bool *zeroed,
		       const void *caller)
{
	slab_flags_t debug_flags = blocks_debug_flags();
	size_t before = debug_flags & SLAB_RED_ZONE ? MAX(align, PAGE_SIZE) : 0;
	size_t red = before + (before ? PAGE_SIZE : 0);
	/* as of objects, 0 bytes are one: a size of 0 says that no block starts there */
	struct block_record b = { .size = MAX(size, 1ul), .debug_flags = (uint32_t)debug_flags };
	bool fresh;

	if (!(debug_flags & BLOCKS_CHECKED))
		return alloc_plain(size, body, align, node, zeroed, caller);
	if (body > PTRDIFF_MAX - PAGE_SIZE - red)
		return NULL;
	b.body = ALIGN_UP(MAX(body, 1ul), PAGE_SIZE);
	b.bytes = b.body + red;
	b.track = make_track(&b, caller);
	if (!take_pages(&b, before, MAX(align, PAGE_SIZE), node, &fresh))
		return NULL;
	b.address = b.base + before;
	fill(&b, RED_ACTIVE);
	if (!blocks_add(&b)) { /* it would not be found by its address */
		run_free((char *)b.base);
		return run_alloc(body, align, node, zeroed);
	}
	if (zeroed)
		*zeroed = fresh && !is_poisoned(&b);
	return start_of(&b);
}

/* ---- free ------------------------------------------------------------------------------------ */

static void report_inside(const struct block_record *b, const void *p)
{
	report_block_pointer(b, p);
	report_fix(report_blocks(), FIX_NOT_FREED, p);
	report_deliver();
}

/* Of a block that is gone: another one starts there by now. */
static bool is_taken_again(const struct block_record *b, const void *p)
{
	return b->state == BLOCK_GONE && run_size(p);
}

bool pages_report_freed_slow(const void *p, enum report_repair repair)
{
	struct block_record b;

	if (!blocks_look_up(p, &b) || b.state == BLOCK_LIVE || is_taken_again(&b, p))
		return false;
	report_block(&b, REPORT_FREE_ALREADY);
	if (repair != FIX_NOTHING)
		report_fix(report_blocks(), repair, p);
	report_deliver();
	return true;
}

/* No live block with a record starts at p. true: a mistake, which is reported. */
static bool is_mistake(const void *p)
{
	struct block_record b;

	if (blocks_look_up(p, &b) && is_taken_again(&b, p)) {
		blocks_forget(p);
		return false;
	}
	if (pages_report_freed_slow(p, FIX_NOT_FREED))
		return true;
	if (!blocks_find_around(p, &b))
		return false;
	report_inside(&b, p);
	return true;
}

static void free_checked(struct block_record *b, const void *caller)
{
	if (blocks_debug_flags() & SLAB_CONSISTENCY_CHECKS && !check_red_zones(b)) {
		report_fix(report_blocks(), FIX_NOT_FREED, start_of(b));
		report_deliver();
		blocks_add(b);
		return;
	}
	b->freed = make_track(b, caller);
	if (is_poisoned(b))
		wait_freed(b);
	else
		free_now(b);
	drop_surplus(false);
}

bool pages_free_slow(void *p, const void *caller)
{
	struct block_record b;

	if (!blocks_take(p, &b))
		return is_mistake(p) || run_free(p);
	if (!(b.debug_flags & BLOCKS_CHECKED))
		return run_free(p);
	free_checked(&b, caller);
	return true;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

size_t pages_size_slow(const void *p)
{
	struct block_record b;

	if (blocks_look_up(p, &b)) {
		if (b.state == BLOCK_LIVE)
			return usable(&b);
		if (b.state == BLOCK_FREED)
			return 0;
	}
	/* the pages of a checked block begin before it */
	return blocks_find_around(p, &b) ? 0 : run_size(p);
}

/* Bytes written behind the old end must be reported before they become part of the block. */
static void check_before_resize(const struct block_record *b)
{
	if (blocks_debug_flags() & SLAB_CONSISTENCY_CHECKS)
		check_red_zones(b);
	report_deliver();
}

static bool resize_checked(struct block_record *b, size_t size)
{
	size_t before = b->address - b->base;
	size_t behind = b->bytes - before - b->body;
	size_t old = MIN((size_t)b->size, size);
	char *base;

	if (size > PTRDIFF_MAX - PAGE_SIZE - before - behind)
		return false;
	check_before_resize(b);
	b->body = ALIGN_UP(MAX(size, 1ul), PAGE_SIZE);
	base = run_resize((char *)b->base, before + b->body + behind, true);
	if (!base)
		return false;
	b->base = (uintptr_t)base;
	b->bytes = run_size(base); /* what it has to grow next time is usable */
	b->body = b->bytes - before - behind;
	b->address = b->base + before;
	b->size = size;
	poison_from(b, old);
	if (behind)
		fill_right(b);
	return true;
}

static bool resize_plain(struct block_record *b, size_t size)
{
	char *moved = run_resize(start_of(b), size, true);

	if (!moved)
		return false;
	b->address = b->base = (uintptr_t)moved;
	b->bytes = b->body = run_size(moved);
	b->size = size;
	return true;
}

static bool resize(struct block_record *b, size_t size)
{
	return b->debug_flags & BLOCKS_CHECKED ? resize_checked(b, size) : resize_plain(b, size);
}

void *pages_resize_slow(void *p, size_t size, const void *caller)
{
	struct block_record before;
	struct block_record b = { 0 };
	bool resized;
	bool known = blocks_are_known() && blocks_take(p, &b);

	if (!known) {
		b = (struct block_record){ .address = (uintptr_t)p };
		if (blocks_debug_flags() & SLAB_STORE_USER)
			b.debug_flags = SLAB_STORE_USER;
	}
	before = b;
	resized = resize(&b, size);
	if (resized && has(&b, SLAB_STORE_USER) && blocks_debug_flags() & SLAB_STORE_USER)
		b.track = make_track(&b, caller);
	if (resized ? has(&b, BLOCKS_DEBUG_FLAGS) : known)
		blocks_add(resized ? &b : &before);
	return resized ? start_of(&b) : NULL;
}

bool pages_shrink(const void *p, size_t size)
{
	struct block_record b;

	if (!blocks_are_known() || !blocks_take(p, &b))
		return false;
	if (has(&b, SLAB_RED_ZONE)) {
		check_before_resize(&b);
		b.size = size;
		fill_right(&b);
	}
	blocks_add(&b);
	return has(&b, SLAB_RED_ZONE);
}

void pages_stats(struct run_stats *stats)
{
	const struct blocks *table = load_acquire(&blocks_table); /* pairs with blocks_switch() */
	unsigned long quarantined;
	unsigned long freed_bytes;

	run_stats(stats);
	if (!table)
		return;
	quarantined = load_relaxed(&table->quarantined);
	freed_bytes = load_relaxed(&table->freed_bytes);
	stats->count -= MIN(stats->count, quarantined);
	stats->bytes -= MIN(stats->bytes, freed_bytes);
}

/* ---- validation ------------------------------------------------------------------------------ */

static void validate_one(const struct block_record *b)
{
	if (b->state == BLOCK_FREED)
		check_poison(b);
	else
		check_red_zones(b);
}

unsigned long pages_validate(void)
{
	unsigned long nr = blocks_each(validate_one);

	report_deliver();
	return nr;
}
