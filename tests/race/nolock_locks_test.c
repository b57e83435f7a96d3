/* SPDX-License-Identifier: MIT */
/*
 * race/nolock_locks_test.c - kmalloc_nolock() and kfree_nolock() while another thread holds each
 * lock that they might need, and while all are held
 *
 * Every engine with every front. They return, with memory or without, and what they free is back
 * when the locks are.
 */
#include <pthread.h>

#include "front/percpu.h"
#include "nolock.h"
#include "os/cpu/dword.h"
#include "page/pcp.h"
#include "threads.h"

#define MANY 24 /* objects: several slabs */

/* ---- while another thread holds each lock ---- */

static struct {
	pthread_barrier_t barrier;
	struct lock *lock; /* to be held; NULL: no more */
	unsigned int nr;
} holder;

static void *hold(void *unused)
{
	for (;;) {
		struct lock *lock;

		pthread_barrier_wait(&holder.barrier);
		lock = holder.lock;
		if (!lock)
			return unused;
		lock_acquire(lock);
		pthread_barrier_wait(&holder.barrier);
		pthread_barrier_wait(&holder.barrier); /* it was used */
		lock_release(lock);
		pthread_barrier_wait(&holder.barrier);
	}
}

/* More than arrays and slabs have; then all of it back. Returns how many there were. */
static unsigned int try_many(void)
{
	static struct block b[3 * MANY];
	unsigned int got = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(b); i++) {
		try_block(&b[i], try_sizes[i % ARRAY_SIZE(try_sizes)]);
		got += b[i].p != NULL;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(b); i++)
		free_block(&b[i], false);
	return got;
}

static void while_held(struct lock *l)
{
	holder.lock = l;
	holder.nr++;
	pthread_barrier_wait(&holder.barrier);
	pthread_barrier_wait(&holder.barrier);
	try_many();
	pthread_barrier_wait(&holder.barrier);
	pthread_barrier_wait(&holder.barrier);
}

static void while_each_is_held(struct cache *c)
{
	const struct engine_heap *heap = c->engine.ops->heap;

	if (c->engine.ops->each_lock)
		c->engine.ops->each_lock(&c->engine, while_held);
	if (c->front.ops->each_lock)
		c->front.ops->each_lock(&c->front, while_held);
	if (heap)
		heap->each_lock(heap, while_held);
}

static void others_hold(const struct pair *pair)
{
	pthread_t thread;

	kmalloc_ready(pair);
	CHILD_CHECK(!pthread_barrier_init(&holder.barrier, NULL, 2));
	CHILD_CHECK(!pthread_create(&thread, NULL, hold, NULL));
	while_each_is_held(kmalloc_cache(SIZE));
	while_each_is_held(kmalloc_cache(64));
	percpu_each_lock(while_held);
	pcp_each_lock(while_held);
	buddy_each_lock(while_held);
	dword_each_lock(while_held);
	CHILD_CHECK(holder.nr > 1);
	holder.lock = NULL;
	pthread_barrier_wait(&holder.barrier);
	pthread_join(thread, NULL);
	CHILD_CHECK(try_many() == 3 * MANY); /* nobody holds any */
	books_balance();
}

/* All at once, as in a fork among threads: what the CPU has, and nothing more; the frees wait. */
static void all_held(const struct pair *pair)
{
	static struct block b[100];
	struct block last = { 0 };
	bool stop = false;
	pthread_t other;

	kmalloc_ready(pair);
	CHILD_CHECK(!pthread_create(&other, NULL, threads_wait, &stop));
	for (unsigned int i = 0; i < ARRAY_SIZE(b); i++)
		take_block(&b[i]);
	cache_fork_prepare();
	for (unsigned int i = 0; i < ARRAY_SIZE(b); i++)
		free_block(&b[i], false);
	do {
		struct block next;

		try_block(&next, SIZE);
		if (next.p)
			*(struct block *)next.p = last;
		last.p = next.p ? next.p : last.p;
		if (!next.p)
			break;
	} while (true);
	cache_fork_parent();
	CHILD_CHECK(nested_waiting() > 0);
	while (last.p) {
		void *p = last.p;

		last = *(struct block *)p;
		kmalloc_try_free(p, NULL);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	books_balance();
}

int main(int argc, char **argv)
{
	static const struct body bodies[] = { { "threads", others_hold, true, true },
					      { "all_held", all_held, true, true },
					      { 0 } };

	return pairs_main(argc, argv, "nolock_locks", bodies);
}
