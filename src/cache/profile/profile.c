/* SPDX-License-Identifier: MIT */
/*
 * cache/profile/profile.c - allocation profiling: who allocated an object, in bytes and calls
 *
 * Data:       what the options asked for.
 * Invariants: see profile.h. uslab_mem_profiling_on is 1 only while the CPUs have the generation of
 *             sites_table.
 * Locks:      cache_lock around each switch, so that no cache is made, or gets WATCH_TAGS, in the
 *             middle of one.
 * Flow:       see profile.h.
 *
 * An object's word belongs to whoever has the object. The thread that allocated it stores site and
 * generation, before anybody else has its address; the one that frees it takes them out by an
 * exchange, before it is anybody's again. Two that free the same object find it once.
 *
 * On: the CPUs' counters are cleared and get a new generation, one after the other; then it is
 * published, and then programs see it. [Saw it off, or the generation before: sites_count()
 * refuses.]
 * Off: programs see it, then the CPUs have no generation any more, then caches lose WATCH_TAGS.
 * [Saw it on: as above. A free that comes a moment later finds a word that means nothing any more,
 * or does not look for it.] Words stay in objects that are live then. They are of an old
 * generation: their frees, and the next ones that are counted there, take no notice of them.
 *
 * A cache gets WATCH_TAGS with the first of its objects that is counted, before that is: frees that
 * could be hits (cache_watch_tags_locked()) are none from then on. Where an object's page does not
 * say which cache it is of, in heaps, all caches have it from the start.
 */
#include "cache/profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "cache/instrument/instrument.h"
#include "cache/internal.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/pages.h"
#include "engine/place.h"
#include "page/ext.h"
#include "page/large.h"

static enum { WANTED_OFF, WANTED_ON, WANTED_NEVER } wanted;

bool profile_set_option(const char *value)
{
	if (!strcmp(value, "") || !strcmp(value, "1"))
		wanted = WANTED_ON;
	else if (!strcmp(value, "0"))
		wanted = WANTED_OFF;
	else if (!strcmp(value, "never"))
		wanted = WANTED_NEVER;
	else
		return false;
	return true;
}

/* ---- words ---- */

static uint32_t word_of(uint32_t generation, uint32_t site)
{
	return generation << 16 | site;
}

static uint32_t generation_of(uint32_t word)
{
	return word >> 16;
}

static uint32_t site_of(uint32_t word)
{
	return word & 0xffff;
}

/* Where a block's word is, and how many bytes are counted for it. */
struct place {
	struct cache *cache; /* of an object; NULL: it is a block */
	uint32_t *word;	     /* NULL: it is a mapping of its own, at base; or there is none */
	const void *base;
	size_t bytes;
};

/* In a slab, whatever its layout: objects are one stride apart. */
static void place_in_slab(const struct page *slab, const void *p, bool make, struct place *place)
{
	const struct slab_layout *layout = slab->layout;
	size_t offset = (size_t)((const char *)p - (const char *)page_address(slab));
	size_t size = slab->nr_pages * PAGE_SIZE;

	if (kfence_is_object(slab) ? !kfence_size(p) : !engine_starts_object(slab, p))
		return;
	place->cache = container_of(slab->engine, struct cache, engine);
	if (load_relaxed(&place->cache->flags) & SLAB_NO_OBJ_EXT)
		return;
	place->bytes = slab->engine->size;
	place->word = page_ext_word(slab, (unsigned int)(size / layout->stride) + 1,
				    (unsigned int)(offset / layout->stride), make);
}

/* The page does not say whose an object is, nor how large: its cache does. */
static void place_in_heap(const struct page *page, const void *p, bool make, struct place *place)
{
	size_t offset = (size_t)((const char *)p - (const char *)page_address(page));

	if (offset % ARCH_KMALLOC_MINALIGN)
		return;
	if (make && !place->cache)
		place->cache = cache_of_object(p);
	if (place->cache && load_relaxed(&place->cache->flags) & SLAB_NO_OBJ_EXT)
		return;
	place->word = page_ext_word(page, PAGE_SIZE / ARCH_KMALLOC_MINALIGN,
				    (unsigned int)(offset / ARCH_KMALLOC_MINALIGN), make);
	if (make || (place->word && load_relaxed(place->word)))
		place->bytes = place->cache ? place->cache->engine.size : page->heap->size(p);
}

/* Whole pages. With red zones they begin before the program's. */
static void place_of_pages(const struct page *head, const void *p, bool make, struct place *place)
{
	struct block_record record = { .base = (uintptr_t)p };

	if (!pages_size(p))
		return; /* no block starts there */
	if (head) {
		place->bytes = head->nr_pages * PAGE_SIZE;
		place->word = page_ext_word(head, 1, 0, make);
		return;
	}
	if (blocks_are_known())
		blocks_look_up(p, &record);
	place->base = (const void *)record.base;
	place->bytes = large_size(place->base);
}

