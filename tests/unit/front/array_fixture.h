/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_fixture.h - the array front over an engine that counts its calls
 */
#ifndef UNIT_FRONT_ARRAY_FIXTURE_H
#define UNIT_FRONT_ARRAY_FIXTURE_H

#include <pthread.h>
#include <sched.h>

#include "base/atomic.h"
#include "fake_engine.h"
#include "front/array.h"

#define ID 500u
#define CAP 8u /* objects in a sheaf of most tests */

static struct fake fake;
static struct front front;

static inline void make(unsigned int capacity)
{
	fake_init(&fake, FAKE_SIZE);
	CHILD_CHECK(front_make(&front, &front_array_ops, &fake, ID, capacity) == 0);
}

static inline void *get(void)
{
	return front.ops->alloc(&front, GFP_KERNEL, NUMA_NO_NODE);
}

/*
 * While another thread drains: the objects are all of one node, whose depot may have those that a
 * CPU of another node wants.
 */
static inline void *get_in_time(void)
{
	void *obj;

	while (!(obj = get()))
		sched_yield();
	return obj;
}

static inline void put(void *obj)
{
	front.ops->free(&front, obj);
}

static inline unsigned int number(void *obj)
{
	return obj ? fake_number(&fake, obj) : ~0u;
}

/* What is out of the engine is in use or in the front; both agree with the books. */
static inline void balance(unsigned int in_use)
{
	front.ops->check(&front);
	CHILD_CHECK(front.ops->held(&front) + in_use == fake.nr_out);
}

/* For several threads: the engine is called by one at a time, and each object has one owner. */
static struct {
	pthread_mutex_t lock;
	unsigned int owner[FAKE_OBJECTS];
	bool stop;
	pthread_t slow; /* atomic; this thread takes its time to return objects */
	bool is_flushing;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline unsigned int locked_refill(struct engine *e, void **objs, unsigned int want,
					 gfp_t gfp, int node)
{
	unsigned int n;

	pthread_mutex_lock(&shared.lock);
	n = fake_refill(e, objs, want, gfp, node);
	pthread_mutex_unlock(&shared.lock);
	return n;
}

static inline void locked_flush(struct engine *e, void **objs, unsigned int n)
{
	if (pthread_self() == load_relaxed(&shared.slow)) {
		store_relaxed(&shared.is_flushing, true);
		usleep(10000);
	}
	pthread_mutex_lock(&shared.lock);
	fake_flush(e, objs, n);
	pthread_mutex_unlock(&shared.lock);
}

static const struct engine_ops locked_ops = {
	.name = "locked",
	.refill = locked_refill,
	.flush = locked_flush,
};

static inline void make_shared(void)
{
	fake.e.ops = &locked_ops;
}

/* Threads 1, 2, ...: each object that one has is its own. */
static inline void *burst_together(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	void *p[110];

	for (unsigned int round = 0; round < 200; round++) {
		if (os_topology.made_up)
			os_act_as_cpu((round + me) % 4);
		for (unsigned int i = 0; i < 110; i++) {
			p[i] = get_in_time();
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], 0u, me));
		}
		for (unsigned int i = 0; i < 110; i++) {
			CHILD_CHECK(cmpxchg(&shared.owner[number(p[i])], me, 0u));
			put(p[i]);
		}
	}
	return NULL;
}

#endif /* UNIT_FRONT_ARRAY_FIXTURE_H */
