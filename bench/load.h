/* SPDX-License-Identifier: MIT */
/*
 * bench/load.h - what the loads of uslab-bench-load and uslab-bench-load-cache share
 *
 * A load does a fixed amount of work, the same calls with every allocator but for the order in
 * which threads meet, and returns how many operations that were. Memory of the load itself comes
 * from mmap, so that the peak of a run differs by the allocator only.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <pthread.h>

#include "workloads.h"

#define LOAD_THREADS 64

struct load {
	unsigned int threads;
	uint64_t percent; /* of the full work; 100 unless --count says otherwise */
	uint32_t *sizes;  /* NR_SIZES requests, as fill_sizes() spreads them */
};

/* At least 1. */
static inline uint64_t load_share(const struct load *l, uint64_t full)
{
	uint64_t part = full * l->percent / 100;

	return part ? part : 1;
}

/* A thread of a load; its work is divided evenly. */
struct load_thread {
	_Alignas(128) const struct load *load;
	void *shared; /* of all threads */
	unsigned int number;
	struct rng rng;
	uint64_t operations; /* to do, by this thread */
	pthread_t thread;
};

static inline struct load_thread *load_team(const struct load *l, void *shared, uint64_t operations)
{
	struct load_thread *team = harness_alloc(l->threads * sizeof(*team));

	for (unsigned int i = 0; i < l->threads; i++) {
		team[i].load = l;
		team[i].shared = shared;
		team[i].number = i;
		team[i].rng.state = 0x9e3779b97f4a7c15ull * (i + 1);
		team[i].operations = operations / l->threads + 1;
	}
	return team;
}

static inline void load_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	int error = pthread_create(thread, NULL, run, arg);

	if (error)
		die("cannot start a thread: %s", strerror(error));
}

/* Runs all of them, and returns how many operations they were given. */
static inline uint64_t load_run(const struct load *l, struct load_thread *team,
				void *(*run)(void *arg))
{
	uint64_t operations = 0;

	for (unsigned int i = 0; i < l->threads; i++)
		load_start(&team[i].thread, run, &team[i]);
	for (unsigned int i = 0; i < l->threads; i++) {
		pthread_join(team[i].thread, NULL);
		operations += team[i].operations;
	}
	return operations;
}

#endif /* BENCH_LOAD_H */
