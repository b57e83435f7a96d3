/* SPDX-License-Identifier: MIT */
/*
 * cache/kmalloc/kmalloc.c - caches by size: the kernel's size classes (spec 5.6, 5.7)
 *
 * Data:       caches of fixed numbers, USLAB_ID_KMALLOC + type * 16 + index; those of rows.c have
 *             others.
 * Invariants: they are created together by kmalloc_init() and never destroyed. Each index has a
 *             cache, its own or that of the engine's smallest size.
 * Locks:      none of its own.
 * Flow:       called by kfree_bulk.c, nolock.c, rows.c, cache.h, cache/grace/check.c,
 *             inspect/classes.c and api/; calls alloc.c, free.c, heap.c, rows.c, watch.c,
 *             debug/pages/pages.c for more than two pages.
 *
 * Types: normal and reclaimable, and for what is charged to groups a row of rows.c. The kernel's
 * DMA type exists only with such a zone, which user space has not.
 *
 * With USLAB_CONF=kmalloc.partition=random the normal type has rows (rows.c), and what is inlined
 * into programs, which knows no rows, finds handles that always miss.
 *
 * Over a heap without a front the caches only choose the heap and hold nothing: a block has the
 * size that was asked for. With a front a CPU holds objects, which have the cache's size.
 */
#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "cache/group/group.h"
#include "cache/kmalloc/kfree.h"
#include "cache/kmalloc/rows.h"
#include "cache/object.h"
#include "cache/pressure.h"
#include "cache/reclaim/ahead.h"
#include "cache/profile/profile.h"
#include "debug/kfence/kfence.h"
#include "debug/pages/pages.h"
#include "front/array.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "page/clear.h"
#include "page/windows.h"

#define KMALLOC_INDEX_LOW 3   /* 8 bytes */
#define KMALLOC_INDEX_HIGH 13 /* 8192 bytes */
#define KMALLOC_TYPES 2
#define KMALLOC_RECLAIM 1
/* The numbers behind theirs have no caches, and words that always miss. */
#define KMALLOC_MISSING (USLAB_ID_KMALLOC + KMALLOC_TYPES * KMALLOC_INDEXES)

struct kmem_cache *uslab_kmalloc_handles;

/* Larger sizes need another look, see alloc_otherwise(); 0 while threads are in groups; atomic. */
static size_t direct_max = KMALLOC_MAX_CACHE_SIZE;

/* Index of the cache that serves the kernel's index; const after kmalloc_init(). */
static unsigned char cache_index[KMALLOC_TYPES][KMALLOC_INDEXES];

/*
 * The same by size, up to SMALL_MAX: numbers of caches; [i] is for SMALL_STEP * i + 1 bytes and up.
 * The kernel has such a table up to 192 bytes.
 */
#define SMALL_STEP 8
#define SMALL_MAX 1024
static unsigned char small_id[KMALLOC_TYPES][SMALL_MAX / SMALL_STEP];

BUILD_ASSERT(KMALLOC_MISSING + KMALLOC_INDEXES <= USLAB_ID_FIRST_FREE);

static unsigned int id_of(unsigned int type, size_t size)
{
	return USLAB_ID_KMALLOC + type * KMALLOC_INDEXES +
	       cache_index[type][uslab_kmalloc_index(size)];
}

static void fill_small_ids(void)
{
	for (unsigned int type = 0; type < KMALLOC_TYPES; type++)
		for (size_t i = 0; i < ARRAY_SIZE(small_id[type]); i++)
			small_id[type][i] = (unsigned char)id_of(type, SMALL_STEP * i + 1);
}

unsigned int kmalloc_index_size(unsigned int i)
{
	return i == 1 ? 96 : i == 2 ? 192 : 1u << i;
}

void kmalloc_name(char *name, size_t room, const char *prefix, unsigned int size)
{
	if (size >= 1024)
		os_format(name, room, "%s-%uk", prefix, size / 1024);
	else
		os_format(name, room, "%s-%u", prefix, size);
}

/*
 * An engine may have a smallest size: smaller ones have no cache, their words miss, and their index
 * leads to the cache of that size (spec 5.6).
 */
