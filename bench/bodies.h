/* SPDX-License-Identifier: MIT */
/*
 * bench/bodies.h - the measured loops, once for every allocator
 *
 * Each body is always_inline and takes the allocator as two function arguments that are constants
 * where it is instantiated (BENCH_INSTANCE), so the compiler puts the allocator's own inline fast
 * path, or the plain call of malloc, into the loop: no contestant pays for an indirect call.
 */
#ifndef BENCH_BODIES_H
#define BENCH_BODIES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "harness.h"

#define ALWAYS static inline __attribute__((__always_inline__))

typedef void *(*alloc_fn)(void *ctx, size_t size);
typedef void (*free_fn)(void *ctx, void *p);

/* The compiler knows nothing about p any more, nor about memory: it cannot drop the pair. */
#define OPAQUE(p) __asm__ volatile("" : "+r"(p) : : "memory")

/* ---- one object: alloc, free ---- */

/* steps pairs. */
ALWAYS void pair_body(alloc_fn alloc, free_fn release, void *ctx, size_t size, uint64_t steps)
{
	for (; steps; steps--) {
		void *p = alloc(ctx, size);

		OPAQUE(p);
		release(ctx, p);
	}
}

/* The same, and a byte of each object is written, as a program does. */
ALWAYS void written_body(alloc_fn alloc, free_fn release, void *ctx, size_t size, uint64_t steps)
{
	for (; steps; steps--) {
		char *p = alloc(ctx, size);

		if (!p)
			die("out of memory");
		*(volatile char *)p = 1;
		release(ctx, p);
	}
}

/* ---- many objects: alloc all, free all ---- */

struct batch {
	void *ctx;
	size_t size;
	size_t count;
	void **objects;
	void **gathered; /* for bulk frees: objects in the order of freeing */
	uint32_t *order; /* freeing order: a permutation of 0..count-1 */
};

/* Every object is written once, as a program that allocates it would. */
ALWAYS void batch_body(alloc_fn alloc, free_fn release, const struct batch *b, uint64_t steps)
{
	void *ctx = b->ctx, **objects = b->objects;
	size_t size = b->size, count = b->count;

	for (; steps; steps--) {
		for (size_t i = 0; i < count; i++) {
			void *p = alloc(ctx, size);

			if (!p)
				die("out of memory");
			*(uint64_t *)p = i;
			objects[i] = p;
		}
		for (size_t i = 0; i < count; i++)
			release(ctx, objects[b->order[i]]);
	}
}

/* ---- two threads ---- */

#define RING_SLOTS 1024 /* so many objects are between the threads, at most */
#define SEGMENT 1024	/* objects between two looks at the clock */
#define MAX_SEGMENTS 16384

/*
 * Bounded queue for one writer and one reader. The reader's acquire of tail is paired with the
 * writer's release (the object is complete); the writer's acquire of head with the reader's
 * release (the slot is free). So that the queue costs little beside the allocator, each side tells
 * the other only every PUBLISH objects how far it is, and before it has to wait; and it looks how
 * far the other is only when it has to.
 */
#define PUBLISH 32

struct ring {
	_Alignas(128) _Atomic uint64_t tail; /* how far the writer is, as the reader knows it */
	_Alignas(128) _Atomic uint64_t head; /* how far the reader is, as the writer knows it */
	_Alignas(128) uint64_t tail_mine;    /* the writer's own; tail <= tail_mine */
	uint64_t head_seen;		     /* the writer's last look at head */
	_Alignas(128) uint64_t head_mine;    /* the reader's own; head <= head_mine */
	uint64_t tail_seen;		     /* the reader's last look at tail */
	_Alignas(128) void *slots[RING_SLOTS];
};

/* NULL, which ends the stream, is sent at once. */
ALWAYS bool ring_try_push(struct ring *r, void *p)
{
	uint64_t tail = r->tail_mine;

	if (tail - r->head_seen == RING_SLOTS) {
		atomic_store_explicit(&r->tail, tail, memory_order_release);
		r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
		if (tail - r->head_seen == RING_SLOTS)
			return false;
	}
	r->slots[tail++ % RING_SLOTS] = p;
	r->tail_mine = tail;
	if (!p || tail % PUBLISH == 0)
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	return true;
}

ALWAYS bool ring_try_pop(struct ring *r, void **p)
{
	uint64_t head = r->head_mine;

	if (head == r->tail_seen) {
		atomic_store_explicit(&r->head, head, memory_order_release);
		r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head == r->tail_seen)
			return false;
	}
	*p = r->slots[head++ % RING_SLOTS];
	r->head_mine = head;
	if (head % PUBLISH == 0)
		atomic_store_explicit(&r->head, head, memory_order_release);
	return true;
}

/* Waiting for the other thread, which may have lost its CPU to somebody else. */
static inline void ring_wait(unsigned int *spins)
{
	if (++*spins % 256 == 0)
		sched_yield();
}

struct duel {
	void *ctx;
	size_t size;
	bool touch; /* the allocating thread writes the object, the freeing one reads it */
	unsigned int ms;
	_Atomic bool stop; /* relaxed: set once by the thread that looks at the clock */
	struct ring ring[2];
	double took[MAX_SEGMENTS]; /* ns per object, one entry per segment */
	size_t segments;
	_Atomic uint64_t sum; /* of what was read: keeps the reads */
};

struct stopwatch {
	double start, segment_start;
	uint64_t left; /* objects until the clock is read again */
};

