/* SPDX-License-Identifier: MIT */
/*
 * bench/locality.h - where consecutive objects lie, what a walk over them costs, LIFO reuse
 *
 * The experiment of the article "prefer slab to kmalloc on fast paths": 200 items of 40 bytes on
 * one hash chain. Taken from the shared kmalloc caches of a program that has run for a while they
 * are scattered; taken from a cache of their own they lie side by side. And: a cache gives objects
 * back in the reverse order of their frees, like a stack.
 *
 * "A program that has run for a while" is made here: other users take many objects of mixed sizes
 * from the shared heap and give half of them back in random order.
 */
#ifndef BENCH_LOCALITY_H
#define BENCH_LOCALITY_H

#include "bodies.h"

#define ITEMS 200		/* on the chain, as in the article */
#define OTHERS 20000		/* objects of the other users */
#define LATER 1000		/* allocated before the second chain */
#define STACK_ITEMS 10		/* of the LIFO experiment, as in the article */
#define EVICT_BYTES (8ul << 20) /* more than a private cache (L1 and L2) holds */
#define COLD_WALKS 60
#define HOT_WALKS 20000

/* The item of the article: a hash node of two pointers, 16 bytes of content, one pointer more. */
struct item {
	struct item *next, **prev_next;
	uint64_t key[2];
	void *private; /* what made it 40 bytes instead of 32 */
};

struct locality {
	alloc_fn alloc; /* where the items come from */
	free_fn release;
	void *ctx;
	size_t size;	      /* of an item, bytes: 32 or 40 */
	alloc_fn other_alloc; /* the shared heap that other users have used */
	free_fn other_release;
	size_t other_min, other_max; /* sizes the other users ask for, bytes */
	bool churn;		     /* the items' own source has been used like that as well */
};

/* Allocates OTHERS objects and frees half, in random order. What stays is never freed. */
static inline void use_heap(alloc_fn alloc, free_fn release, void *ctx, size_t min, size_t max)
{
	void **objects = harness_alloc(OTHERS * sizeof(void *));
	uint32_t *order = harness_alloc(OTHERS * sizeof(uint32_t));
	struct rng r = { 0x2545f4914f6cdd1dull };

	for (uint32_t i = 0; i < OTHERS; i++) {
		size_t size = min + rng_below(&r, (uint32_t)(max - min + 1));

		objects[i] = alloc(ctx, size);
		order[i] = i;
		if (!objects[i])
			die("out of memory");
		memset(objects[i], 1, size);
	}
	shuffle(order, OTHERS, &r);
	for (uint32_t i = 0; i < OTHERS / 2; i++)
		release(ctx, objects[order[i]]);
	munmap(order, OTHERS * sizeof(uint32_t));
	munmap(objects, OTHERS * sizeof(void *));
}

static inline uint64_t walk(const struct item *head)
{
	uint64_t sum = 0;

	for (const struct item *i = head; i; i = i->next)
		sum += i->key[0];
	return sum;
}

/* ns per item of a walk whose items are in the first-level cache after the first round. */
static inline double walk_hot(struct item *head)
{
	double took[CHUNKS];

	for (int i = 0; i < CHUNKS; i++) {
		double start = now_ns();

		for (int n = 0; n < HOT_WALKS / CHUNKS; n++) {
			OPAQUE(head);
			if (walk(head) == 1)
				die("impossible sum");
		}
		took[i] = (now_ns() - start) / (HOT_WALKS / CHUNKS) / ITEMS;
	}
	return median_of(took, CHUNKS);
}

/* The same after other work has filled the CPU's own caches, as between two packets. */
static inline double walk_cold(struct item *head)
{
	volatile char *other_work = harness_alloc(EVICT_BYTES);
	double took[COLD_WALKS], clock_ns = 1e9;

	for (int i = 0; i < 1000; i++) {
		double start = now_ns(), t = now_ns() - start;

		clock_ns = t < clock_ns ? t : clock_ns;
	}
	for (int i = 0; i < COLD_WALKS; i++) {
		double start;

		for (size_t at = 0; at < EVICT_BYTES; at += 64)
			other_work[at]++;
		OPAQUE(head);
		start = now_ns();
		if (walk(head) == 1)
			die("impossible sum");
		took[i] = (now_ns() - start - clock_ns) / ITEMS;
	}
	munmap((void *)other_work, EVICT_BYTES);
	return median_of(took, COLD_WALKS);
}

static inline size_t count_distinct(void *const *objects, size_t n, unsigned int shift)
{
	size_t distinct = 0;

	for (size_t i = 0; i < n; i++) {
		bool seen = false;

		for (size_t j = 0; j < i && !seen; j++)
			seen = (uintptr_t)objects[i] >> shift == (uintptr_t)objects[j] >> shift;
		distinct += !seen;
	}
	return distinct;
}

