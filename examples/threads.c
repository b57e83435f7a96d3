/* SPDX-License-Identifier: MIT */
/*
 * examples/threads.c - objects allocated by one thread and freed by another
 *
 * Each thread allocates its objects; then each frees those of its neighbour.
 * Nothing is to be locked, and it does not matter on which CPU anybody runs.
 *
 *   $ cc -O2 threads.c -luslab -pthread -o threads
 *   $ ./threads
 *   4 threads allocated 1000 objects each
 *   each freed those of another: all are back
 */
#include <pthread.h>
#include <stdio.h>
#include <uslab/slab.h>

#define THREADS 4
#define OBJECTS 1000

struct message {
	int from;
	char text[60];
};

struct worker {
	pthread_t thread;
	int number;
	struct message *sent[OBJECTS];
};

static struct kmem_cache *messages;
static struct worker workers[THREADS];

static void *send_all(void *arg)
{
	struct worker *self = arg;

	for (int i = 0; i < OBJECTS; i++) {
		self->sent[i] = kmem_cache_alloc(messages, GFP_KERNEL);
		if (self->sent[i])
			self->sent[i]->from = self->number;
	}
	return NULL;
}

static void *receive_all(void *arg)
{
	struct worker *self = arg;
	struct worker *other = &workers[(self->number + 1) % THREADS];

	for (int i = 0; i < OBJECTS; i++)
		if (other->sent[i] && other->sent[i]->from == other->number)
			kmem_cache_free(messages, other->sent[i]);
	return NULL;
}

static int run(void *(*work)(void *))
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&workers[i].thread, NULL, work,
				   &workers[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}

int main(void)
{
	/* Before there are threads: each reads its neighbour's, too. */
	for (int i = 0; i < THREADS; i++)
		workers[i].number = i;
	messages = KMEM_CACHE(message, SLAB_NOLEAKTRACE);
	if (!messages || run(send_all))
		return 1;
	printf("%d threads allocated %d objects each\n", THREADS, OBJECTS);
	if (run(receive_all))
		return 1;
	printf("each freed those of another: %s\n",
	       kmem_cache_shrink(messages) ? "some are left"
					   : "all are back");
	kmem_cache_destroy(messages);
	return 0;
}
