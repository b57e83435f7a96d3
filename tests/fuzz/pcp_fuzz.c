/* SPDX-License-Identifier: MIT */
/*
 * fuzz/pcp_fuzz.c - random operations on the CPUs' page lists against a
 * model of them and of the zone
 *
 * The model says which page every allocation must return, on which CPU whichever CPU freed what:
 * lists as plain arrays in front of the zone of buddy_model.h. buddy_check(), which looks at the
 * lists too, runs after each step.
 */
#include <string.h>

#include "buddy_model.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/pcp.h"
#include "seeds.h"

#define CPUS 3
#define KINDS 2
#define LISTS (KINDS * (PCP_MAX_ORDER + 1))
#define BLOCKS 1500
#define ON_LIST 2000

/* ---- the model ------------------------------------------------------------------------------- */

/* Last one first to be taken; blocks of one order. */
struct stack {
	unsigned long block[ON_LIST];
	unsigned long n;
};

struct cpu {
	struct stack list[LISTS];
	unsigned long pages;
};

static struct cpu cpus[CPUS];
static unsigned int here;

static struct stack *list_for(struct cpu *cpu, unsigned int order, enum pcp_kind kind)
{
	return &cpu->list[KINDS * order + (kind == PCP_RECLAIMABLE)];
}

/* Oldest first, list after list, beginning with that one. */
static void model_give(struct cpu *cpu, unsigned int list, unsigned long pages)
{
	unsigned long left = cpu->pages > pages ? cpu->pages - pages : 0;

	for (; cpu->pages > left; list = (list + 1) % LISTS) {
		struct stack *s = &cpu->list[list];

		while (s->n && cpu->pages > left) {
			unsigned int order = list / KINDS;

			model_free(s->block[0], order);
			cpu->pages -= 1ul << order;
			memmove(s->block, s->block + 1, --s->n * sizeof(s->block[0]));
		}
	}
}

static void model_drain(void)
{
	for (unsigned int i = 0; i < CPUS; i++)
		model_give(&cpus[i], 0, cpus[i].pages);
}

/* A batch, the first block of which is the first to be taken. */
static void model_refill(struct stack *s, unsigned int order)
{
	unsigned long batch = PCP_BATCH >> order > 2 ? PCP_BATCH >> order : 2;
	unsigned long got = 0;
	long index;

	while (got < batch && (index = model_alloc(order)) >= 0)
		s->block[got++] = (unsigned long)index;
	s->n = got;
	for (unsigned long i = 0; i < got / 2; i++) {
		unsigned long swapped = s->block[i];

		s->block[i] = s->block[got - 1 - i];
		s->block[got - 1 - i] = swapped;
	}
	cpus[here].pages += got << order;
}

static long model_take(unsigned int order, enum pcp_kind kind)
{
	struct stack *s;

	if (kind == PCP_NONE || order > PCP_MAX_ORDER)
		return model_alloc(order);
	s = list_for(&cpus[here], order, kind);
	if (!s->n)
		model_refill(s, order);
	if (!s->n)
		return -1;
	cpus[here].pages -= 1ul << order;
	return (long)s->block[--s->n];
}

static void model_return(unsigned long index, unsigned int order, enum pcp_kind kind)
{
	struct cpu *cpu = &cpus[here];
	struct stack *s;

	for (unsigned long i = 0; i < 1ul << order; i++)
		dirty[index + i] = true;
	if (kind == PCP_NONE || order > PCP_MAX_ORDER) {
		model_free(index, order);
		return;
	}
	s = list_for(cpu, order, kind);
	EXPECT(s->n < ON_LIST);
	s->block[s->n++] = index;
	cpu->pages += 1ul << order;
	if (cpu->pages >= PCP_HIGH)
		model_give(cpu, KINDS * order + (kind == PCP_RECLAIMABLE), PCP_BATCH);
}

/* ---- the operations -------------------------------------------------------------------------- */

struct block {
	unsigned long index;
	unsigned int order;
	enum pcp_kind kind;
};

static struct block blocks[BLOCKS];
static unsigned long nr_blocks;

/* Room in the model for what this may take from the zone, so that neither grows further. */
static bool room_for(unsigned int order)
{
	unsigned long in_use = 0;

	for (unsigned long i = 0; i < grown; i++)
		in_use += !is_free[i];
	return in_use + PCP_BATCH + (4ul << order) < PAGES - CHUNK;
}

static void do_alloc(void)
{
	unsigned int order = (unsigned int)below(below(8) ? PCP_MAX_ORDER + 1 : 6);
	enum pcp_kind kind = below(10) ? 1 + below(KINDS) : PCP_NONE;
	struct page *page;
	long index;

	if (nr_blocks == BLOCKS || !room_for(order))
		return;
	index = model_take(order, kind);
	EXPECT(index >= 0);
	page = pcp_alloc(0, order, kind, true);
	EXPECT(page == page_at((unsigned long)index) && page->order == order);
	page_set_block(page, PAGE_SLAB, 1ul << order);
	page_set_class(page, 1ul << order, (unsigned char)(order + 1));
	blocks[nr_blocks++] = (struct block){ (unsigned long)index, order, kind };
}

static void do_free(void)
{
	struct block *b;

	if (!nr_blocks)
		return;
	b = &blocks[below(3) ? below(nr_blocks) : nr_blocks - 1];
	pcp_free(page_at(b->index), b->order, b->kind);
	model_return(b->index, b->order, b->kind);
	*b = blocks[--nr_blocks];
}

static void compare_counts(void)
{
	unsigned long on_lists = 0;
	unsigned long nr_free = 0;
	struct buddy_stats stats;

	for (unsigned int i = 0; i < CPUS; i++)
		on_lists += cpus[i].pages;
	for (unsigned long i = 0; i < grown; i++)
		nr_free += is_free[i];
	EXPECT(pcp_stats(0).nr_pages == on_lists);
	buddy_stats(0, &stats);
	EXPECT(stats.nr_total == grown && stats.nr_free == nr_free + on_lists);
	EXPECT(buddy_zones[0].stats.nr_free == nr_free);
}

static void move(void)
{
	here = (unsigned int)below(CPUS);
	os_act_as_cpu(here);
}

static void run_seed(unsigned long operations)
{
	unsigned int fill = 8; /* phases that rather fill and phases that rather empty */

	for (step = 0; step < operations; step++) {
		unsigned long what = below(20);

		if (step % 256 == 0)
			fill = 4 + (unsigned int)below(13);
		if (below(16) == 0)
			move();
		if (what < fill)
			do_alloc();
		else if (what < 19 || below(16))
			do_free();
		else {
			pcp_drain();
			model_drain();
		}
		buddy_check();
		compare_counts();
	}
	while (nr_blocks)
		do_free();
	pcp_drain();
	model_drain();
	compare_counts();
	EXPECT(pcp_stats(0).nr_pages == 0 && buddy_zones[0].stats.nr_free == grown);
	buddy_check();
}

static bool init(void)
{
	if (os_topology_set(CPUS, 1) != 0 || arena_init(os_topology.nr_windows) != 0)
		return false;
	buddy_init(1);
	buddy_set_purge(SIZE_MAX >> 1, 1u << 30); /* never */
	if (!pcp_init())
		return false;
	os_act_as_cpu(0);
	return true;
}

int main(int argc, char **argv)
{
	static const struct fuzz fuzz = { "pcp_fuzz", 6, 3000, init, run_seed };

	return fuzz_main(&fuzz, argc, argv);
}
