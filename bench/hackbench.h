/* SPDX-License-Identifier: MIT */
/*
 * bench/hackbench.h - groups of threads that send each other messages, allocated as for a socket
 *
 * Groups of senders and receivers; every sender sends so many messages to every receiver of its
 * group. Instead of through a socket a message goes through a bounded queue, one per receiver, but
 * it is made of what the kernel allocates for one on a Unix socket (recorded: kmem events of
 * hackbench on Linux 6.18), by the sender:
 *
 *     the head     224 bytes of the cache skbuff_head_cache (aligned to cache lines, 256 apart)
 *     the data     kmalloc of the message rounded up to cache lines and 320 bytes of shared
 *                  information behind it, rounded up to what kmalloc has anyway: 1024 for 512
 *
 * and freed by the receiver, the data first. Both clear and copy what the kernel does.
 */
#ifndef BENCH_HACKBENCH_H
#define BENCH_HACKBENCH_H

#include "slabs.h"
#include "team.h"

#define HEAD_SIZE 224
#define HEAD_CLEARED 184 /* up to what the kernel sets one by one */
#define SHARED_SIZE 320
#define SHARED_CLEARED 48
#define LINE 64
#define QUEUE_SLOTS 166 /* messages of 512 bytes that the default buffer of a socket takes */
#define STACK_BYTES (64 << 10)
#define HACKBENCH_LIMIT_S 3600
#define MAX_MESSAGE 8192

/* ---- the queue ---- */

/*
 * A sender waits while it is full, until three quarters are read: when a Unix socket is writable.
 */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t readable, writable;
	unsigned int head, count, readers, writers; /* the last two: who wait */
	void *slots[QUEUE_SLOTS];
};

static void queue_push(struct queue *q, void *message)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == QUEUE_SLOTS) {
		q->writers++;
		pthread_cond_wait(&q->writable, &q->lock);
		q->writers--;
	}
	q->slots[(q->head + q->count++) % QUEUE_SLOTS] = message;
	if (q->readers)
		pthread_cond_signal(&q->readable);
	pthread_mutex_unlock(&q->lock);
}

static void *queue_pop(struct queue *q)
{
	void *message;

	pthread_mutex_lock(&q->lock);
	while (!q->count) {
		q->readers++;
		pthread_cond_wait(&q->readable, &q->lock);
		q->readers--;
	}
	message = q->slots[q->head];
	q->head = (q->head + 1) % QUEUE_SLOTS;
	if (--q->count <= QUEUE_SLOTS / 4 && q->writers)
		pthread_cond_broadcast(&q->writable);
	pthread_mutex_unlock(&q->lock);
	return message;
}

/* ---- messages ---- */

struct message {
	char *data;
	size_t len;
	char rest[HEAD_SIZE - sizeof(char *) - sizeof(size_t)];
};

struct hackbench {
	const struct worker_args *args;
	struct kmem_cache *heads;
	struct queue *queues; /* of group 0, then of group 1 ... */
	pthread_mutex_t gate;
	pthread_cond_t open;
	bool is_open;
	_Atomic unsigned int ready, ended;
	double end; /* of the last thread */
};

static struct hackbench bench;

/* By the sender: allocates head and data, and copies the text into the data. */
static struct message *make_message(const char *from)
{
	size_t len = bench.args->size, rounded = (len + LINE - 1) / LINE * LINE;
	struct message *m = kmem_cache_alloc(bench.heads, GFP_KERNEL);

	if (!m)
		die("out of memory");
	memset(m, 0, HEAD_CLEARED);
	m->data = kmalloc(kmalloc_size_roundup(rounded + SHARED_SIZE), GFP_KERNEL);
	if (!m->data)
		die("out of memory");
	memset(m->data + rounded, 0, SHARED_CLEARED);
	m->len = len;
	memcpy(m->data, from, len);
	return m;
}

/* By the receiver: copies the data out, frees data and head. */
static void drop_message(struct message *m, char *to)
{
	memcpy(to, m->data, m->len);
	kfree(m->data);
	kmem_cache_free(bench.heads, m);
}

/* ---- threads ---- */