static struct place find_place(struct cache *c, const void *p, bool make)
{
	const struct page *head = page_head_of(p);
	struct place place = { .cache = c };

	instrument_enter(); /* it may be metadata for valgrind */
	if (!head && page_in_arena(p))
		; /* of nobody */
	else if (head && head->type == PAGE_SLAB)
		place_in_slab(head, p, make, &place);
	else if (head && head->type == PAGE_HEAP)
		place_in_heap(head, p, make, &place);
	else
		place_of_pages(head, p, make, &place);
	instrument_leave();
	return place;
}

/* Stores a word, and returns the one that was there. */
static uint32_t exchange(const struct place *place, uint32_t word)
{
	uint32_t old = 0;

	if (place->word)
		return load_relaxed(place->word) == word ? word : xchg(place->word, word);
	large_exchange_note(place->base, word, &old);
	return old;
}

static bool has_word(const struct place *place)
{
	return place->word || place->base;
}

/* ---- objects ---- */

/* With a lock held that keeps it from being switched off meanwhile. */
static noinline bool watch(struct cache *c, uint32_t generation)
{
	bool on;

	lock_acquire(&cache_lock);
	on = uslab_mem_profiling_on && sites_table->generation == generation;
	if (on && !(c->watch & WATCH_TAGS))
		cache_watch_tags_locked(c, true);
	cache_unlock();
	return on;
}

static bool is_watched(struct cache *c, uint32_t generation)
{
	return !c || likely(load_acquire(&c->watch) & WATCH_TAGS) || watch(c, generation);
}

static void uncount(uint32_t word, size_t bytes)
{
	if (word)
		sites_count(site_of(word), generation_of(word), -bytes, -1ul);
}

static bool is_counted(const struct place *place, uint32_t generation)
{
	uint32_t word;

	if (place->word)
		return generation_of(load_relaxed(place->word)) == generation;
	word = exchange(place, 0);
	exchange(place, word);
	return generation_of(word) == generation;
}

static bool add(uint32_t site, uint32_t generation, const struct place *place, bool keep)
{
	uint32_t word = word_of(generation, site);

	if (keep && is_counted(place, generation))
		return true;
	if (!sites_count(site, generation, place->bytes, 1))
		return false;
	uncount(exchange(place, word), place->bytes); /* none, but where a CPU cannot be fenced */
	return true;
}

void profile_lose(void)
{
	if (profile_is_known())
		fetch_add(&sites_table->lost, 1);
}

void profile_add(struct alloc_tag *tag, struct cache *c, const void *p, bool keep)
{
	uint32_t generation;
	struct place place;
	uint32_t site;

	if (!tag || ZERO_OR_NULL_PTR(p) || !profile_is_known())
		return;
	if (lock_is_inside()) {
		profile_lose();
		return;
	}
	generation = load_acquire(&sites_table->generation); /* pairs with sites_begin() */
	site = load_relaxed(&tag->site);
	if (unlikely(!site))
		site = sites_find(tag);
	place = find_place(c, p, true);
	if (!has_word(&place) && !place.bytes)
		return; /* nothing that is counted */
	if (!site || !has_word(&place) || !is_watched(place.cache, generation) ||
	    !add(site, generation, &place, keep))
		profile_lose();
}

void profile_drop_slow(struct cache *c, const void *p)
{
	struct place place = find_place(c, p, false);

	if (has_word(&place))
		uncount(exchange(&place, 0), place.bytes);
}

/* ---- switching ---- */

static void watch_heap_locked(struct cache *c)
{
	if (c->engine.ops->heap)
		cache_watch_tags_locked(c, true);
}

void profile_created_locked(struct cache *c)
{
	if (unlikely(uslab_mem_profiling_on))
		watch_heap_locked(c);
}

static int switch_on_locked(void)
{
	struct list_head *pos;
	int ret;

	if (wanted == WANTED_NEVER)
		return -EPERM;
	if (uslab_mem_profiling_on)
		return 0;
	ret = sites_begin();
	if (ret < 0)
		return ret;
	list_for_each(pos, &cache_list)
		watch_heap_locked(list_entry(pos, struct cache, list));
	store_release(&uslab_mem_profiling_on, 1); /* pairs with profile_add()'s caller */
	return 0;
}

static void switch_off_locked(void)
{
	struct list_head *pos;

	if (!uslab_mem_profiling_on)
		return;
	store_release(&uslab_mem_profiling_on, 0);
	sites_end();
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);

		if (c->watch & WATCH_TAGS)
			cache_watch_tags_locked(c, false);
	}
}

int profile_switch(bool on)
{
	int ret = 0;

	lock_acquire(&cache_lock);
	if (on)
		ret = switch_on_locked();
	else
		switch_off_locked();
	cache_unlock();
	return ret;
}

int profile_start(void)
{
	return wanted == WANTED_ON ? profile_switch(true) : 0;
}

void profile_check(void)
{
	sites_check();
	page_ext_check();
	CHECK(!uslab_mem_profiling_on == !(sites_table && sites_table->on));
}