static void map_to_minimum(unsigned int type, unsigned int index, unsigned int min)
{
	cache_index[type][index] = (unsigned char)uslab_kmalloc_index(min);
	front_stop_words(USLAB_ID_KMALLOC + type * KMALLOC_INDEXES + index);
}

int kmalloc_spec(struct cache_spec *spec, const char *name, unsigned int size, slab_flags_t flags)
{
	int ret;

	*spec = (struct cache_spec){
		.name = name,
		.size = size,
		.align = is_pow2(size) ? size : 0, /* the kernel's promise, in debug slabs too */
		.flags = SLAB_KMALLOC | flags,
		.no_merge = true,
	};
	ret = cache_resolve(spec);
	if (!ret)
		spec->flags |= spec->engine->kmalloc_flags;
	return ret;
}

static int create_one(unsigned int type, unsigned int index)
{
	unsigned int size = kmalloc_index_size(index);
	char name[CACHE_NAME_MAX];
	struct kmem_cache *handle;
	struct cache_spec spec;
	int ret;

	kmalloc_name(name, sizeof(name), type == KMALLOC_RECLAIM ? "kmalloc-rcl" : "kmalloc", size);
	ret = kmalloc_spec(&spec, name, size, type == KMALLOC_RECLAIM ? SLAB_RECLAIM_ACCOUNT : 0);
	if (ret)
		return ret;
	spec.id = USLAB_ID_KMALLOC + type * KMALLOC_INDEXES + index;
	if (size < spec.engine->kmalloc_min) {
		map_to_minimum(type, index, spec.engine->kmalloc_min);
		return 0;
	}
	cache_index[type][index] = (unsigned char)index;
	return cache_create(&spec, &handle);
}

static void set_direct_max(void)
{
	bool direct = cache_defaults.partition != PARTITION_RANDOM &&
		      !load_relaxed(&groups_entered);

	store_relaxed(&direct_max, direct ? KMALLOC_MAX_CACHE_SIZE : 0);
}

static void start_rows(void)
{
	kmalloc_row row0 = { NULL };
	unsigned int first = USLAB_ID_KMALLOC;

	for (unsigned int i = 1; i <= KMALLOC_INDEX_HIGH; i++)
		row0[i] = percpu_handle(id_of(0, kmalloc_index_size(i)));
	rows_start(row0);
	if (cache_defaults.partition == PARTITION_RANDOM) {
		first = KMALLOC_MISSING;
		for (unsigned int i = 0; i < KMALLOC_INDEXES; i++)
			front_stop_words(first + i);
	}
	store_release(&uslab_kmalloc_handles, percpu_handle(first));
	group_listener = set_direct_max;
	set_direct_max();
}

/* Creation order of the kernel: 8, 16, 32, 64, 96, 128, 192, 256, ... */
int kmalloc_init(void)
{
	static const unsigned char order[] = { 3, 4, 5, 6, 1, 7, 2, 8, 9, 10, 11, 12, 13 };
	int ret;

	for (unsigned int type = 0; type < KMALLOC_TYPES; type++)
		for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
			ret = create_one(type, order[i]);
			if (ret)
				return ret;
		}
	fill_small_ids();
	start_rows();
	return 0;
}

bool kmalloc_refuse(void)
{
	char *window0 = windows_alone(KMALLOC_INDEXES, front_stop_word);

	if (!window0)
		return false;
	rows_refuse(window0);
	store_release(&uslab_kmalloc_handles, (struct kmem_cache *)window0);
	return true;
}

/* Of the cache for 1..KMALLOC_MAX_CACHE_SIZE bytes. */
static inline struct kmem_cache *kmalloc_handle(size_t size, gfp_t gfp)
{
	unsigned int type = gfp & __GFP_RECLAIMABLE ? KMALLOC_RECLAIM : 0;

	return percpu_handle(likely(size <= SMALL_MAX) ? small_id[type][(size - 1) / SMALL_STEP]
						       : id_of(type, size));
}

struct cache *kmalloc_cache(size_t size)
{
	return cache_of(kmalloc_handle(size, 0));
}

/*
 * A block is charged to the thread's group if that is asked for; NULL: it may not be. bytes: of
 * whole pages, those that it has to have; 0: a heap's.
 */
