/* SPDX-License-Identifier: MIT */
/*
 * bench/load_threads.h - loads of threads: churn, chain
 *
 * churn: threads are created and ended, each with 1000 blocks of its own. chain: messages go from
 * thread to thread in batches; each stage allocates a new message and frees the one it was sent.
 */
#ifndef BENCH_LOAD_THREADS_H
#define BENCH_LOAD_THREADS_H

#include "load.h"

/* ---- churn ---- */

#define CHURN_BLOCKS 1000
#define CHURN_THREADS 2000 /* in all */

/* Allocates the blocks, writes to them, and frees every other one first. */
static inline void *churn_thread(void *arg)
{
	struct load_thread *t = arg;
	void *blocks[CHURN_BLOCKS];

	for (int i = 0; i < CHURN_BLOCKS; i++) {
		uint32_t size = 16 + rng_below(&t->rng, 496);

		blocks[i] = touched(malloc(size), size);
	}
	for (int i = 0; i < CHURN_BLOCKS; i += 2)
		free(blocks[i]);
	for (int i = 1; i < CHURN_BLOCKS; i += 2)
		free(blocks[i]);
	return NULL;
}

/* l->threads of them at a time: each that ended is replaced, the oldest first. */
static inline uint64_t load_churn(const struct load *l)
{
	uint64_t all = load_share(l, CHURN_THREADS), started = 0;
	struct load_thread *team = load_team(l, NULL, 1);

	for (; started < all; started++) {
		struct load_thread *t = &team[started % l->threads];

		if (started >= l->threads)
			pthread_join(t->thread, NULL);
		load_start(&t->thread, churn_thread, t);
	}
	for (uint64_t i = 0; i < l->threads && i < all; i++)
		pthread_join(team[i].thread, NULL);
	return all * CHURN_BLOCKS;
}

/* ---- chain ---- */

#define CHAIN_BATCH 64
#define CHAIN_DEPTH 4 /* batches between two stages */
#define CHAIN_HOPS 4000000

struct message {
	uint32_t size;
	uint32_t stage;
};

/* Between a stage and the next one. */
struct chain_link {
	_Alignas(128) pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int sent, taken; /* batches; by lock */
	struct message *batches[CHAIN_DEPTH][CHAIN_BATCH];
};

static inline void link_send(struct chain_link *link, struct message **batch)
{
	pthread_mutex_lock(&link->lock);
	while (link->sent - link->taken == CHAIN_DEPTH)
		pthread_cond_wait(&link->changed, &link->lock);
	memcpy(link->batches[link->sent++ % CHAIN_DEPTH], batch, CHAIN_BATCH * sizeof(*batch));
	pthread_cond_signal(&link->changed);
	pthread_mutex_unlock(&link->lock);
}

static inline void link_take(struct chain_link *link, struct message **batch)
{
	pthread_mutex_lock(&link->lock);
	while (link->sent == link->taken)
		pthread_cond_wait(&link->changed, &link->lock);
	memcpy(batch, link->batches[link->taken++ % CHAIN_DEPTH], CHAIN_BATCH * sizeof(*batch));
	pthread_cond_signal(&link->changed);
	pthread_mutex_unlock(&link->lock);
}

static inline struct message *message_new(struct load_thread *t)
{
	uint32_t size = t->load->sizes[rng_below(&t->rng, NR_SIZES)];
	struct message *m;

	size = size < sizeof(*m) ? sizeof(*m) : size > 4096 ? 4096 : size;
	m = touched(malloc(size), size);
	m->size = size;
	m->stage = t->number;
	return m;
}

/* operations: batches. The first stage takes from nobody, the last one sends to nobody. */
static inline void *chain_stage(void *arg)
{
	struct load_thread *t = arg;
	struct chain_link *links = t->shared;
	bool first = !t->number, last = t->number == t->load->threads - 1;

	for (uint64_t n = 0; n < t->operations; n++) {
		struct message *batch[CHAIN_BATCH];

		if (!first)
			link_take(&links[t->number - 1], batch);
		for (int i = 0; i < CHAIN_BATCH; i++) {
			struct message *old = first ? NULL : batch[i];

			if (old && old->stage + 1 != t->number)
				die("a message of stage %u came to stage %u", old->stage,
				    t->number);
			if (!last)
				batch[i] = message_new(t);
			free(old);
		}
		if (!last)
			link_send(&links[t->number], batch);
	}
	return NULL;
}

static inline uint64_t load_chain(const struct load *l)
{
	struct chain_link *links = harness_alloc(l->threads * sizeof(*links));
	uint64_t batches = load_share(l, CHAIN_HOPS) / (l->threads - 1) / CHAIN_BATCH + 1;
	struct load_thread *team = load_team(l, links, 0);

	for (unsigned int i = 0; i < l->threads; i++) {
		pthread_mutex_init(&links[i].lock, NULL);
		pthread_cond_init(&links[i].changed, NULL);
		team[i].operations = batches;
	}
	load_run(l, team, chain_stage);
	return batches * CHAIN_BATCH * (l->threads - 1);
}

#endif /* BENCH_LOAD_THREADS_H */
