/* SPDX-License-Identifier: MIT */
/*
 * bench/load_life.h - loads of lifetimes and large sizes: phases, growth, big
 *
 * phases: a long life in phases, each with blocks of another size and another order of frees, over
 * a stock of long-lived blocks that changes slowly. growth: vectors and strings that grow by
 * realloc. big: blocks of 32 KiB to 4 MiB in turn, every page written once.
 */
#ifndef BENCH_LOAD_LIFE_H
#define BENCH_LOAD_LIFE_H

#include "load.h"

/* ---- phases ---- */

#define PHASES 12
#define PHASE_BLOCKS 150000
#define PHASE_BYTES (24u << 20) /* about so many at most in a phase's own blocks */
#define STOCK 40000		/* long-lived blocks */

struct life {
	const struct load *load;
	struct rng rng;
	void **stock;	 /* STOCK */
	void **blocks;	 /* PHASE_BLOCKS */
	uint32_t *order; /* PHASE_BLOCKS */
	uint64_t operations;
};

static inline void *life_new(struct life *life, uint32_t size)
{
	life->operations++;
	return touched(malloc(size), size);
}

static inline uint32_t stock_size(struct life *life)
{
	uint32_t size = life->load->sizes[rng_below(&life->rng, NR_SIZES)];

	return size > 16384 ? 16384 : size;
}

static inline void stock_replace(struct life *life, void *by)
{
	uint32_t at = rng_below(&life->rng, STOCK);

	free(life->stock[at]);
	life->stock[at] = by;
}

/* fifo, lifo or shuffled, phase by phase */
static inline void phase_order(struct life *life, unsigned int phase, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		life->order[i] = phase % 3 == 1 ? n - 1 - i : i;
	if (phase % 3 == 2)
		shuffle(life->order, n, &life->rng);
}

static inline void one_phase(struct life *life, unsigned int phase)
{
	uint32_t base = 16u << (phase % 7), most = PHASE_BYTES / (base * 3 / 2);
	uint32_t n = (uint32_t)load_share(life->load, most < PHASE_BLOCKS ? most : PHASE_BLOCKS);

	for (uint32_t i = 0; i < n; i++)
		life->blocks[i] = life_new(life, base + rng_below(&life->rng, base));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = rng_below(&life->rng, n);

		free(life->blocks[at]);
		life->blocks[at] = life_new(life, base + rng_below(&life->rng, base));
	}
	for (uint32_t i = 0; i < n / 10; i++)
		stock_replace(life, life_new(life, stock_size(life)));
	phase_order(life, phase, n);
	for (uint32_t i = 0; i < n; i++) {
		void *block = life->blocks[life->order[i]];

		if (i % 50) /* one in 50 outlives its phase */
			free(block);
		else
			stock_replace(life, block);
	}
}

static inline uint64_t load_phases(const struct load *l)
{
	struct life life = { .load = l, .rng = { 0x2545f4914f6cdd1dull } };

	if (l->percent > 100)
		die("phases: its tables have room for --count 100 at most");
	life.stock = harness_alloc(STOCK * sizeof(void *));
	life.blocks = harness_alloc(PHASE_BLOCKS * sizeof(void *));
	life.order = harness_alloc(PHASE_BLOCKS * sizeof(uint32_t));
	for (uint32_t i = 0; i < load_share(l, STOCK); i++)
		life.stock[i] = life_new(&life, stock_size(&life));
	for (unsigned int i = 0; i < PHASES; i++)
		one_phase(&life, i);
	for (uint32_t i = 0; i < STOCK; i++)
		free(life.stock[i]);
	return life.operations;
}

/* ---- growth ---- */

#define VECTORS 24
#define VECTOR_MOST (4u << 20) /* bytes */
#define VECTOR_ROUNDS 4
#define STRINGS 2000
#define STRING_MOST 4096 /* bytes */
#define STRING_STEPS 3000000

/* Writes what was added, as an append does. */
static inline char *grow(char *p, size_t from, size_t to)
{
	p = realloc(p, to);
	if (!p)
		die("out of memory");
	memset(p + from, 1, to - from);
	return p;
}

/* All vectors grow by half in turn, then each is halved and freed. */
static inline uint64_t grow_vectors(void)
{
	char *vectors[VECTORS] = { 0 };
	uint64_t calls = 0;

	for (size_t from = 0, to = 16; to <= VECTOR_MOST; from = to, to += to / 2)
		for (int i = 0; i < VECTORS; i++, calls++)
			vectors[i] = grow(vectors[i], from, to);
	for (int i = 0; i < VECTORS; i++, calls++) {
		void *half = realloc(vectors[i], VECTOR_MOST / 4);

		if (!half)
			die("out of memory");
		free(half);
	}
	return calls;
}

/* A random string gets 1 to 64 bytes more, and begins anew where it was long. */
static inline uint64_t append_strings(uint64_t steps)
{
	struct rng rng = { 88172645463325252ull };
	uint32_t lengths[STRINGS] = { 0 };
	char *strings[STRINGS] = { 0 };

	for (uint64_t i = 0; i < steps; i++) {
		uint32_t at = rng_below(&rng, STRINGS), more = 1 + rng_below(&rng, 64);

		if (lengths[at] + more > STRING_MOST) {
			free(strings[at]);
			strings[at] = NULL;
			lengths[at] = 0;
		}
		strings[at] = grow(strings[at], lengths[at], lengths[at] + more);
		lengths[at] += more;
	}
	for (int i = 0; i < STRINGS; i++)
		free(strings[i]);
	return steps;
}

static inline uint64_t load_growth(const struct load *l)
{
	uint64_t calls = 0;

	for (uint64_t i = 0; i < load_share(l, VECTOR_ROUNDS); i++)
		calls += grow_vectors();
	return calls + append_strings(load_share(l, STRING_STEPS));
}

/* ---- big ---- */

#define BIG_SLOTS 24 /* of all threads */
#define BIG_MIN (32u << 10)
#define BIG_DOUBLINGS 7 /* to 4 MiB */
#define BIG_STEPS 12000
#define PAGE 4096

/* Every doubling is as likely as any other. */
static inline size_t big_size(struct rng *r)
{
	size_t base = (size_t)BIG_MIN << rng_below(r, BIG_DOUBLINGS);

	return base + rng_below(r, (uint32_t)base);
}

static inline void *big_thread(void *arg)
{
	struct load_thread *t = arg;
	unsigned int slots = BIG_SLOTS / t->load->threads ? BIG_SLOTS / t->load->threads : 1;
	char *blocks[BIG_SLOTS] = { 0 };

	for (uint64_t n = 0; n < t->operations; n++) {
		uint32_t at = rng_below(&t->rng, slots);
		size_t size = big_size(&t->rng);

		free(blocks[at]);
		blocks[at] = touched(malloc(size), size);
		for (size_t i = 0; i < size; i += PAGE)
			((volatile char *)blocks[at])[i] = 1;
	}
	for (unsigned int i = 0; i < slots; i++)
		free(blocks[i]);
	return NULL;
}

static inline uint64_t load_big(const struct load *l)
{
	return load_run(l, load_team(l, NULL, load_share(l, BIG_STEPS)), big_thread);
}

#endif /* BENCH_LOAD_LIFE_H */