static void *charge(void *p, size_t bytes, gfp_t gfp, const void *caller)
{
	unsigned int how;
	enum group_added added;

	if (likely(!(gfp & __GFP_ACCOUNT) || !group_current || !p))
		return p;
	how = group_charge_of(gfp);
	added = bytes ? group_add_pages(group_current, p, bytes, how)
		      : group_add(group_current, NULL, p, how);
	if (added == GROUP_ADDED)
		return p;
	kmalloc_free(p, caller);
	return NULL;
}

/* size bytes in whole pages of bytes, aligned to align. */
static void *alloc_pages(size_t size, size_t bytes, size_t align, gfp_t gfp, int node,
			 const void *caller)
{
	struct pressure t = { .wanted = gfp, .size = size };
	bool zeroed;
	void *p;

	if (reclaim_nested_call(gfp))
		return NULL;
	cache_poll_now();
	if (node >= (int)os_topology.nr_nodes)
		node = NUMA_NO_NODE; /* spec 5.10: as for any cache */
	instrument_enter();
	array_limit_reap_for_run(bytes);
	p = pages_alloc(size, bytes, align, node, &zeroed, caller);
	while (unlikely(!p) && pressure_again(&t))
		p = pages_alloc(size, bytes, align, node, &zeroed, caller);
	instrument_leave();
	p = charge(p, bytes, gfp, caller);
	instrument_enter();
	if (p)
		bytes = pages_size(p);
	if (p && gfp & __GFP_ZERO && !zeroed)
		page_clear(p, bytes);
	instrument_leave();
	instrument_block_alloc(p, (struct instrument_block){ size, bytes, gfp, node, caller });
	return p;
}

/* Whole blocks of 2^order pages, aligned to their size, as the kernel's kmalloc_large(). */
static void *alloc_large(size_t size, gfp_t gfp, int node, const void *caller)
{
	size_t bytes;

	if (size > KMALLOC_MAX_SIZE)
		return NULL;
	bytes = PAGE_SIZE << get_order(size);
	return alloc_pages(size, bytes, bytes, gfp, node, caller);
}

/* Does the cache give no objects for that size now, but blocks of its heap, or whole pages? */
static bool is_block(const struct cache *c, size_t size)
{
	unsigned int watch = load_acquire(&c->watch); /* pairs with cache_watch_locked() */

	/* blocks can be counted, and charged, as well */
	watch &= ~(unsigned int)(WATCH_TAGS | WATCH_GROUPS);
	return !watch || (size > cache_heap_of(c)->max_size && !(watch & WATCH_DEBUG));
}

/*
 * Over a heap: a block of exactly this size, else whole pages (spec 1.6); an object if the cache
 * has watch bits.
 */
static noinline void *alloc_on_heap(struct cache *c, size_t size, gfp_t gfp, int node,
				    const void *caller)
{
	const struct engine_heap *heap = cache_heap_of(c);

	if (reclaim_nested_call(gfp))
		return NULL;
	cache_poll_now();
	if (!is_block(c, size))
		return cache_alloc_for(c, gfp, node, size, caller);
	if (size > heap->max_size)
		return alloc_large(size, gfp, node, caller);
	return charge(cache_heap_alloc(heap, size, ARCH_KMALLOC_MINALIGN, gfp, node), 0, gfp,
		      caller);
}

static void *alloc_without_cache(size_t size, gfp_t gfp, int node, const void *caller)
{
	return size ? alloc_large(size, gfp, node, caller) : ZERO_SIZE_PTR;
}

/*
 * If the size was no compile-time constant, the CPU's array was not tried inline, so it is tried
 * here. If it was one, this is a miss, and the second try costs little in what follows.
 */
static always_inline void *alloc_from(struct kmem_cache *handle, size_t size, gfp_t gfp, int node,
				      const void *caller)
{
	struct cache *c = cache_of(handle);
	void *obj;

	if (likely(load_relaxed(&c->front.capacity) && node < 0 && !instrument_pending()) &&
	    array_pop_handle(handle, &obj))
		return cache_zero(c, cache_unmark(c, obj), gfp);
	if (unlikely(cache_heap_of(c)))
		return alloc_on_heap(c, size, gfp, node, caller);
	return cache_take(c, gfp, node, size, caller);
}

