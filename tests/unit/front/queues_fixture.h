/* SPDX-License-Identifier: MIT */
/*
 * unit/front/queues_fixture.h - the queues front over an engine that counts, or over a real one
 *
 * The counting engine is fake_engine.h's with the two optional ops of engine/engine.h.
 */
#ifndef UNIT_FRONT_QUEUES_FIXTURE_H
#define UNIT_FRONT_QUEUES_FIXTURE_H

#include "bare.h"
#include "exchange.h"
#include "front/queues.h"

#define ID 800u

static struct fake fake;
static int cpu; /* that this thread stays on */
static uint64_t now_ms = 1000;
static unsigned int last_tune;
static unsigned int reaps[4]; /* by node */

static uint64_t fake_clock(void)
{
	return now_ms;
}

static void fake_tune(__attribute__((unused)) struct engine *e, unsigned int batchcount)
{
	last_tune = batchcount;
}

static unsigned long fake_reap(__attribute__((unused)) struct engine *e, unsigned int node)
{
	reaps[node]++;
	return 0;
}

static struct engine_ops counting_ops;

/* Over the fake engine: objects of 64 bytes, whatever size says. */
static inline int make_fake(unsigned int size, unsigned int capacity)
{
	cpu = here();
	queues_clock = fake_clock;
	fake_init(&fake, size);
	counting_ops = fake_ops;
	counting_ops.tune = fake_tune;
	counting_ops.reap = fake_reap;
	fake.e.ops = &counting_ops;
	return front_make(&front, &front_queues_ops, &fake, ID, capacity);
}

static inline void make_real(const struct engine_ops *ops, unsigned int size, unsigned int capacity)
{
	struct engine_params params = { .name = "test", .object_size = size, .align = 8, .id = ID };

	cpu = here();
	queues_clock = fake_clock;
	CHILD_CHECK(ops->init(&engine, &params) == 0);
	engine.ops = ops;
	front = (struct front){ .ops = &front_queues_ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, capacity) == 0);
}

static inline struct queues *queues(void)
{
	return queues_of(&front);
}

static inline void *get(void)
{
	return front.ops->alloc(&front, GFP_KERNEL, NUMA_NO_NODE);
}

static inline void *get_on(int node, gfp_t gfp)
{
	return front.ops->alloc(&front, gfp, node);
}

static inline void put(void *obj)
{
	front.ops->free(&front, obj);
}

static inline void get_many(void **objs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		CHILD_CHECK((objs[i] = get()) != NULL);
}

/* n objects that no array holds. */
static inline void take_out(void **objs, unsigned int n)
{
	CHILD_CHECK(front.engine->ops->refill(front.engine, objs, n, GFP_KERNEL, 0) == n);
}

/* Objects in a CPU's array. */
static inline unsigned int in_array(int of)
{
	struct kmem_cache_cpu *c = percpu_state(ID, of);

	return c->bottom ? (unsigned int)((c->top - c->bottom) / sizeof(void *)) : 0;
}

/* Entry i of this CPU's array; 0 is the oldest object. */
static inline void *entry(unsigned int i)
{
	return ((void **)percpu_state(ID, cpu)->bottom)[1 + i];
}

static inline struct queue *shared_array(void)
{
	return &queues()->node[os_cpu_to_node((unsigned int)cpu)].shared;
}

static inline void end_real(void)
{
	balance(0);
	front.ops->drain(&front);
	CHILD_CHECK(front.ops->held(&front) == 0);
	balance(0);
	CHILD_CHECK(engine.ops->destroy(&engine) == 0);
	front.ops->destroy(&front);
	meta_check();
	buddy_check();
}

/* Nothing is with the program: all comes back to the fake engine. */
static inline void end_fake(void)
{
	front.ops->check(&front);
	CHILD_CHECK(front.ops->held(&front) == fake.nr_out);
	front.ops->drain(&front);
	CHILD_CHECK(front.ops->held(&front) == 0 && fake.nr_out == 0);
	front.ops->check(&front);
	front.ops->destroy(&front);
	meta_check();
}

/* ---- threads that free what others allocated, and move about ---- */

#define CHURN_THREADS 4

static unsigned int churn_rounds;
static unsigned int churning;

static void *churn(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;

	for (unsigned int round = 0; round < churn_rounds; round++) {
		int node = round % 97 ? NUMA_NO_NODE : (int)(seed % os_topology.nr_nodes);
		void *obj = exchange_object(get_on(node, 0), EXCHANGE_SLOTS, &seed);

		if (obj)
			put(obj);
		if (round % 64 == 0)
			move_somewhere(&seed);
	}
	fetch_sub(&churning, 1);
	return NULL;
}

/* Runs churn in all threads, and beside(turn) here as long as they work; then all must be there. */
static inline void churn_with(void (*beside)(unsigned int turn))
{
	unsigned int seeds[CHURN_THREADS] = { 1, 2, 3, 4 };
	pthread_t threads[CHURN_THREADS];

	churn_rounds = bare_process() ? 60000 : 20000;
	churning = CHURN_THREADS;
	for (unsigned int i = 0; i < CHURN_THREADS; i++)
		CHILD_CHECK(pthread_create(&threads[i], NULL, churn, &seeds[i]) == 0);
	for (unsigned int turn = 0; load_relaxed(&churning); turn++) {
		if (beside)
			beside(turn);
		usleep(100);
	}
	for (unsigned int i = 0; i < CHURN_THREADS; i++)
		pthread_join(threads[i], NULL);
	exchange_end();
	end_real();
}

#endif /* UNIT_FRONT_QUEUES_FIXTURE_H */
