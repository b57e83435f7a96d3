/* SPDX-License-Identifier: MIT */
/*
 * malloc/slow.c - everything that malloc and free do beyond a hit
 *
 * Data:       none.
 * Invariants: a pointer given back is the start of a live block, or the program ends with one line
 *             that says what it is instead.
 * Locks:      none of its own.
 * Flow:       called by malloc.c, resize.c, align.c, cxx.c; calls cache/, page/run.c, early.c.
 */
#include <errno.h>
#include <string.h>

#include "front/percpu.h"
#include "malloc/hot.h"
#include "os/die.h"
#include "page/page.h"
#include "page/run.h"

static struct cache *cache_of_class(unsigned int class)
{
	return cache_of(percpu_handle(class));
}

/* Number of the cache that owns the page of p; 0: none. */
static unsigned int class_at(const void *p)
{
	return page_in_arena(p) ? page_map.class[page_index(p)] : 0;
}

/* The heap that the page of p belongs to; NULL: none. */
static const struct engine_heap *heap_at(const void *p)
{
	const struct page *page = page_head_of(p);

	return page && page->type == PAGE_HEAP ? page->heap : NULL;
}

void *malloc_class_alloc(unsigned int class)
{
	void *p;

	if (malloc_hot.page_limit && arch_malloc_pop(malloc_hot.base, class, malloc_hot.rseq, &p))
		return p;
	return cache_alloc(cache_of_class(class), MALLOC_GFP, NUMA_NO_NODE);
}

/* Over a heap without a front a block of this size, or what is too large for it; else an object. */
static void *alloc_small(size_t size)
{
	unsigned int class = malloc_class_of(size);
	const struct engine_heap *heap = cache_of_class(class)->heap;

	if (unlikely(heap && size <= heap->max_size))
		return cache_heap_alloc(heap, MAX(size, 1ul), MALLOC_ALIGN, MALLOC_GFP,
					NUMA_NO_NODE);
	return malloc_class_alloc(class);
}

void *malloc_any(size_t size, bool *zeroed)
{
	*zeroed = false;
	if (unlikely(size > PTRDIFF_MAX))
		return NULL;
	if (unlikely(!malloc_usable())) {
		*zeroed = true;
		return early_alloc(size, MALLOC_ALIGN);
	}
	if (size <= MALLOC_MAX_SMALL)
		return alloc_small(size);
	return run_alloc(size, 0, NUMA_NO_NODE, zeroed);
}

void *malloc_slow(size_t size)
{
	bool zeroed;
	void *p = malloc_any(size, &zeroed);

	if (unlikely(!p))
		errno = ENOMEM;
	return p;
}

size_t malloc_block_size(const void *p)
{
	size_t early = early_size(p);
	const struct engine_heap *heap;
	unsigned int class;

	if (unlikely(early || !malloc_ready()))
		return early;
	class = class_at(p);
	if (class)
		return cache_of_class(class)->engine.object_size;
	heap = heap_at(p);
	return heap ? heap->size(p) : run_size(p);
}

cold void malloc_bad_pointer(const char *what, const void *p)
{
	const struct page *page = page_head_of(p);
	unsigned long address = (unsigned long)p;

	if (page && page->type == PAGE_SLAB)
		os_die_fmt("%s(): 0x%lx lies inside of an object of %s, not at its start", what,
			   address, page->engine->name);
	if (page)
		os_die_fmt("%s(): 0x%lx lies inside of a block of %lu bytes, not at its start",
			   what, address, page->nr_pages * PAGE_SIZE);
	if (page_in_arena(p))
		os_die_fmt("%s(): 0x%lx lies in free memory: freed twice?", what, address);
	os_die_fmt("%s(): 0x%lx was not allocated by uslab", what, address);
}

/*
 * Is p what this CPU's array holds at its top, i.e. freed a moment ago? Read without a sequence: an
 * entry at or below the top is a free object, and p, which the caller owns, can be none of these.
 */
static bool freed_last(unsigned int class, const void *p)
{
	int cpu = percpu_cpu();
	void **top;

	if (cpu < 0)
		return false;
	top = (void **)load_relaxed(percpu_word(class, cpu));
	return top && load_relaxed(top) == p;
}

/* Where object 0 of a slab lies, bytes. */
static unsigned int first_object(const struct page *slab)
{
	uint64_t word = load_relaxed(&slab->counters);
	struct slab_counters counters;

	memcpy(&counters, &word, sizeof(counters));
	return slab->layout->red_left_pad +
	       (unsigned int)counters.colour * slab->layout->colour_off;
}

static void free_object(unsigned int class, void *p)
{
	const struct page *page = page_head_of(p);
	unsigned int offset;

	if (unlikely(!page || page->type != PAGE_SLAB))
		malloc_bad_pointer("free", p);
	offset = (unsigned int)((char *)p - (char *)page_address(page));
	if (unlikely((offset - first_object(page)) % page->layout->stride))
		malloc_bad_pointer("free", p);
	if (unlikely(freed_last(class, p)))
		os_die_fmt("free(): 0x%lx is free already: freed twice", (unsigned long)p);
	cache_free(cache_of_class(class), p);
}

/* What no class byte knows: blocks of heaps, whole pages, mistakes. */
static void free_other(void *p)
{
	const struct engine_heap *heap = heap_at(p);

	if (heap)
		cache_heap_free(heap, p);
	else if (!malloc_ready() || !run_free(p))
		malloc_bad_pointer("free", p);
}

void free_slow(void *p)
{
	unsigned int class;

	if (!p || early_size(p)) /* early blocks first: nothing else may work yet */
		return;
	class = class_at(p);
	if (class)
		free_object(class, p);
	else
		free_other(p);
}
