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
 * could be hits (cache_watch_frees_locked()) are none from then on. Where an object's page does not
 * say which cache it is of, in heaps, all caches have it from the start.
 */
#include "cache/profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "cache/extension.h"
#include "cache/internal.h"

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

/* ---- objects ---- */

/* With a lock held that keeps it from being switched off meanwhile. */
static noinline bool watch(struct cache *c, uint32_t generation)
{
	bool on;

	lock_acquire(&cache_lock);
	on = uslab_mem_profiling_on && sites_table->generation == generation;
	if (on && !(c->watch & WATCH_TAGS))
		cache_watch_frees_locked(c, WATCH_TAGS, true);
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

static bool is_counted(const struct ext_place *place, uint32_t generation)
{
	uint32_t word;

	if (place->word)
		return generation_of(load_relaxed(place->word)) == generation;
	word = ext_exchange(PAGE_EXT_TAGS, place, 0);
	ext_exchange(PAGE_EXT_TAGS, place, word);
	return generation_of(word) == generation;
}

static bool add(uint32_t site, uint32_t generation, const struct ext_place *place, bool keep)
{
	uint32_t word = word_of(generation, site);

	if (keep && is_counted(place, generation))
		return true;
	if (!sites_count(site, generation, place->bytes, 1))
		return false;
	uncount(ext_exchange(PAGE_EXT_TAGS, place, word),
		place->bytes); /* none, but where a CPU cannot be fenced */
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
	struct ext_place place;
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
	place = ext_find(PAGE_EXT_TAGS, c, p, true);
	if (!ext_has_word(&place) && !place.bytes)
		return; /* nothing that is counted */
	if (!site || !ext_has_word(&place) || !is_watched(place.cache, generation) ||
	    !add(site, generation, &place, keep))
		profile_lose();
}

void profile_drop_slow(struct cache *c, const void *p)
{
	struct ext_place place = ext_find(PAGE_EXT_TAGS, c, p, false);

	if (ext_has_word(&place))
		uncount(ext_exchange(PAGE_EXT_TAGS, &place, 0), place.bytes);
}

void profile_copy_slow(struct cache *c, const void *from, const void *to)
{
	struct ext_place old = ext_find(PAGE_EXT_TAGS, c, from, false);
	uint32_t word = old.word ? load_relaxed(old.word) : 0;
	struct ext_place copy;

	if (!word)
		return;
	copy = ext_find(PAGE_EXT_TAGS, c, to, true);
	if (!copy.word)
		profile_lose();
	else if (sites_count(site_of(word), generation_of(word), copy.bytes, 1))
		uncount(ext_exchange(PAGE_EXT_TAGS, &copy, word), copy.bytes);
}

/* ---- switching ---- */

static void watch_heap_locked(struct cache *c)
{
	if (c->engine.ops->heap)
		cache_watch_frees_locked(c, WATCH_TAGS, true);
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
			cache_watch_frees_locked(c, WATCH_TAGS, false);
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
	CHECK(!uslab_mem_profiling_on == !(sites_table && sites_table->on));
}