/* size: a cache's. */
static noinline void *alloc_in_row(struct kmem_cache **row, size_t size, gfp_t gfp, int node,
				   const void *caller)
{
	struct kmem_cache *handle = rows_handle(row, size);

	return likely(handle) ? alloc_from(handle, size, gfp, node, caller) : NULL;
}

/* From caches of their own, kmalloc-cg-8 and so on: frees of all others may be hits (spec 5.6). */
static noinline void *alloc_charged(size_t size, gfp_t gfp, int node, const void *caller)
{
	struct kmem_cache *handle = rows_handle(rows_charged(), size);
	struct cache *c = handle ? cache_of(handle) : NULL;

	if (!c)
		return NULL;
	if (unlikely(cache_heap_of(c)))
		return alloc_on_heap(c, size, gfp, node, caller);
	if (!nested_call())
		group_watch(c); /* it may be row 0's, see rows.c */
	return cache_take(c, gfp, node, size, caller);
}

/* The size is that of no cache, there are rows, or threads in groups. */
static noinline void *alloc_otherwise(size_t size, gfp_t gfp, int node, const void *caller)
{
	if (size - 1 >= KMALLOC_MAX_CACHE_SIZE)
		return alloc_without_cache(size, gfp, node, caller);
	if (gfp & __GFP_ACCOUNT && group_current)
		return alloc_charged(size, gfp, node, caller);
	if (gfp & __GFP_RECLAIMABLE)
		return alloc_from(kmalloc_handle(size, gfp), size, gfp, node, caller);
	return alloc_in_row(rows_of_place(caller), size, gfp, node, caller);
}

void *kmalloc_alloc_for(size_t size, gfp_t gfp, int node, const void *caller)
{
	if (unlikely(size - 1 >= load_relaxed(&direct_max)))
		return alloc_otherwise(size, gfp, node, caller);
	return alloc_from(kmalloc_handle(size, gfp), size, gfp, node, caller);
}

void *kmalloc_alloc_at(struct uslab_kmalloc_site *site, size_t size, gfp_t gfp, int node,
		       const void *caller)
{
	if (!site || size - 1 >= KMALLOC_MAX_CACHE_SIZE)
		return kmalloc_alloc_for(size, gfp, node, caller);
	if (unlikely(gfp & (__GFP_RECLAIMABLE | __GFP_ACCOUNT)) &&
	    (gfp & __GFP_RECLAIMABLE || group_current))
		return kmalloc_alloc_for(size, gfp, node, caller);
	return alloc_in_row(rows_of_site(site), size, gfp, node, caller);
}

void *kmalloc_alloc_pages(size_t size, size_t align, gfp_t gfp, int node, const void *caller)
{
	return alloc_pages(size, ALIGN_UP(size, PAGE_SIZE), MAX(align, PAGE_SIZE), gfp, node,
			   caller);
}

/* Of a heap: spec 1.6, in the heap's own steps. More than max_size are whole pages. */
static size_t heap_roundup(const struct engine_heap *heap, size_t size)
{
	return size > heap->max_size ? size
				     : heap->usable(ALIGN_UP(size, (size_t)ARCH_KMALLOC_MINALIGN));
}

/*
 * The size that a caller may ask for at no further cost: ksize() of what it gets then. Whole pages
 * of a heap are rounded up as all whole pages here, where SLOB in the kernel returns less than
 * ksize() does. Debug slabs hold objects over a heap too.
 */
size_t kmalloc_roundup(size_t size)
{
	const struct engine_heap *heap;
	const struct cache *c;

	if (!size || size > KMALLOC_MAX_SIZE)
		return size;
	c = cache_of(kmalloc_handle(MIN(size, KMALLOC_MAX_CACHE_SIZE), 0));
	heap = load_acquire(&c->watch) & WATCH_DEBUG ? NULL : cache_heap_of(c);
	if (heap)
		size = heap_roundup(heap, size);
	if (size > (heap ? heap->max_size : KMALLOC_MAX_CACHE_SIZE))
		return PAGE_SIZE << get_order(size);
	return heap ? size : c->engine.object_size;
}

static cold void bad_pointer(const struct cache_call *call, const void *p)
{
	instrument_enter(); /* metadata may know it */
	cache_report_pointer(call, NULL, p);
	instrument_leave();
}

