/* SPDX-License-Identifier: MIT */
/*
 * bench/load_use.h - loads that programs put on object caches: book, table, server
 *
 * Objects of one type come from kind_alloc(), everything else from any_alloc(). Who includes this
 * says first what these are: malloc, or a cache for each kind and kmalloc (struct kind and five
 * functions).
 *
 * book: an order book; orders come, are cancelled or executed, price levels come and go. table: a
 * hash table of which threads insert and remove entries, mostly those of another thread. server:
 * requests with arenas and responses, on connections that any thread closes.
 */
#ifndef BENCH_LOAD_USE_H
#define BENCH_LOAD_USE_H

#include "load.h"

/* ---- book: one thread ---- */

#define BOOK_SLOTS 100000
#define BOOK_PRICES 2000
#define BOOK_TRADES 4096 /* kept, the oldest goes */
#define BOOK_STEPS 6000000

struct order {
	struct order *next, *previous; /* of its level, oldest first */
	struct level *level;
	uint64_t id; /* its slot */
	uint64_t quantity;
	uint64_t account;
};

struct level {
	struct order *first, *last;
	uint64_t quantity;
	uint32_t price;
	uint32_t orders;
};

struct trade {
	uint64_t id, account, quantity;
	uint32_t price;
};

struct book {
	struct kind orders, levels, trades;
	struct order **slots;	/* BOOK_SLOTS, NULL: no such order */
	struct level **prices;	/* BOOK_PRICES, NULL: nobody wants that price */
	struct trade **history; /* BOOK_TRADES, a ring */
	uint64_t traded;
	struct rng rng;
};

static inline void book_insert(struct book *b, uint32_t id)
{
	uint32_t price = (rng_below(&b->rng, BOOK_PRICES) + rng_below(&b->rng, BOOK_PRICES)) / 2;
	struct level *level = b->prices[price];
	struct order *order = kind_alloc(&b->orders);

	if (!level) {
		level = b->prices[price] = kind_alloc(&b->levels);
		*level = (struct level){ .price = price };
	}
	*order = (struct order){ .level = level, .id = id, .previous = level->last };
	order->quantity = 1 + rng_below(&b->rng, 100);
	order->account = rng_next(&b->rng);
	if (level->last)
		level->last->next = order;
	else
		level->first = order;
	level->last = order;
	level->quantity += order->quantity;
	level->orders++;
	b->slots[id] = order;
}

static inline void book_remove(struct book *b, struct order *order)
{
	struct level *level = order->level;

	if (order->previous)
		order->previous->next = order->next;
	else
		level->first = order->next;
	if (order->next)
		order->next->previous = order->previous;
	else
		level->last = order->previous;
	level->quantity -= order->quantity;
	b->slots[order->id] = NULL;
	kind_free(&b->orders, order);
	if (--level->orders)
		return;
	if (level->quantity)
		die("an empty price level has %llu to trade", (unsigned long long)level->quantity);
	b->prices[level->price] = NULL;
	kind_free(&b->levels, level);
}

/* The oldest order of that level, of which a trade is kept. */
static inline void book_execute(struct book *b, struct level *level)
{
	struct order *order = level->first;
	struct trade *trade = kind_alloc(&b->trades), **at;

	*trade = (struct trade){ order->id, order->account, order->quantity, level->price };
	at = &b->history[b->traded++ % BOOK_TRADES];
	if (*at)
		kind_free(&b->trades, *at);
	*at = trade;
	book_remove(b, order);
}

static inline uint64_t load_book(const struct load *l)
{
	uint64_t steps = load_share(l, BOOK_STEPS);
	struct book b = { .rng = { 88172645463325252ull } };

	kind_init(&b.orders, "order", sizeof(struct order));
	kind_init(&b.levels, "level", sizeof(struct level));
	kind_init(&b.trades, "trade", sizeof(struct trade));
	b.slots = harness_alloc(BOOK_SLOTS * sizeof(void *));
	b.prices = harness_alloc(BOOK_PRICES * sizeof(void *));
	b.history = harness_alloc(BOOK_TRADES * sizeof(void *));
	for (uint64_t i = 0; i < steps; i++) {
		uint32_t id = rng_below(&b.rng, BOOK_SLOTS);
		struct order *order = b.slots[id];

		if (!order)
			book_insert(&b, id);
		else if (rng_below(&b.rng, 10) < 6)
			book_remove(&b, order);
		else
			book_execute(&b, order->level);
	}
	for (uint32_t id = 0; id < BOOK_SLOTS; id++)
		if (b.slots[id])
			book_remove(&b, b.slots[id]);
	return steps;
}

/* ---- table: threads free what others inserted ---- */

#define TABLE_BUCKETS 65536 /* a power of two */
#define TABLE_LOCKS 1024
#define TABLE_KEYS 200000
#define TABLE_STEPS 6000000

struct entry {
	struct entry *next;
	uint64_t key;
	uint64_t value[5];
};

struct table {
	struct kind entries;
	struct entry *buckets[TABLE_BUCKETS]; /* each by its lock */
	pthread_mutex_t locks[TABLE_LOCKS];
};

/* The place of a key: what points at its entry, or at the end of its bucket. */
static inline struct entry **table_find(struct table *table, uint64_t key, pthread_mutex_t **lock)
{
	uint32_t hash = (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32);
	struct entry **at = &table->buckets[hash % TABLE_BUCKETS];

	*lock = &table->locks[hash % TABLE_LOCKS];
	pthread_mutex_lock(*lock);
	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

static inline void *table_thread(void *arg)
{
	struct load_thread *t = arg;
	struct table *table = t->shared;

	for (uint64_t n = 0; n < t->operations; n++) {
		uint64_t key = rng_below(&t->rng, TABLE_KEYS);
		pthread_mutex_t *lock;
		struct entry **at = table_find(table, key, &lock), *entry = *at;

		if (!entry) {
			entry = kind_alloc(&table->entries);
			*entry = (struct entry){ .key = key, .value = { n } };
			*at = entry;
			entry = NULL;
		} else if (rng_below(&t->rng, 4)) { /* three of four found are removed */
			*at = entry->next;
		} else {
			entry->value[0]++;
			entry = NULL;
		}
		pthread_mutex_unlock(lock);
		if (entry)
			kind_free(&table->entries, entry);
	}
	return NULL;
}

static inline uint64_t load_table(const struct load *l)
{
	struct table *table = harness_alloc(sizeof(*table));
	uint64_t steps;

	kind_init(&table->entries, "entry", sizeof(struct entry));
	for (int i = 0; i < TABLE_LOCKS; i++)
		pthread_mutex_init(&table->locks[i], NULL);
	steps = load_run(l, load_team(l, table, load_share(l, TABLE_STEPS)), table_thread);
	for (int i = 0; i < TABLE_BUCKETS; i++) {
		while (table->buckets[i]) {
			struct entry *entry = table->buckets[i];

			table->buckets[i] = entry->next;
			kind_free(&table->entries, entry);
		}
	}
	return steps;
}

#endif /* BENCH_LOAD_USE_H */
