/* SPDX-License-Identifier: MIT */
/*
 * cache/extension.c - where the word beside an object or block is, and how many bytes it stands for
 *
 * Data:       none.
 * Invariants: see extension.h.
 * Locks:      none held here.
 * Flow:       see extension.h; calls debug/ for guarded pages and blocks.
 */
#include "cache/extension.h"

#include "cache/instrument/instrument.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/pages.h"
#include "engine/place.h"
#include "page/large.h"

/* In a slab, whatever its layout. */
static void find_in_slab(enum page_ext kind, const struct page *slab, const void *p, bool make,
			 struct ext_place *place)
{
	if (kfence_is_object(slab) ? !kfence_size(p) : !engine_starts_object(slab, p))
		return;
	place->cache = container_of(slab->engine, struct cache, engine);
	if (load_relaxed(&place->cache->flags) & SLAB_NO_OBJ_EXT)
		return;
	place->bytes = slab->engine->size;
	place->keyed = kind == PAGE_EXT_GROUPS && slab->layout->key;
	if (place->keyed)
		place->word = (uint32_t *)((uintptr_t)p + slab->layout->key);
	else
		place->word = page_ext_word(kind, slab, ext_words(slab), ext_index(slab, p), make);
}

/* The page does not say whose an object is, nor how large: its cache does. */
static void find_in_heap(enum page_ext kind, const struct page *page, const void *p, bool make,
			 struct ext_place *place)
{
	size_t offset = (size_t)((const char *)p - (const char *)page_address(page));

	if (offset % ARCH_KMALLOC_MINALIGN)
		return;
	if (make && !place->cache)
		place->cache = cache_of_object(p);
	if (place->cache && load_relaxed(&place->cache->flags) & SLAB_NO_OBJ_EXT)
		return;
	place->word = page_ext_word(kind, page, PAGE_SIZE / ARCH_KMALLOC_MINALIGN,
				    (unsigned int)(offset / ARCH_KMALLOC_MINALIGN), make);
	if (make || (place->word && load_relaxed(place->word)))
		place->bytes = place->cache ? place->cache->engine.size : page->heap->size(p);
}

/* Whole pages. With red zones they begin before the program's. */
static void find_pages(enum page_ext kind, const struct page *head, const void *p, bool make,
		       struct ext_place *place)
{
	struct block_record record = { .base = (uintptr_t)p };

	if (!pages_size(p))
		return; /* no block starts there */
	if (head) {
		place->bytes = head->nr_pages * PAGE_SIZE;
		place->word = page_ext_word(kind, head, 1, 0, make);
		return;
	}
	if (blocks_are_known())
		blocks_look_up(p, &record);
	place->base = (const void *)record.base;
	place->bytes = large_size(place->base);
}

struct ext_place ext_find(enum page_ext kind, struct cache *c, const void *p, bool make)
{
	const struct page *head = page_head_of(p);
	struct ext_place place = { .cache = c };

	instrument_enter(); /* it may be metadata for valgrind */
	if (!head && page_in_arena(p))
		; /* of nobody */
	else if (head && head->type == PAGE_SLAB)
		find_in_slab(kind, head, p, make, &place);
	else if (head && head->type == PAGE_HEAP)
		find_in_heap(kind, head, p, make, &place);
	else
		find_pages(kind, head, p, make, &place);
	instrument_leave();
	return place;
}

uint32_t ext_exchange(enum page_ext kind, const struct ext_place *place, uint32_t word)
{
	uint32_t old = 0;

	if (place->word)
		return load_relaxed(place->word) == word ? word : xchg(place->word, word);
	large_exchange_note(place->base, kind, word, &old);
	return old;
}
