/* SPDX-License-Identifier: MIT */
/*
 * unit/front/sheaves_fixture.h - a front of sheaves over an engine that counts, or over SLUB
 */
#ifndef UNIT_FRONT_SHEAVES_FIXTURE_H
#define UNIT_FRONT_SHEAVES_FIXTURE_H

#include "bare.h"
#include "exchange.h"
#include "front/sheaves.h"

#define ID 810u

static struct fake fake;
static int cpu; /* that this thread stays on */

/* 7.0, over the fake engine: objects of 64 bytes, whatever size says. */
static inline void make_fake(unsigned int size, unsigned int capacity)
{
	percpu_set_stats(true);
	cpu = here();
	fake_init(&fake, size);
	CHILD_CHECK(front_make(&front, &front_sheaves_ops, &fake, ID, capacity) == 0);
}

static inline void make_slub(const struct front_ops *ops, unsigned int size, unsigned int capacity)
{
	struct engine_params params = { .name = "test",
					.object_size = size,
					.align = 8,
					.id = ID,
					.queued = ops == &front_sheaves_ops,
					.counted = ops == &front_sheaves_ops };

	percpu_set_stats(true);
	cpu = here();
	CHILD_CHECK(slub_ops.init(&engine, &params) == 0);
	front = (struct front){ .ops = ops, .engine = &engine, .id = ID };
	CHILD_CHECK(front.ops->init(&front, capacity) == 0);
}

static inline struct kmem_cache_cpu *cpu_state(void)
{
	return percpu_state(ID, cpu);
}

static inline struct barn *this_barn(void)
{
	return sheaves_barn(&front, os_cpu_to_node((unsigned int)cpu));
}

/* Objects in a sheaf; -1: there is none. */
static inline int in_sheaf(const struct sheaf *sheaf)
{
	return sheaf ? (int)sheaf->nr : -1;
}

static inline void *get(void)
{
	return front.ops->alloc(&front, GFP_KERNEL, NUMA_NO_NODE);
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

static inline void put_many(void **objs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		put(objs[i]);
}

/* n objects that no sheaf holds. */
static inline void take_out(void **objs, unsigned int n)
{
	CHILD_CHECK(front.engine->ops->refill(front.engine, objs, n, GFP_KERNEL, 0) == n);
}

static inline unsigned int stat(unsigned int item)
{
	unsigned int sum = 0;

	for (int i = 0; i < (int)os_topology.nr_cpu_ids; i++)
		sum += percpu_state(ID, i)->stat[item];
	return sum;
}

/* Exactly these events since the last time, and no others. */
#define STATS(...)                                                                     \
	do {                                                                           \
		static const unsigned int expected[NR_ENGINE_STATS] = { __VA_ARGS__ }; \
                                                                                       \
		check_stats(__LINE__, expected);                                       \
	} while (0)

static inline void check_stats(int line, const unsigned int *expected)
{
	for (unsigned int item = 0; item < NR_ENGINE_STATS; item++) {
		unsigned int is = stat(item);

		for (int i = 0; i < (int)os_topology.nr_cpu_ids; i++)
			percpu_state(ID, i)->stat[item] = 0;
		if (is == expected[item])
			continue;
		os_say("line %d: stat %u is %u, not %u", line, item, is, expected[item]);
		CHILD_CHECK(0);
	}
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

static inline void end_slub(void)
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

#endif /* UNIT_FRONT_SHEAVES_FIXTURE_H */
