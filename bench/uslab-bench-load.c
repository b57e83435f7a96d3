/* SPDX-License-Identifier: MIT */
/*
 * bench/uslab-bench-load.c - loads of kinds of programs on malloc, whoever that is
 *
 * Flow:       started by scripts/bench-malloc, with the library to measure in LD_PRELOAD. In:
 *             --mode LOAD, --threads N, --count PERCENT of the work; out: lines of metrics.
 *
 * Links no allocator. What the loads do is in load_threads.h, load_life.h, load_use.h,
 * load_server.h, load_back.h, load_scatter.h and load_groups.h. "origin" does nothing: it is asked
 * which library malloc comes from.
 */
#include <malloc.h>

#include "load_main.h"

/* Objects of one type. */
struct kind {
	size_t size; /* bytes */
};

static inline void kind_init(struct kind *kind, const char *name, size_t size)
{
	(void)name;
	kind->size = size;
}

static inline void *any_alloc(size_t size)
{
	void *p = malloc(size);

	if (!p)
		die("out of memory");
	return p;
}

static inline void any_free(void *p)
{
	free(p);
}

static inline void *kind_alloc(struct kind *kind)
{
	return any_alloc(kind->size);
}

static inline void kind_free(struct kind *kind, void *p)
{
	(void)kind;
	free(p);
}

#include "load_back.h"
#include "load_groups.h"
#include "load_life.h"
#include "load_scatter.h"
#include "load_server.h"
#include "load_threads.h"
#include "load_use.h"

/* What <uslab/malloc.h> has, if that library is there. */
struct mover {
	bool (*should_move)(const void *p);
	void *(*alloc)(size_t size);
	void (*free)(void *p);
};

/* All blocks once; how many were moved. */
static unsigned long move_kept(const struct mover *mover, struct scatter *s)
{
	unsigned long moved = 0;

	for (struct scatter_block *block = s->kept; block; block = block->next) {
		struct scatter_block *from = block;

		if (!mover->should_move(from))
			continue;
		block = mover->alloc(scatter_sizes[from->kind]);
		if (!block)
			die("out of memory");
		scatter_move(from, block);
		mover->free(from);
		moved++;
	}
	return moved;
}

/*
 * As a program does that moves its blocks by itself, until hardly any are worth it, and then gives
 * back what it can; most of the others have no malloc_trim(), and are asked for nothing.
 */
static inline void kinds_defragment(struct scatter *s)
{
	struct mover mover = {
		.should_move =
			(bool (*)(const void *))dlsym(RTLD_DEFAULT, "uslab_malloc_should_move"),
		.alloc = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "uslab_malloc_direct"),
		.free = (void (*)(void *))dlsym(RTLD_DEFAULT, "uslab_free_direct"),
	};

	if (mover.should_move && mover.alloc && mover.free)
		for (int round = 0; round < 10 && move_kept(&mover, s) > 100; round++) {}
	malloc_trim(0);
}

/* Of <uslab/group.h>. */
static struct {
	void *(*create)(const char *name, size_t limit, void *parent);
	void *(*enter)(void *group);
	void *group[2];
} groups;

static void switch_group(uint64_t pair)
{
	groups.enter(groups.group[pair % 2]);
}

/*
 * While there are no groups, in one that uses the size much, in none while there are groups, and
 * with a switch from one group to another before each pair.
 */
static uint64_t load_groups(const struct load *l)
{
	struct kind kind;
	uint64_t pairs;

	kind_init(&kind, "groups", GROUPS_SIZE);
	groups.create =
		(void *(*)(const char *, size_t, void *))dlsym(RTLD_DEFAULT, "uslab_group_create");
	groups.enter = (void *(*)(void *))dlsym(RTLD_DEFAULT, "uslab_group_enter");
	if (!groups.create || !groups.enter)
		die("this malloc has no accounting groups");
	pairs = groups_measure(l, "groups_none", &kind, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		groups.group[i] = groups.create(i ? "two" : "one", 0, NULL);
		if (!groups.group[i])
			die("no accounting group");
		groups.enter(groups.group[i]);
		groups_warm(&kind);
	}
	pairs += groups_measure(l, "groups_in", &kind, NULL);
	pairs += groups_measure(l, "groups_switch", &kind, switch_group);
	groups.enter(NULL);
	return pairs + groups_measure(l, "groups_out", &kind, NULL);
}

static uint64_t load_origin(const struct load *l)
{
	(void)l;
	return 1;
}

static const struct load_row rows[] = {
	{ "churn", load_churn, 1 },
	{ "chain", load_chain, 2 },
	{ "phases", load_phases, 1 },
	{ "growth", load_growth, 1 },
	{ "big", load_big, 1 },
	{ "book", load_book, 1 },
	{ "table", load_table, 1 },
	{ "server", load_server, 1 },
	{ "origin", load_origin, 1 },
	{ "burst-idle", load_back_idle, 1 },
	{ "burst-hits", load_back_hits, 1 },
	{ "burst-scattered", load_scattered, 1 },
	{ "groups", load_groups, 1 },
};

int main(int argc, char **argv)
{
	return load_main(argc, argv, rows, sizeof(rows) / sizeof(rows[0]));
}
