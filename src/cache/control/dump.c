/* SPDX-License-Identifier: MIT */
/*
 * cache/control/dump.c - what is this pointer? (spec 5.14)
 *
 * Data:       none.
 * Invariants: any address may be given. In a slab only bytes of the allocator are read, by the
 *             slab's layout.
 * Locks:      RANK_REPORT, from the first text to report_deliver().
 * Flow:       called by api/; calls debug/report/report_text.c, debug/kfence/kfence.c.
 *
 * As in the kernel the text continues a line, and addresses have no 0x:
 *
 *     uslab: 0x7f3a18004a40 slab kmalloc-64 start 7f3a18004a00 data offset 64 pointer offset 0
 *     size 64 allocated at main+0x1c/0x80
 *         main+0x1c/0x80
 *
 * (one line but for the stack). Cases that the kernel has no text for are in brackets.
 */
#include "base/atomic.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "debug/pages/blocks.h"
#include "debug/kfence/kfence.h"
#include "debug/report/report.h"
#include "debug/stacks.h"
#include "debug/report/report_text.h"
#include "engine/descriptor.h"
#include "page/large.h"

#define FRAME "    "

struct place {
	const char *start;	    /* of the slot, its left red zone included; NULL: not in one */
	unsigned int data;	    /* offset of the object in it */
	const struct track *tracks; /* NULL: none */
};

static struct place place_in_slab(const struct page *slab, const char *p)
{
	const struct slab_layout *layout = slab->layout;
	struct slab_counters counters = engine_counters(slab);
	const char *first =
		(char *)page_address(slab) + (size_t)counters.colour * layout->colour_off;
	struct place place = { .data = layout->red_left_pad };
	size_t i = (size_t)(p - first) / layout->stride;

	if (p < first || i >= counters.objects)
		return place;
	place.start = first + i * layout->stride;
	if (layout->kind == LAYOUT_DEBUG && layout->debug & SLAB_STORE_USER)
		place.tracks = debug_track(layout, (char *)place.start + place.data, TRACK_ALLOC);
	return place;
}

static void put_place(const struct place *place, const char *p, unsigned int usersize)
{
	const char *object = place->start + place->data;

	report_text_print(" start %lx", (unsigned long)place->start);
	if (place->data)
		report_text_print(" data offset %u", place->data);
	report_text_print(" pointer offset %s%lu", p < object ? "-" : "",
			  (unsigned long)(p < object ? object - p : p - object));
	if (usersize)
		report_text_print(" size %u", usersize);
}

static void put_allocated_at(uintptr_t address)
{
	report_text_print(" allocated at ");
	report_text_symbol(address);
}

/* Ends the line. Stacks of who allocated and who freed; 0: none. */
static void put_stacks(uint32_t allocated, uint32_t freed)
{
	report_text_print("\n");
	report_text_stack(FRAME, allocated);
	if (freed) {
		report_text_print(" Free path:\n");
		report_text_stack(FRAME, freed);
	}
}

static void put_tracks(const struct track *tracks)
{
	if (!tracks || !tracks[TRACK_ALLOC].addr) {
		report_text_print("\n");
		return;
	}
	put_allocated_at(tracks[TRACK_ALLOC].addr);
	put_stacks(tracks[TRACK_ALLOC].handle, tracks[TRACK_FREE].handle);
}

static void put_slab(const struct page *slab, const char *p)
{
	const struct cache *c = container_of(slab->engine, struct cache, engine);
	struct place place = place_in_slab(slab, p);

	report_text_print(" slab %s", c->name);
	if (place.start)
		put_place(&place, p, c->usersize);
	else
		report_text_print(" (no object: unused bytes of a slab)");
	put_tracks(place.tracks);
}

static void put_guarded(const struct kfence_info *info, const char *p)
{
	struct place place = { .start = info->start };
	const struct cache *c = info->engine ? container_of(info->engine, struct cache, engine)
					     : NULL;
	const uint64_t *pcs;

	report_text_print(" slab %s (kfence)", c ? c->name : "<destroyed>");
	put_place(&place, p, c ? c->usersize : 0);
	if (stacks_fetch(info->allocated, &pcs))
		put_allocated_at(pcs[0]);
	put_stacks(info->allocated, info->freed);
}

static void put_run(const struct page *page, const char *p)
{
	struct place place = { .start = page_address(page) };

	report_text_print(" (large block)");
	put_place(&place, p, 0);
	report_text_print(" size %lu\n", page->nr_pages * PAGE_SIZE);
}

/* With debug flags: it lies between red zones, and its users may be known. */
static void put_checked(const struct block_record *b, const char *p)
{
	struct place place = { .start = (char *)b->address };
	struct track tracks[] = { [TRACK_ALLOC] = b->track, [TRACK_FREE] = b->freed };

	report_text_print(" (large block)");
	put_place(&place, p, 0);
	report_text_print(" size %lu", (unsigned long)b->size);
	put_tracks(tracks);
}

/* No block in use of the arena; large: bytes of the mapping that starts at p. */
static bool put_other(const void *p, size_t large)
{
	if (large)
		report_text_print(" (large block) start %lx pointer offset 0 size %zu\n",
				  (unsigned long)p, large);
	else if (ZERO_OR_NULL_PTR(p))
		report_text_print(p == ZERO_SIZE_PTR ? " (ZERO_SIZE_PTR)\n" : " (NULL pointer)\n");
	else
		report_text_print(page_in_arena(p) ? " (free page)\n" : " (not of uslab)\n");
	return large;
}

/*
 * What is known of p, looked up before: that takes locks, which must not be while the text is open.
 */
struct known {
	size_t large;
	bool checked;
	struct block_record block;
};

static bool put_block(const struct page *page, const void *p, const struct known *known)
{
	struct kfence_info info;

	if (kfence_describe(p, &info))
		put_guarded(&info, p);
	else if (known->checked)
		put_checked(&known->block, p);
	else if (!page)
		return put_other(p, known->large);
	else if (page->type == PAGE_SLAB)
		put_slab(page, p);
	else if (page->type == PAGE_HEAP)
		report_text_print(" (page of the heap %s)\n", page->heap->name);
	else
		put_run(page, p);
	return true;
}

bool cache_dump_obj(const void *p)
{
	struct known found = { .large = large_size(p) };
	bool known;

	found.checked = blocks_are_known() && blocks_find_around(p, &found.block);
	report_text_open();
	report_text_print("uslab: 0x%lx", (unsigned long)p);
	instrument_enter(); /* tracks lie behind the object */
	known = put_block(page_head_of(p), p, &found);
	instrument_leave();
	report_deliver();
	return known;
}
