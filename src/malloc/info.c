/* SPDX-License-Identifier: MIT */
/*
 * malloc/info.c - mallinfo, mallinfo2, malloc_info, malloc_stats, malloc_trim, mallopt
 *
 * Data:       none: sums over the caches, made when asked.
 * Invariants: sums are exact while no other thread allocates.
 * Locks:      those of the counters that are read.
 * Flow:       called by the program; calls cache/, page/.
 *
 * How glibc's terms are used: "top" is free memory that malloc_trim() would give back. There are no
 * fastbins: mallinfo counts what CPUs hold in their arrays as ordinary free blocks, and no
 * fastbins, as with M_MXFAST 0. malloc_info's "fast" total is what CPUs hold.
 */
#include <errno.h>
#include <stdio.h>

#include "cache/group/own.h"
#include "debug/pages/pages.h"
#include "malloc/internal.h"
#include "malloc/libc.h"
#include "os/cpu/cpu.h"
#include "os/process/die.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/meta.h"

struct class_info {
	size_t size;	    /* bytes of an object */
	unsigned long used; /* live objects */
	unsigned long held; /* objects in the CPUs' arrays */
	unsigned long free; /* objects in slabs */
	unsigned long slabs;
	size_t bytes; /* of the slabs */
};

struct heap_info {
	struct class_info sum;	  /* size is 0; used, held and free are bytes here */
	struct class_info blocks; /* likewise; part of it */
	unsigned long free_objects;
	unsigned long held_objects;
	struct run_stats runs; /* large ones included */
	unsigned long large_count;
	size_t large_bytes;
	size_t arena_bytes;
	size_t free_bytes;  /* free pages of the arena that are resident */
	size_t total_bytes; /* arena and large blocks */
};

static void add_cache(struct cache *c, struct class_info *info)
{
	struct engine_stats stats;
	unsigned long free, held, idle;

	if (!c) /* nobody has used the class */
		return;
	c->engine.ops->stats(&c->engine, &stats);
	held = c->front.ops->held(&c->front);
	free = MIN(stats.free_objects, stats.total_objects);
	/* read one after the other, the numbers may disagree while other threads allocate */
	idle = MIN(free + held, stats.total_objects);
	info->held += held;
	info->free += free;
	info->slabs += stats.nr_slabs;
	info->bytes += stats.slab_bytes;
	info->used += stats.total_objects - idle;
}

static void add_own(struct cache *c, void *info)
{
	add_cache(c, info);
}

/* With what threads in groups allocated (group.c). */
static struct class_info class_info(unsigned int class)
{
	struct class_info info = { .size = malloc_class_size(class) };
	struct cache *charged = malloc_group_class(class);

	add_cache(cache_of(percpu_handle(class)), &info);
	if (charged)
		add_cache(charged, &info);
	group_own_each(class, add_own, &info);
	return info;
}

/* Returns how many blocks lie there. */
static unsigned long add_pages(const struct engine_heap *heap, struct class_info *blocks)
{
	unsigned long count = 0;

	for (unsigned int i = 0; i <= heap->more_counters; i++) {
		const struct engine_heap_counters *counters = &heap->counters[i];

		count += load_relaxed(&counters->blocks);
		blocks->slabs += load_relaxed(&counters->pages);
		blocks->used += load_relaxed(&counters->bytes);
	}
	return count;
}

/*
 * Pages of the engines' heaps, as a class without size: used, held and free are bytes. Objects
 * there are counted for their caches, all other bytes in use as blocks; where there are both,
 * headers of objects count as blocks.
 */
static struct class_info blocks_info(void)
{
	struct class_info blocks = { .size = 0 };
	unsigned long objects = 0; /* bytes */
	unsigned long count = 0;

	for (unsigned int i = 0; i < CACHE_NR_ENGINES; i++)
		if (cache_engines[i]->heap)
			count += add_pages(cache_engines[i]->heap, &blocks);
	for (unsigned int class = 1; blocks.slabs && class <= MALLOC_CLASSES; class += 1) {
		const struct cache *c = cache_of(percpu_handle(class));

		if (c)
			objects += load_relaxed(&c->engine.heap_objects) * c->engine.size;
	}
	blocks.bytes = blocks.slabs * PAGE_SIZE;
	blocks.free = blocks.bytes - MIN(blocks.used, blocks.bytes);
	blocks.used = count ? blocks.used - MIN(objects, blocks.used) : 0;
	return blocks;
}

static void add_blocks(struct heap_info *heap)
{
	heap->blocks = blocks_info();
	heap->sum.used += heap->blocks.used;
	heap->sum.free += heap->blocks.free;
	heap->sum.slabs += heap->blocks.slabs;
	heap->sum.bytes += heap->blocks.bytes;
}

static struct heap_info heap_info(void)
{
	struct heap_info heap = { .arena_bytes = 0 };

	if (!malloc_usable())
		return heap;
	for (unsigned int class = 1; class <= MALLOC_CLASSES; class += 1) {
		struct class_info info = class_info(class);

		heap.sum.used += info.used * info.size;
		heap.sum.held += info.held * info.size;
		heap.sum.free += info.free * info.size;
		heap.sum.slabs += info.slabs;
		heap.sum.bytes += info.bytes;
		heap.free_objects += info.free;
		heap.held_objects += info.held;
	}
	add_blocks(&heap);
	pages_stats(&heap.runs);
	heap.large_count = large_count();
	heap.large_bytes = large_bytes();
	heap.arena_bytes = arena_size();
	heap.total_bytes = heap.arena_bytes + heap.large_bytes;
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		struct buddy_stats stats;

