/* SPDX-License-Identifier: MIT */
/*
 * debug/kfence/kfence_pool.c - the pages of KFENCE: protection, canaries, and the free list
 *
 * Data:       kfence_pool.
 * Invariants: see kfence_pool.h.
 * Locks:      kfence_pool.lock, held by the callers.
 * Flow:       called by kfence.c, kfence_fault.c; calls page/buddy.c, os/memory/vm.c,
 *             os/process/file.c.
 *
 * The pool lies in the arena, so that kfree() and free() find its objects by their pages as all
 * others. It is never freed. Guards are pages of type NONE: a free of an address in them is
 * refused.
 */
#include "debug/kfence/kfence_pool.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "base/mix.h"
#include "engine/descriptor.h"
#include "os/process/env.h"
#include "os/process/file.h"
#include "os/process/random.h"
#include "os/memory/vm.h"
#include "page/buddy.h"
#include "page/meta.h"

#define DEFAULT_MAPPINGS 65530 /* of vm.max_map_count */

struct kfence_pool kfence_pool = { .lock = LOCK_INIT(RANK_KFENCE) };

const struct slab_layout kfence_layout = {
	.stride = PAGE_SIZE,
	.magic = 1ull << (64 - PAGE_SHIFT), /* SLAB_MAGIC() */
	.object_size = PAGE_SIZE,
	.inuse = PAGE_SIZE,
	.objects = 1,
	.min_objects = 1,
	.kind = LAYOUT_GUARD,
};

uint64_t kfence_draw(void)
{
	static uint64_t state; /* atomic; 0: no seed yet */

	if (unlikely(!load_relaxed(&state)))
		store_relaxed(&state, os_random() | 1);
	return mix_bits(fetch_add(&state, MIX_GOLDEN));
}

/* ---- making it ------------------------------------------------------------------------------- */

/* Exactly as many pages of a block, inaccessible. */
static char *take_pages(unsigned int nr_pages)
{
	unsigned int order = fls(nr_pages - 1);
	struct page *page = buddy_alloc(NUMA_NO_NODE, order, false, NULL);

	if (!page)
		return NULL;
	buddy_free_range(page + nr_pages, (1ul << order) - nr_pages, false);
	if (os_protect(page_address(page), nr_pages * PAGE_SIZE) == 0)
		return page_address(page);
	buddy_free_range(page, nr_pages, false);
	return NULL;
}

static void give_pages(char *start, unsigned int nr_pages)
{
	if (os_commit(start, nr_pages * PAGE_SIZE) == 0)
		buddy_free_range(page_at(page_index(start)), nr_pages, false);
}

/* All pieces or none. */
static bool take_pieces(char **piece, uint16_t *piece_at, unsigned int nr_objects)
{
	unsigned int nr = kfence_nr_pieces(nr_objects);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		piece[i] = take_pages(kfence_piece_pages(kfence_piece_objects(i, nr_objects)));
		if (!piece[i])
			break;
		piece_at[kfence_block_of(piece[i])] = (uint16_t)(i + 1);
	}
	if (i == nr)
		return true;
	while (i--)
		give_pages(piece[i], kfence_piece_pages(kfence_piece_objects(i, nr_objects)));
	return false;
}

/* Shuffles the free list: the order of first use is random. */
static void shuffle_free(struct kfence_pool *pool)
{
	list_init(&pool->free);
	for (unsigned int i = 0; i < pool->nr_objects; i++) {
		struct kfence_object *o = &pool->object[i];
		unsigned int other = (unsigned int)(kfence_draw() % (i + 1));

		/* before or behind a random one of those on the list */
		list_init(&o->list);
		if (other == i)
			list_add_tail(&o->list, &pool->free);
		else
			list_add_tail(&o->list, &pool->object[other].list);
	}
}

/* Tables for that many objects: their sizes in bytes. */
struct tables {
	size_t objects;
	size_t counters;
	size_t pieces;
	size_t blocks;
	size_t closings;
};

static struct tables table_sizes(unsigned int nr_objects, unsigned int cover_order)
{
	const struct kfence_pool *pool = &kfence_pool;
	size_t nr_pieces = kfence_nr_pieces(nr_objects);

	return (struct tables){
		.objects = nr_objects * sizeof(*pool->object),
		.counters = sizeof(*pool->covered) << cover_order,
		.pieces = nr_pieces * sizeof(*pool->piece),
		.blocks = (page_map.limit >> BUDDY_MAX_ORDER) * sizeof(*pool->piece_at),
		.closings = nr_pieces * KFENCE_PIECE_PAGES * sizeof(*pool->closings),
	};
}

int kfence_pool_make(unsigned int nr_objects)
{
	struct kfence_pool *pool = &kfence_pool;
	struct tables size;
	char **piece;

	if (os_page_size() > PAGE_SIZE)
		return -EOPNOTSUPP;
	pool->cover_order = ilog2(nr_objects) + 2;
	size = table_sizes(nr_objects, pool->cover_order);
	pool->object = meta_alloc(size.objects);
	pool->covered = meta_alloc(size.counters);
	pool->piece_at = meta_alloc(size.blocks);
	pool->closings = meta_alloc(size.closings);
	piece = meta_alloc(size.pieces);
	if (!pool->object || !pool->covered || !pool->piece_at || !pool->closings || !piece ||
	    !take_pieces(piece, pool->piece_at, nr_objects)) {
		meta_free(pool->object, size.objects);
		meta_free(pool->covered, size.counters);
		meta_free(pool->piece_at, size.blocks);
		meta_free(pool->closings, size.closings);
		meta_free(piece, size.pieces);
		return -ENOMEM;
	}
	pool->nr_objects = nr_objects;
	shuffle_free(pool);
	store_release(&pool->piece, piece); /* pairs with kfence_in_pool */
	return 0;
}

