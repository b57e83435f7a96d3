/* SPDX-License-Identifier: MIT */
/*
 * cache/registry.c - which caches exist: the list, the numbers, the cache of an object
 *
 * Data:       cache_list (newest first, as in the kernel), one bit per number.
 * Invariants: a number is taken iff its handle points at a cache; fixed numbers (below
 *             USLAB_ID_FIRST_FREE) are taken on request only. Checked by cache_check_all().
 * Locks:      cache_lock (RANK_CACHE).
 * Flow:       called by cache/, malloc/ and inspect/; calls choice.c for patterns.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "cache/internal.h"
#include "os/process/say.h"
#include "page/used.h"

struct lock cache_lock = LOCK_INIT(RANK_CACHE);
struct list_head cache_list = { &cache_list, &cache_list };

static uint64_t numbers[USLAB_NR_HANDLES / 64];

bool cache_number_is_taken(unsigned int id)
{
	return numbers[id / 64] >> (id % 64) & 1;
}

/* wanted 0: the lowest free one. -ENOSPC, -EEXIST. */
int cache_number_get_locked(unsigned int wanted, unsigned int *id)
{
	unsigned int n = wanted ? wanted : USLAB_ID_FIRST_FREE;

	if (!wanted)
		while (n < USLAB_NR_HANDLES && cache_number_is_taken(n))
			n++;
	if (n >= USLAB_NR_HANDLES)
		return -ENOSPC;
	if (cache_number_is_taken(n))
		return -EEXIST;
	numbers[n / 64] |= 1ull << (n % 64);
	*id = n;
	return 0;
}

void cache_number_put_locked(unsigned int id)
{
	numbers[id / 64] &= ~(1ull << (id % 64));
}

void cache_register_locked(struct cache *c)
{
	list_add(&c->list, &cache_list);
	store_release(&c->handle->cache, c); /* read by tools from outside */
}

void cache_unregister_locked(struct cache *c)
{
	store_relaxed(&c->handle->cache, NULL);
	list_del(&c->list);
}

void cache_unique_id(const struct cache *c, char *buf)
{
	char digits[8] = "0000000";
	unsigned int size = c->engine.size;
	char *p = buf;

	*p++ = ':';
	if (c->flags & SLAB_CACHE_DMA)
		*p++ = 'd';
	if (c->flags & SLAB_CACHE_DMA32)
		*p++ = 'D';
	if (c->flags & SLAB_RECLAIM_ACCOUNT)
		*p++ = 'a';
	if (c->flags & SLAB_CONSISTENCY_CHECKS)
		*p++ = 'F';
	if (c->flags & SLAB_ACCOUNT)
		*p++ = 'A';
	if (p != buf + 1)
		*p++ = '-';
	for (int i = 6; i >= 0; i--, size /= 10)
		digits[i] = (char)('0' + size % 10);
	os_format(p, 8, "%s", digits);
}

bool cache_matches_locked(const struct cache *c, const char *pattern)
{
	const struct cache_alias *alias = c->aliases;
	char id[32];

	if (cache_pattern_matches(pattern, c->name))
		return true;
	while (alias && !cache_pattern_matches(pattern, alias->name))
		alias = alias->next;
	if (alias)
		return true;
	cache_unique_id(c, id);
	return *pattern == ':' && cache_pattern_matches(pattern, id);
}

bool cache_matches_any_locked(const struct cache *c, const char *patterns, size_t size)
{
	const char *end = patterns + size;

	for (const char *p = patterns; p < end && *p; p += strlen(p) + 1)
		if (cache_matches_locked(c, p))
			return true;
	return false;
}

void cache_each_locked(const char *patterns, size_t size,
		       long (*act)(struct cache *c, const void *arg), const void *arg,
		       struct cache_result *result)
{
	struct list_head *pos;

	*result = (struct cache_result){ 0 };
	list_for_each(pos, &cache_list) {
		struct cache *c = list_entry(pos, struct cache, list);
		long ret;

		if (!cache_matches_any_locked(c, patterns, size))
			continue;
		ret = act(c, arg);
		result->matched++;
		if (ret >= 0) {
			result->value += (uint64_t)ret;
		} else if (!result->failed++) {
			result->error = (int)ret;
			result->at = c;
		}
	}
}

int cache_result_of_pattern(const struct cache_result *result)
{
	if (!result->matched)
		return -ENOENT;
	return result->matched > result->failed ? (int)(result->matched - result->failed)
						: result->error;
}

/* ---- the cache of an object ---- */

bool cache_is_in_use(const void *p)
{
	const struct page *page = used_are_kept() ? page_head_of(p) : NULL;
	bool plain = page && (page->type == PAGE_HEAP ||
			      (page->type == PAGE_SLAB && page->layout->kind == LAYOUT_PLAIN));

	return !plain || used_is_set(p);
}

/* By the header that the heap wrote; whatever is in it, the result is a cache of this heap. */
static struct cache *owner_in_heap(const struct engine_heap *heap, const void *p)
{
	unsigned int id = cache_is_in_use(p) ? heap->owner(p) : 0;
	unsigned int end = used_are_kept() ? USLAB_NR_HANDLES
					   : USLAB_ID_FIRST_FREE; /* else without headers */
	struct cache *c = id && id < end ? cache_of(percpu_handle(id)) : NULL;

	return c && c->engine.ops->heap == heap ? c : NULL;
}

struct cache *cache_of_object(const void *p)
{
	struct page *page = page_head_of(p);

	if (page && page->type == PAGE_SLAB)
		return container_of(page->engine, struct cache, engine);
	return page && page->type == PAGE_HEAP ? owner_in_heap(page->heap, p) : NULL;
}