static inline void stopwatch_start(struct stopwatch *w)
{
	w->start = w->segment_start = now_ns();
	w->left = SEGMENT;
}

/* One object more. After the time asked for, tells both threads to stop. */
ALWAYS void stopwatch_tick(struct stopwatch *w, struct duel *d)
{
	double now;

	if (--w->left)
		return;
	now = now_ns();
	if (d->segments < MAX_SEGMENTS)
		d->took[d->segments++] = (now - w->segment_start) / SEGMENT;
	if (now - w->start > d->ms * 1e6 && d->segments > 1)
		atomic_store_explicit(&d->stop, true, memory_order_relaxed);
	w->segment_start = now;
	w->left = SEGMENT;
}

/* Allocates and sends until told to stop; NULL says that nothing more comes. */
ALWAYS void produce_body(alloc_fn alloc, struct duel *d)
{
	struct ring *ring = &d->ring[0];
	void *ctx = d->ctx;
	size_t size = d->size;
	unsigned int spins = 0;
	uint64_t i = 0;

	while (!atomic_load_explicit(&d->stop, memory_order_relaxed)) {
		void *p = alloc(ctx, size);

		if (!p)
			die("out of memory");
		if (d->touch)
			*(uint64_t *)p = i++;
		while (!ring_try_push(ring, p))
			ring_wait(&spins);
	}
	while (!ring_try_push(ring, NULL))
		ring_wait(&spins);
}

ALWAYS void consume_body(free_fn release, struct duel *d)
{
	struct ring *ring = &d->ring[0];
	void *ctx = d->ctx, *p;
	struct stopwatch watch;
	unsigned int spins = 0;
	uint64_t sum = 0;

	stopwatch_start(&watch);
	for (;;) {
		while (!ring_try_pop(ring, &p))
			ring_wait(&spins);
		if (!p)
			break;
		if (d->touch)
			sum += *(uint64_t *)p;
		release(ctx, p);
		stopwatch_tick(&watch, d);
	}
	atomic_fetch_add_explicit(&d->sum, sum, memory_order_relaxed);
}

/* Both directions: each thread allocates for the other and frees what it gets. self: 0 or 1. */
ALWAYS void ping_pong_body(alloc_fn alloc, free_fn release, struct duel *d, int self)
{
	struct ring *out = &d->ring[self], *in = &d->ring[!self];
	void *ctx = d->ctx, *mine = NULL, *p;
	size_t size = d->size;
	bool sent_end = false, got_end = false;
	struct stopwatch watch;
	unsigned int spins = 0;
	uint64_t sum = 0;

	stopwatch_start(&watch);
	while (!sent_end || !got_end) {
		bool moved = false;

		if (!mine && !atomic_load_explicit(&d->stop, memory_order_relaxed)) {
			mine = alloc(ctx, size);
			if (!mine)
				die("out of memory");
			if (d->touch)
				*(uint64_t *)mine = sum;
		}
		if (!sent_end && ring_try_push(out, mine)) {
			sent_end = !mine;
			mine = NULL;
			moved = true;
		}
		if (!got_end && ring_try_pop(in, &p)) {
			moved = true;
			got_end = !p;
			if (p) {
				if (d->touch)
					sum += *(uint64_t *)p;
				release(ctx, p);
				if (self == 0)
					stopwatch_tick(&watch, d);
			}
		}
		if (!moved)
			ring_wait(&spins);
	}
	atomic_fetch_add_explicit(&d->sum, sum, memory_order_relaxed);
}

/* ---- one set of loops per allocator ---- */

struct bodies {
	void (*pairs)(void *ctx, size_t size, uint64_t steps);
	void (*written)(void *ctx, size_t size, uint64_t steps);
	void (*batch)(const struct batch *b, uint64_t steps);
	void (*produce)(struct duel *d);
	void (*consume)(struct duel *d);
	void (*ping_pong)(struct duel *d, int self);
};

#define BENCH_INSTANCE(prefix, alloc, release)                                             \
	static __attribute__((noinline)) void prefix##_pairs(void *ctx, size_t size,       \
							     uint64_t steps)               \
	{                                                                                  \
		pair_body(alloc, release, ctx, size, steps);                               \
	}                                                                                  \
	static __attribute__((noinline)) void prefix##_written(void *ctx, size_t size,     \
							       uint64_t steps)             \
	{                                                                                  \
		written_body(alloc, release, ctx, size, steps);                            \
	}                                                                                  \
	static __attribute__((noinline)) void prefix##_batch(const struct batch *b,        \
							     uint64_t steps)               \
	{                                                                                  \
		batch_body(alloc, release, b, steps);                                      \
	}                                                                                  \
	static __attribute__((noinline)) void prefix##_produce(struct duel *d)             \
	{                                                                                  \
		produce_body(alloc, d);                                                    \
	}                                                                                  \
	static __attribute__((noinline)) void prefix##_consume(struct duel *d)             \
	{                                                                                  \
		consume_body(release, d);                                                  \
	}                                                                                  \
	static __attribute__((noinline)) void prefix##_ping_pong(struct duel *d, int self) \
	{                                                                                  \
		ping_pong_body(alloc, release, d, self);                                   \
	}                                                                                  \
	static const struct bodies prefix##_bodies = {                                     \
		prefix##_pairs,	  prefix##_written, prefix##_batch,                        \
		prefix##_produce, prefix##_consume, prefix##_ping_pong,                    \
	}

#endif /* BENCH_BODIES_H */