/* Mappings that the system allows a process. */
static unsigned long most_mappings(void)
{
	char text[32];
	size_t n;

	if (os_read_text("/proc/sys/vm/max_map_count", text, sizeof(text)) <= 0)
		return DEFAULT_MAPPINGS;
	text[strspn(text, "0123456789")] = '\0';
	return os_parse_size(text, &n) ? n : DEFAULT_MAPPINGS;
}

unsigned int kfence_most_objects(void)
{
	/* an open page among closed ones: one mapping for it, and one for those behind */
	size_t most = most_mappings() / 4;
	size_t memory = os_physical_memory() >> PAGE_SHIFT;

	most = memory ? MIN(most, memory / 8) : most;
	most = page_map.limit ? MIN(most, page_map.limit / 8) : most;
	return (unsigned int)MIN(MAX(most, 1ul), (size_t)UINT16_MAX * KFENCE_PIECE_OBJECTS);
}

/* ---- pages ----------------------------------------------------------------------------------- */

bool kfence_open_locked(char *page)
{
	return os_commit(page, PAGE_SIZE) == 0;
}

/*
 * It fails only at the limit on mappings; then the page stays accessible, and no access to it is
 * noticed.
 */
void kfence_close_locked(char *page)
{
	count_event(&kfence_pool.closings[kfence_page_index(page)]);
	os_protect(page, PAGE_SIZE);
}

void kfence_mark_page_locked(const struct kfence_object *o, struct engine *e, bool inuse)
{
	struct page *page = page_at(page_index(kfence_object_page(o)));
	struct slab_counters counters = { .objects = 1, .formatted = 1, .inuse = inuse };

	if (!e) {
		store_relaxed(&page->type, PAGE_NONE);
		return;
	}
	engine_set_counters(page, counters);
	store_relaxed(&page->engine, e);
	page->layout = &kfence_layout;
	page_set_block(page, PAGE_SLAB, 1);
}

/* ---- canaries -------------------------------------------------------------------------------- */

static void fill(char *from, const char *to)
{
	for (char *p = from; p < to; p++)
		*p = (char)kfence_canary(p);
}

void kfence_fill_canary_locked(const struct kfence_object *o)
{
	char *page = kfence_object_page(o);

	fill(page, o->addr);
	fill(o->addr + o->size, page + PAGE_SIZE);
}

static const char *first_bad(const char *from, const char *to)
{
	const char *p = from;

	while (p < to && (unsigned char)*p == kfence_canary(p))
		p++;
	return p < to ? p : NULL;
}

const char *kfence_bad_canary_locked(const struct kfence_object *o, bool behind)
{
	const char *page = kfence_object_page(o);

	return behind ? first_bad(o->addr + o->size, page + PAGE_SIZE) : first_bad(page, o->addr);
}

/* ---- which stacks have an allocated object --------------------------------------------------- */

unsigned int kfence_cover_hash(const uintptr_t *pcs, unsigned int nr)
{
	uint64_t hash = 0;

	for (unsigned int i = 0; i < MIN(nr, KFENCE_COVER_FRAMES); i++)
		hash = mix_bits(hash + pcs[i]);
	return (unsigned int)hash;
}

/* Two counters of the filter, from the two halves of the hash. */
static unsigned int *cover(unsigned int hash, unsigned int which)
{
	unsigned int order = kfence_pool.cover_order;

	return &kfence_pool.covered[which ? hash >> (32 - order) : hash & ((1u << order) - 1)];
}

bool kfence_covered_locked(unsigned int hash)
{
	return *cover(hash, 0) && *cover(hash, 1);
}

void kfence_cover_locked(unsigned int hash, int by)
{
	*cover(hash, 0) += (unsigned int)by;
	*cover(hash, 1) += (unsigned int)by;
}

/* ---- check ----------------------------------------------------------------------------------- */

static bool is_free(const struct kfence_object *o)
{
	return o->state == KFENCE_UNUSED || o->state == KFENCE_FREED;
}

static void check_object(const struct kfence_object *o)
{
	const char *page = kfence_object_page(o);
	const struct page *slab = page_at(page_index(page));

	CHECK(page_map.class[page_index(page)] == USLAB_ID_NONE);
	if (o->state == KFENCE_UNUSED || !o->engine) {
		CHECK(slab->type == PAGE_NONE);
		return;
	}
	CHECK(slab->type == PAGE_SLAB && slab->layout == &kfence_layout);
	CHECK(slab->engine == o->engine && slab->nr_pages == 1);
	CHECK(o->addr >= page && o->addr + o->size <= page + PAGE_SIZE);
	CHECK(((uintptr_t)o->addr & (o->engine->align - 1)) == 0);
}

void kfence_check(void)
{
	struct kfence_pool *pool = &kfence_pool;
	unsigned int nr_free = 0;
	unsigned int nr_used = 0;
	struct list_head *pos;

	if (!load_acquire(&pool->piece)) /* pairs with kfence_pool_make */
		return;
	lock_acquire(&pool->lock);
	list_for_each(pos, &pool->free) {
		CHECK(is_free(list_entry(pos, struct kfence_object, list)));
		nr_free++;
	}
	for (unsigned int i = 0; i < pool->nr_objects; i++) {
		check_object(&pool->object[i]);
		nr_used += !is_free(&pool->object[i]);
	}
	CHECK(nr_free + nr_used == pool->nr_objects);
	for (unsigned int i = 0; i < pool->nr_objects; i++)
		CHECK(page_at(page_index(kfence_object_page(&pool->object[i])) + 1)->type ==
		      PAGE_NONE);
	lock_release(&pool->lock);
}
