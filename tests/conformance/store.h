/* SPDX-License-Identifier: MIT */
/*
 * conformance/store.h - a store of objects that move, for tests
 *
 * slot[i] leads to object i, which has its number in all its words. Whoever frees or moves an
 * object has its slot's lock, or there is one thread.
 */
#ifndef CONFORMANCE_STORE_H
#define CONFORMANCE_STORE_H

#include <pthread.h>

#include "base/atomic.h"
#include "cache/mobility/mobility.h"
#include "unit/cache/cache_fixture.h"

#define MOST 4000

struct store {
	struct cache *c;
	unsigned int nr;
	uint32_t *slot[MOST];
	pthread_mutex_t lock[MOST];
	unsigned long calls; /* of move; atomic */
	unsigned int refuse; /* one in so many; 0: none */
};

static struct store store;

/* A constructor leaves no number, and so does a free. */
static inline void store_ctor(void *obj)
{
	store_relaxed((uint32_t *)obj, UINT32_MAX);
}

static inline unsigned int words(void)
{
	return store.c->engine.object_size / sizeof(uint32_t);
}

static inline void fill(uint32_t *obj, unsigned int i)
{
	for (unsigned int word = 1; word < words(); word++)
		obj[word] = i;
	store_relaxed(obj, i); /* the first one is looked at without the lock */
}

static inline void check_filled(const uint32_t *obj, unsigned int i)
{
	for (unsigned int word = 0; word < words(); word++)
		CHILD_CHECK(load_relaxed(&obj[word]) == i);
}

static inline void put(unsigned int i)
{
	uint32_t *obj = obj_alloc(store.c);

	CHILD_CHECK(obj);
	fill(obj, i);
	store.slot[i] = obj;
}

static inline void drop(unsigned int i)
{
	uint32_t *obj = store.slot[i];

	check_filled(obj, i);
	store.slot[i] = NULL;
	store_relaxed(obj, UINT32_MAX);
	obj_free(store.c, obj);
}

/* The number in it is believed only if the slot says so, too. */
static inline int move(void *from, void *to, void *arg)
{
	unsigned int i = load_relaxed((uint32_t *)from);
	int ret = -1;

	CHILD_CHECK(arg == &store);
	if (i >= store.nr)
		return ret;
	pthread_mutex_lock(&store.lock[i]);
	if (store.slot[i] == from &&
	    !(store.refuse && fetch_add(&store.calls, 1) % store.refuse == 0)) {
		check_filled(from, i);
		fill(to, i);
		store_relaxed((uint32_t *)from, UINT32_MAX);
		store.slot[i] = to;
		ret = 0;
	}
	pthread_mutex_unlock(&store.lock[i]);
	return ret;
}

static inline struct kmem_cache_statistics counters(void)
{
	struct kmem_cache_statistics got;

	cache_stats(store.c, &got);
	return got;
}

/* c: its objects have store_ctor() for a constructor, or nobody looks at free ones. */
static inline void open_store(struct cache *c, unsigned int nr)
{
	store.c = c;
	store.nr = nr;
	store.refuse = 0;
	for (unsigned int i = 0; i < nr; i++)
		pthread_mutex_init(&store.lock[i], NULL);
	CHILD_CHECK(mobility_set(c, &(struct mobility_functions){ .move = move, .arg = &store }) ==
		    0);
}

/* One in ten stays. Returns how many. */
static inline unsigned int thin_out(void)
{
	unsigned int seed = 88172;
	unsigned int left = 0;

	for (unsigned int i = 0; i < store.nr; i++)
		put(i);
	for (unsigned int i = 0; i < store.nr; i++)
		if (rand_r(&seed) % 10)
			drop(i);
		else
			left++;
	return left;
}

/* Nobody has an object any more. */
static inline void empty_store(void)
{
	for (unsigned int i = 0; i < store.nr; i++)
		if (store.slot[i])
			drop(i);
}

#endif /* CONFORMANCE_STORE_H */
