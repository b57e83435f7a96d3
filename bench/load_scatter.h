/* SPDX-License-Identifier: MIT */
/*
 * bench/load_scatter.h - what comes back when the blocks that stay lie scattered: burst-scattered
 *
 * 1 GiB of blocks of eight sizes is allocated and written to; all but one in a hundred, chosen at
 * random, are freed. Then those that are left are moved, where the allocator can tell which and
 * where to (kinds_defragment() of the program), and checked. Says what is resident after the frees,
 * and 0.5, 1 and 2 seconds later, in KiB (scattered_0, scattered_500 and so on), what is live
 * (scattered_live), and how long moves took, in milliseconds (scattered_moves).
 */
#ifndef BENCH_LOAD_SCATTER_H
#define BENCH_LOAD_SCATTER_H

#include "load_main.h"

#define SCATTER_BURST (1ul << 30)
#define SCATTER_KINDS 8
#define SCATTER_ONE_IN 100

struct scatter_block {
	struct scatter_block *next;
	struct scatter_block **link; /* what leads to it */
	uint32_t kind;
	uint32_t number;
};

struct scatter {
	struct kind kinds[SCATTER_KINDS];
	struct scatter_block *kept;
};

static const unsigned int scatter_sizes[SCATTER_KINDS] = { 32, 48, 80, 120, 200, 320, 512, 1000 };

/* The program's: moves what is worth it, and gives pages back. */
static inline void kinds_defragment(struct scatter *s);

static inline void scatter_link(struct scatter_block **link, struct scatter_block *block)
{
	block->next = *link;
	block->link = link;
	if (block->next)
		block->next->link = &block->next;
	*link = block;
}

static inline void scatter_unlink(struct scatter_block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
}

/* The copy takes the place of a block. */
static inline void scatter_move(const struct scatter_block *from, struct scatter_block *to)
{
	memcpy(to, from, scatter_sizes[from->kind]);
	*to->link = to;
	if (to->next)
		to->next->link = &to->next;
}

static inline struct scatter_block *scatter_make(struct scatter *s, uint32_t kind, uint32_t number)
{
	struct scatter_block *block = kind_alloc(&s->kinds[kind]);

	memset(block, (int)(number & 0xff), scatter_sizes[kind]);
	block->kind = kind;
	block->number = number;
	return block;
}

/* Blocks that go lie between those that stay. */
static inline uint64_t scatter_fill(struct scatter *s, uint64_t bytes, struct scatter_block **going,
				    uint64_t *live)
{
	struct rng rng = { 0x9e3779b97f4a7c15ull };
	uint32_t blocks = 0;

	for (uint64_t done = 0; done < bytes; blocks++) {
		uint32_t kind = rng_below(&rng, SCATTER_KINDS);
		struct scatter_block *block = scatter_make(s, kind, blocks);
		int stays = !rng_below(&rng, SCATTER_ONE_IN);

		scatter_link(stays ? &s->kept : going, block);
		done += scatter_sizes[kind];
		*live += stays ? scatter_sizes[kind] : 0;
	}
	return blocks;
}

static inline void scatter_free(struct scatter *s, struct scatter_block **list)
{
	while (*list) {
		struct scatter_block *block = *list;

		scatter_unlink(block);
		block->link = NULL; /* no block any more */
		kind_free(&s->kinds[block->kind], block);
	}
}

static inline void scatter_check(const struct scatter *s)
{
	for (const struct scatter_block *block = s->kept; block; block = block->next) {
		const unsigned char *bytes = (const unsigned char *)block;

		for (size_t i = sizeof(*block); i < scatter_sizes[block->kind]; i++)
			if (bytes[i] != (unsigned char)block->number)
				die("block %u has changed", block->number);
	}
}

static inline uint64_t load_scattered(const struct load *l)
{
	static const struct {
		const char *metric;
		double after; /* ns */
	} looks[] = { { "scattered_500", 5e8 },
		      { "scattered_1000", 1e9 },
		      { "scattered_2000", 2e9 } };
	static struct scatter s;
	struct scatter_block *going = NULL;
	uint64_t blocks, live = 0;
	double freed;

	for (size_t i = 0; i < SCATTER_KINDS; i++)
		kind_init(&s.kinds[i], "scattered", scatter_sizes[i]);
	blocks = scatter_fill(&s, load_share(l, SCATTER_BURST), &going, &live);
	scatter_free(&s, &going);
	freed = now_ns();
	emit_metric("scattered_live", (double)live / 1024);
	emit_metric("scattered_0", resident_kib());
	kinds_defragment(&s);
	emit_metric("scattered_moves", (now_ns() - freed) / 1e6);
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		while (now_ns() < freed + looks[i].after)
			usleep(10000);
		emit_metric(looks[i].metric, resident_kib());
	}
	scatter_check(&s);
	scatter_free(&s, &s.kept);
	return blocks;
}

#endif /* BENCH_LOAD_SCATTER_H */