static inline void allocate_items(const struct locality *l, void **items, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		items[i] = l->alloc(l->ctx, l->size);
		if (!items[i])
			die("out of memory");
	}
}

static inline void release_items(const struct locality *l, void *const *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l->release(l->ctx, items[i]);
}

/* A chain of ITEMS items in their order; its first. */
static inline struct item *chain_items(void *const *items)
{
	struct item *head = NULL;

	for (int i = ITEMS - 1; i >= 0; i--) {
		struct item *item = items[i];

		item->next = head;
		item->key[0] = (uint64_t)i + 2;
		head = item;
	}
	return head;
}

static inline void list_offsets(void *const *items)
{
	uintptr_t lowest = UINTPTR_MAX;

	for (int i = 0; i < ITEMS; i++)
		lowest = (uintptr_t)items[i] < lowest ? (uintptr_t)items[i] : lowest;
	printf("list offsets");
	for (int i = 0; i < ITEMS; i++)
		printf(" %zu", (size_t)((uintptr_t)items[i] - lowest));
	putchar('\n');
}

/* 200 items, consecutively allocated, chained in that order: distances, pages, walks. */
static inline void locality_distances(const struct locality *l)
{
	void *items[ITEMS];
	struct item *head;

	allocate_items(l, items, ITEMS);
	list_offsets(items);
	head = chain_items(items);
	emit_metric("pages", (double)count_distinct(items, ITEMS, 12));
	emit_metric("lines", (double)count_distinct(items, ITEMS, 6));
	emit_metric("walk-hot", walk_hot(head));
	emit_metric("walk-cold", walk_cold(head));
	release_items(l, items, ITEMS);
}

/*
 * The same of the 200 that follow 1000 others, for which the allocator has not kept places of
 * objects that were freed last: what a program sees that builds something larger.
 */
static inline void locality_later(const struct locality *l)
{
	void *before[LATER];
	void *items[ITEMS];

	allocate_items(l, before, LATER);
	allocate_items(l, items, ITEMS);
	emit_metric("pages-later", (double)count_distinct(items, ITEMS, 12));
	emit_metric("cold-later", walk_cold(chain_items(items)));
	release_items(l, items, ITEMS);
	release_items(l, before, LATER);
}

/* Allocates n objects and prints which of the known ones they are; -1: none of them. */
static inline void reuse(const struct locality *l, const char *name, void *const *known,
			 void **again, int n)
{
	printf("list %s", name);
	for (int i = 0; i < n; i++) {
		int found = -1;

		again[i] = l->alloc(l->ctx, l->size);
		for (int j = 0; j < STACK_ITEMS; j++)
			if (known[j] == again[i])
				found = j;
		printf(" %d", found);
	}
	putchar('\n');
}

/*
 * Ten objects, 0 to 9. Free 4, allocate one; free 1 and 8, allocate two; then all ten are freed in
 * order, those just allocated first, and ten allocated. A stack answers 4, then 8 1, then
 * everything backwards. At the end 4, 1, 8 are freed at once: a stack answers 8 1 4.
 */
static inline void locality_reuse(const struct locality *l)
{
	void *known[STACK_ITEMS], *again[STACK_ITEMS];
	bool taken[STACK_ITEMS] = { [1] = true, [4] = true, [8] = true };

	for (int i = 0; i < STACK_ITEMS; i++)
		known[i] = l->alloc(l->ctx, l->size);
	l->release(l->ctx, known[4]);
	reuse(l, "reuse.4", known, again, 1);
	l->release(l->ctx, known[1]);
	l->release(l->ctx, known[8]);
	reuse(l, "reuse.1.8", known, again + 1, 2);
	for (int i = 0; i < 3; i++)
		l->release(l->ctx, again[i]);
	for (int i = 0; i < STACK_ITEMS; i++)
		if (!taken[i])
			l->release(l->ctx, known[i]);
	reuse(l, "reuse.all", known, again, STACK_ITEMS);
	/* Only an allocator that gave the same ten back can play the last part with them. */
	for (int i = 0; i < STACK_ITEMS; i++)
		known[i] = again[i];
	l->release(l->ctx, known[4]);
	l->release(l->ctx, known[1]);
	l->release(l->ctx, known[8]);
	reuse(l, "reuse.4.1.8", known, again, 3);
}

/* Prints the lists and metrics of both experiments. */
static inline void mode_locality(const struct locality *l)
{
	use_heap(l->other_alloc, l->other_release, NULL, l->other_min, l->other_max);
	if (l->churn)
		use_heap(l->alloc, l->release, l->ctx, l->size, l->size);
	locality_reuse(l);
	locality_distances(l);
	locality_later(l);
}

#endif /* BENCH_LOCALITY_H */