static void free_run(const struct cache_call *call, void *p, const void *caller)
{
	bool known;

	if (instrument_is_on() && pages_size(p))
		instrument_block_free(p, pages_size(p), caller);
	profile_drop(NULL, p);
	group_drop(NULL, p);
	instrument_enter();
	known = pages_free(p, caller);
	instrument_leave();
	if (!known)
		bad_pointer(call, p);
	control_poll();
}

static void give(void *owner, void *p, const void *caller)
{
	(void)owner;
	kmalloc_free(p, caller);
}

/* p lies in no slab. */
static noinline void free_other(const struct cache_call *call, const void *p, const void *caller)
{
	struct page *page = page_head_of(p);

	if (ZERO_OR_NULL_PTR(p))
		return;
	if (nested_call())
		nested_defer(give, NULL, (void *)p, caller);
	else if (page && page->type == PAGE_HEAP)
		cache_heap_free(call, page->heap, (void *)p, caller);
	else
		free_run(call, (void *)p, caller);
}

/* Of a cache without a page class: is p an object in a plain slab of it, and this a hit? */
static always_inline bool free_own(const struct page *slab, struct cache *c, void *p)
{
	return !cache_is_by_address(c) && likely(slab->layout->kind == LAYOUT_PLAIN) &&
	       likely(engine_starts_object(slab, p)) && kfree_own_hit(c, p);
}

/* All that the hit path cannot do: another front, a full array, large blocks, mistakes. */
static noinline void free_slow(const void *p, const void *caller)
{
	static const struct cache_call call = { "kfree", FIX_NOT_FREED };
	struct page *slab = page_slab_of(p);
	struct cache *c;

	if (unlikely(!slab)) {
		free_other(&call, p, caller);
		return;
	}
	c = container_of(slab->engine, struct cache, engine);
	if (!free_own(slab, c, (void *)p))
		cache_give(c, (void *)p, caller);
}

/*
 * An interior pointer, for which kfree() has another report. Debug slabs and guarded pages have
 * reports of their own.
 */
static bool is_interior(const struct page *slab, const void *p)
{
	return slab && slab->layout->kind == LAYOUT_PLAIN && !engine_starts_object(slab, p);
}

/* free_slow() for other functions of the API. */
static noinline void free_slow_as(const struct cache_call *call, const void *p, const void *caller)
{
	struct page *slab = page_slab_of(p);

	if (likely(slab) && (nested_call() || likely(!is_interior(slab, p))))
		free_slow(p, caller);
	else if (slab)
		bad_pointer(call, p);
	else
		free_other(call, p, caller);
}

void kmalloc_free(const void *p, const void *caller)
{
	if (!kfree_hit(p))
		free_slow(p, caller);
}

void kmalloc_free_as(const struct cache_call *call, const void *p, const void *caller)
{
	if (!kfree_hit(p))
		free_slow_as(call, p, caller);
}

static size_t usable_size(const void *p)
{
	struct page *page = page_head_of(p);

	if (unlikely(!cache_is_in_use(p)))
		return 0;
	if (page && page->type == PAGE_SLAB)
		return kfence_is_object(page) || engine_starts_object(page, p)
			       ? cache_usable_size(page, p)
			       : 0;
	if (page && page->type == PAGE_HEAP)
		return page->heap->size(p);
	return pages_size(p);
}

size_t kmalloc_size_for(const struct cache_call *call, const void *p)
{
	size_t size;

	instrument_enter(); /* metadata may know it */
	size = usable_size(p);
	instrument_leave();
	/* nested: a mapped block, and the table is locked: krealloc() will fail */
	if (!size && nested_call())
		return 0;
	if (!size)
		bad_pointer(call, p);
	instrument_block_size(p, size);
	return size;
}

bool kmalloc_resize(const void *p, size_t size)
{
	struct page *page = page_head_of(p);
	bool remembered;

	if (nested_call()) /* debug slabs keep the size that they have stored, which is larger */
		return false;
	instrument_enter();
	remembered = debug_is_slab(page) ? debug_resize(page, (void *)p, size)
					 : pages_shrink(p, size);
	instrument_leave();
	return remembered;
}