static void wait_for_start(void)
{
	atomic_fetch_add(&bench.ready, 1);
	pthread_mutex_lock(&bench.gate);
	while (!bench.is_open)
		pthread_cond_wait(&bench.open, &bench.gate);
	pthread_mutex_unlock(&bench.gate);
}

static unsigned int nr_threads(void)
{
	return bench.args->groups * bench.args->fds * 2;
}

static void say_ended(void)
{
	if (atomic_fetch_add(&bench.ended, 1) + 1 == nr_threads())
		bench.end = now_ns();
}

/* Senders and receivers are numbered alike: group * fds + number. */
static void *sender(void *arg)
{
	const struct worker_args *a = bench.args;
	size_t number = (size_t)arg;
	struct queue *queues = &bench.queues[number / a->fds * a->fds];
	char message[MAX_MESSAGE] = { 0 };

	team_act(number);
	wait_for_start();
	for (unsigned int i = 0; i < a->loops; i++)
		for (unsigned int j = 0; j < a->fds; j++)
			queue_push(&queues[j], make_message(message));
	say_ended();
	return NULL;
}

static void *receiver(void *arg)
{
	const struct worker_args *a = bench.args;
	struct queue *queue = &bench.queues[(size_t)arg];
	char message[MAX_MESSAGE];

	team_act((size_t)arg + 1);
	wait_for_start();
	for (uint64_t i = 0; i < (uint64_t)a->loops * a->fds; i++)
		drop_message(queue_pop(queue), message);
	say_ended();
	return NULL;
}

static void start_threads(pthread_t *threads)
{
	size_t pairs = (size_t)bench.args->groups * bench.args->fds;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (size_t i = 0; i < pairs; i++)
		if (pthread_create(&threads[2 * i], &attributes, receiver, (void *)i) ||
		    pthread_create(&threads[2 * i + 1], &attributes, sender, (void *)i))
			die("cannot start %u threads", nr_threads());
	pthread_attr_destroy(&attributes);
	while (atomic_load(&bench.ready) != nr_threads())
		usleep(1000);
}

/* Opens the gate and looks every millisecond how many bytes there are. Returns the most. */
static double run_threads(double *start)
{
	double most = 0;

	pthread_mutex_lock(&bench.gate);
	bench.is_open = true;
	*start = now_ns();
	pthread_cond_broadcast(&bench.open);
	pthread_mutex_unlock(&bench.gate);
	while (atomic_load(&bench.ended) != nr_threads()) {
		double kib = slabs_kib();

		most = kib > most ? kib : most;
		usleep(1000);
	}
	return most;
}

/* Metrics: seconds; peak and end, KiB of slabs while messages were under way and after the last. */
static void mode_hackbench(const struct worker_args *a)
{
	size_t nr = (size_t)a->groups * a->fds;
	pthread_t *threads = harness_alloc(2 * nr * sizeof(*threads));
	double start, most, end;

	if (!nr || !a->loops || a->size > MAX_MESSAGE)
		die("needs groups, fds and loops, and messages of up to %d bytes", MAX_MESSAGE);
	alarm(HACKBENCH_LIMIT_S);
	bench.args = a;
	bench.heads =
		kmem_cache_create("skbuff_head_cache", HEAD_SIZE, 0, SLAB_HWCACHE_ALIGN, NULL);
	bench.queues = harness_alloc(nr * sizeof(*bench.queues));
	pthread_mutex_init(&bench.gate, NULL);
	pthread_cond_init(&bench.open, NULL);
	for (size_t i = 0; i < nr; i++) {
		pthread_mutex_init(&bench.queues[i].lock, NULL);
		pthread_cond_init(&bench.queues[i].readable, NULL);
		pthread_cond_init(&bench.queues[i].writable, NULL);
	}
	start_threads(threads);
	most = run_threads(&start);
	for (size_t i = 0; i < 2 * nr; i++)
		pthread_join(threads[i], NULL);
	end = slabs_kib();
	emit_metric("seconds", (bench.end - start) / 1e9);
	emit_metric("peak", most > end ? most : end);
	emit_metric("end", end);
}

#endif /* BENCH_HACKBENCH_H */
