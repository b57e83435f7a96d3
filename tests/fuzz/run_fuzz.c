/* SPDX-License-Identifier: MIT */
/*
 * fuzz/run_fuzz.c - random sizes, alignments and resizes of runs and mapped blocks
 *
 * The model is a table of what is alive: address, size, a mark in the first and the last word of
 * every block. Purging runs with its real limits. After each step the checks of page/ run and the
 * sums of the table must be those that the floor below counts.
 */
#include <string.h>

#include "base/bits.h"
#include "os/cpu/cpu.h"
#include "os/memory/vm.h"
#include "page/arena.h"
#include "page/buddy.h"
#include "page/large.h"
#include "page/pcp_runs.h"
#include "page/run.h"
#include "seeds.h"

#define BLOCKS 40
#define MIB (1ul << 20)

struct block {
	char *p;
	size_t size; /* whole pages */
	unsigned long mark;
};

static struct block blocks[BLOCKS];

/* From one byte to 6 MiB, small ones more often; every third time one that CPUs keep. */
static size_t any_size(void)
{
	static const size_t common[] = { 9000, 40000, 65536, MIB };

	if (below(3) == 0)
		return common[below(4)];
	return 1 + below(1ul << (8 + below(15))) * (1 + below(2)) % (6 * MIB);
}

static unsigned long *last_word(const struct block *b)
{
	return (unsigned long *)(void *)(b->p + b->size) - 1;
}

static void put_marks(struct block *b)
{
	b->mark = (unsigned long)state | 1;
	*(unsigned long *)(void *)b->p = b->mark;
	*last_word(b) = b->mark;
}

/* A page run has one of some lengths (page/run.h), a mapping is as long as it has to be. */
static size_t pages_of(const char *p, size_t size)
{
	size_t pages = ALIGN_UP(MAX(size, 1ul), PAGE_SIZE) >> PAGE_SHIFT;

	return page_in_arena(p) ? run_length(pages) : pages;
}

static void do_alloc(struct block *b)
{
	size_t size = any_size();
	size_t align = below(3) ? 0 : 1ul << below(24);
	bool zeroed = false;

	b->p = run_alloc(size, align, below(2) ? -1 : 0, &zeroed);
	EXPECT(b->p && (!align || ((uintptr_t)b->p & (align - 1)) == 0));
	b->size = pages_of(b->p, size) << PAGE_SHIFT;
	EXPECT(run_size(b->p) == b->size);
	if (zeroed)
		EXPECT(b->p[0] == 0 && memcmp(b->p, b->p + 1, b->size - 1) == 0);
	put_marks(b);
}

static void do_free(struct block *b)
{
	EXPECT(*(unsigned long *)(void *)b->p == b->mark && *last_word(b) == b->mark);
	EXPECT(run_free(b->p));
	EXPECT(!run_free(b->p) && run_size(b->p) == 0);
	b->p = NULL;
}

/* One that moved to grow has slack, and one that hardly shrinks keeps its length. */
static size_t size_after(const struct block *b, const char *moved, size_t size)
{
	size_t fewest = ALIGN_UP(MAX(size, 1ul), PAGE_SIZE) >> PAGE_SHIFT;
	size_t pages = pages_of(moved, size);
	size_t old = b->size >> PAGE_SHIFT;
	size_t most = large_bytes() > RUN_MANY_LARGE ? RUN_LARGE_PAGES_OF_MANY : RUN_LARGE_PAGES;

	if (page_in_arena(moved) && moved != b->p)
		return MIN(run_length(fewest + fewest / RUN_SLACK), most) << PAGE_SHIFT;
	if (pages > old && run_size(moved) == fewest << PAGE_SHIFT)
		return run_size(moved); /* there were no more behind it */
	if (page_in_arena(moved) && pages < old && old - pages <= old / RUN_SLACK)
		return b->size;
	return pages << PAGE_SHIFT;
}

static void do_resize(struct block *b)
{
	size_t size = any_size();
	bool may_move = below(2);
	char *moved = run_resize(b->p, size, may_move);

	EXPECT(*(unsigned long *)(void *)(moved ? moved : b->p) == b->mark);
	if (!moved) {
		/* Only growth can fail. */
		EXPECT(size > b->size && *last_word(b) == b->mark);
		EXPECT(run_size(b->p) == b->size);
		return;
	}
	EXPECT(moved == b->p || (may_move && run_size(b->p) == 0));
	b->size = size_after(b, moved, size);
	b->p = moved;
	EXPECT(run_size(b->p) == b->size);
	put_marks(b);
}

static void compare(void)
{
	const struct buddy_stats *stats = &buddy_zones[0].stats;
	unsigned long in_arena = 0;
	struct run_stats sum = { 0, 0 };
	struct run_stats now;
	unsigned int i;

	for (i = 0; i < BLOCKS; i++) {
		if (!blocks[i].p)
			continue;
		sum.count++;
		sum.bytes += blocks[i].size;
		if (page_in_arena(blocks[i].p))
			in_arena += blocks[i].size;
	}
	run_stats(&now);
	EXPECT(now.count == sum.count && now.bytes == sum.bytes);
	EXPECT((stats->nr_total - stats->nr_free - pcp_runs_stats(0).pages) << PAGE_SHIFT ==
	       in_arena);
	EXPECT(large_bytes() == sum.bytes - in_arena);
	large_check();
	if (step % 16 == 0) {
		run_check();
		buddy_check();
	}
}

static void run_seed(unsigned long operations)
{
	unsigned int i;

	for (step = 0; step < operations; step++) {
		struct block *b = &blocks[below(BLOCKS)];

		if (!b->p)
			do_alloc(b);
		else if (below(3) == 0)
			do_free(b);
		else
			do_resize(b);
		if (below(200) == 0)
			buddy_trim(below(2) * MIB);
		if (below(200) == 0)
			pcp_runs_drain();
		compare();
	}
	for (i = 0; i < BLOCKS; i++)
		if (blocks[i].p)
			do_free(&blocks[i]);
	compare();
}

static bool init(void)
{
	os_cpu_init();
	if (arena_init(os_topology.nr_cpu_ids) != 0)
		return false;
	buddy_init(1);
	return true;
}

int main(int argc, char **argv)
{
	static const struct fuzz fuzz = { "run_fuzz", 4, 2000, init, run_seed };

	return fuzz_main(&fuzz, argc, argv);
}