		buddy_stats(node, &stats);
		heap.free_bytes += stats.nr_dirty * PAGE_SIZE;
	}
	return heap;
}

USLAB_API struct mallinfo2 mallinfo2(void)
{
	struct heap_info heap = heap_info();
	size_t used = heap.sum.used + heap.runs.bytes - heap.large_bytes;

	return (struct mallinfo2){
		.arena = heap.arena_bytes,
		.ordblks = heap.free_objects + heap.held_objects,
		.hblks = heap.large_count,
		.hblkhd = heap.large_bytes,
		.uordblks = used,
		.fordblks = heap.arena_bytes - MIN(used, heap.arena_bytes),
		.keepcost = heap.free_bytes,
	};
}

/* The old form has int fields; glibc lets them wrap around, and so does this. */
USLAB_API struct mallinfo mallinfo(void)
{
	struct mallinfo2 info = mallinfo2();

	return (struct mallinfo){
		.arena = (int)info.arena,
		.ordblks = (int)info.ordblks,
		.hblks = (int)info.hblks,
		.hblkhd = (int)info.hblkhd,
		.uordblks = (int)info.uordblks,
		.fordblks = (int)info.fordblks,
		.keepcost = (int)info.keepcost,
	};
}

/* glibc's XML with one heap: free memory by size, then the sums. */
USLAB_API int malloc_info(int options, FILE *stream)
{
	struct heap_info heap;

	if (options)
		return EINVAL;
	heap = heap_info();
	fprintf(stream, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n");
	for (unsigned int class = 1; malloc_ready() && class <= MALLOC_CLASSES; class += 1) {
		struct class_info info = class_info(class);
		unsigned long count = info.free + info.held;

		if (count)
			fprintf(stream,
				"  <size from=\"%zu\" to=\"%zu\" total=\"%zu\" count=\"%lu\"/>\n",
				class > 1 ? malloc_class_size(class - 1) + 1 : 1, info.size,
				count * info.size, count);
	}
	fprintf(stream, "</sizes>\n</heap>\n");
	fprintf(stream, "<total type=\"fast\" count=\"%lu\" size=\"%zu\"/>\n", heap.held_objects,
		(size_t)heap.sum.held);
	fprintf(stream, "<total type=\"rest\" count=\"%lu\" size=\"%zu\"/>\n", heap.free_objects,
		(size_t)heap.sum.free);
	fprintf(stream, "<total type=\"mmap\" count=\"%lu\" size=\"%zu\"/>\n", heap.large_count,
		heap.large_bytes);
	fprintf(stream, "<system type=\"current\" size=\"%zu\"/>\n", heap.total_bytes);
	fprintf(stream, "<aspace type=\"total\" size=\"%zu\"/>\n</malloc>\n", heap.total_bytes);
	return ferror(stream) ? EIO : 0;
}

#define STATS_COLUMNS 6
#define STATS_WIDTH 12 /* characters of a column */

/* One line of numbers, right-aligned, on stderr; text (may be NULL) stands for the first one. */
static void stats_line(const char *text, const unsigned long *values)
{
	char line[STATS_COLUMNS * STATS_WIDTH + 2];
	char number[32];
	size_t at = 0;

	for (unsigned int i = 0; i < STATS_COLUMNS; i++) {
		size_t length = i == 0 && text
					? os_format(number, sizeof(number), "%s", text)
					: os_format(number, sizeof(number), "%lu", values[i]);

		for (size_t pad = length; pad < STATS_WIDTH; pad++)
			line[at++] = ' ';
		length = MIN(length, (size_t)STATS_WIDTH);
		__builtin_memcpy(line + at, number, length);
		at += length;
	}
	line[at++] = '\n';
	os_write(2, line, at);
}

/* A table on stderr, without stdio: works also in a damaged program. */
USLAB_API void malloc_stats(void)
{
	static const char head[] =
		"        size        used        held        free       slabs       bytes\n";
	struct heap_info heap = heap_info();

	os_write(2, head, sizeof(head) - 1);
	for (unsigned int class = 1; malloc_ready() && class <= MALLOC_CLASSES; class += 1) {
		struct class_info info = class_info(class);

		if (info.slabs || info.used)
			stats_line(NULL, (unsigned long[]){ info.size, info.used, info.held,
							    info.free, info.slabs, info.bytes });
	}
	if (heap.blocks.slabs)
		stats_line("heap", (unsigned long[]){ 0, heap.blocks.used, 0, heap.blocks.free,
						      heap.blocks.slabs, heap.blocks.bytes });
	stats_line("bytes", (unsigned long[]){ 0, heap.sum.used, heap.sum.held, heap.sum.free,
					       heap.sum.slabs, heap.sum.bytes });
	os_say("malloc: %lu larger blocks of %lu bytes, %zu bytes of free pages, arena %zu bytes, "
	       "metadata %zu bytes",
	       heap.runs.count, heap.runs.bytes, heap.free_bytes, heap.arena_bytes, meta_bytes());
}

/* Gives free memory back to the system but for pad bytes. 1: some was given back. */
USLAB_API int malloc_trim(size_t pad)
{
	if (!malloc_usable())
		return 0;
	cache_shrink_all();
	return buddy_trim(pad) > 0;
}

/* glibc's parameters have no effect here; 1 is "done", which callers check for. */
USLAB_API int mallopt(int parameter, int value)
{
	(void)parameter;
	(void)value;
	return 1;
}
