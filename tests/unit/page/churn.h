/* SPDX-License-Identifier: MIT */
/*
 * unit/page/churn.h - threads that allocate and free blocks of pages at random, for
 * what goes on beside them
 */
#ifndef UNIT_PAGE_CHURN_H
#define UNIT_PAGE_CHURN_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/atomic.h"
#include "fixture.h"
#include "os/lock/lock.h"

/* From where blocks come and whereto they go; @random is 31 bits, to act as any CPU by. */
struct churn_ops {
	struct page *(*alloc)(unsigned int order, unsigned int random);
	void (*free)(struct page *page, unsigned int random);
	void (*each_lock)(void (*act)(struct lock *l));
};

#define CHURN_HELD 64
#define CHURN_MAX 4 /* threads */

static struct {
	const struct churn_ops *ops;
	pthread_t threads[CHURN_MAX];
	unsigned int nr;
	unsigned int stop;
} churn;

/* Each block carries its owner's number and its own, at both ends. */
static void *churn_blocks(void *arg)
{
	struct page *held[CHURN_HELD] = { NULL };
	bool one_at_a_time = getenv("USLAB_TEST_VALGRIND"); /* whoever runs would starve the rest */
	uint64_t mark = (uintptr_t)arg;
	uint64_t seed = mark;
	unsigned int i;

	while (!load_relaxed(&churn.stop)) {
		uint64_t *words;

		if (one_at_a_time)
			sched_yield();
		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		i = seed >> 58;
		if (held[i]) {
			words = page_address(held[i]);
			CHILD_CHECK(words[0] == (mark << 32 | i) && words[511] == words[0]);
			churn.ops->free(held[i], seed >> 33);
			held[i] = NULL;
		} else {
			held[i] = churn.ops->alloc(seed >> 40 & 3, seed >> 33);
			CHILD_CHECK(held[i]);
			page_set_block(held[i], PAGE_SLAB, 1ul << held[i]->order);
			words = page_address(held[i]);
			words[0] = words[511] = mark << 32 | i;
		}
	}
	for (i = 0; i < CHURN_HELD; i++)
		if (held[i])
			churn.ops->free(held[i], i);
	return NULL;
}

static inline void churn_start(const struct churn_ops *ops, unsigned int nr)
{
	buddy_set_purge(64 * PAGE_SIZE, 1000); /* purging while they allocate */
	churn.ops = ops;
	for (churn.nr = 0; churn.nr < nr; churn.nr++)
		CHILD_CHECK(pthread_create(&churn.threads[churn.nr], NULL, churn_blocks,
					   (void *)(uintptr_t)(churn.nr + 1)) == 0);
}

static inline void churn_end(void)
{
	store_relaxed(&churn.stop, 1);
	for (unsigned int i = 0; i < churn.nr; i++)
		pthread_join(churn.threads[i], NULL);
	buddy_check();
}

/*
 * Until they ran long enough for pages to be purged beside them, however late
 * they start; then counts.
 */
static inline void churn_and_purge(const struct churn_ops *ops, struct buddy_stats *stats)
{
	churn_start(ops, CHURN_MAX);
	do {
		usleep(10000);
		buddy_trim(0);
		buddy_stats(0, stats);
	} while (stats->nr_purged == 0);
	churn_end();
	buddy_stats(0, stats);
}

/* Forks again and again beside them; @in_child looks at what the child has. */
static inline void churn_and_fork(const struct churn_ops *ops, void (*in_child)(void))
{
	churn_start(ops, 2);
	for (unsigned int i = 0; i < rounds(60); i++) {
		int status;
		pid_t pid;

		ops->each_lock(lock_fork_prepare);
		pid = fork();
		if (pid == 0) {
			ops->each_lock(lock_fork_child);
			in_child();
			_exit(0);
		}
		ops->each_lock(lock_fork_parent);
		CHILD_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	churn_end();
}

#endif /* UNIT_PAGE_CHURN_H */
