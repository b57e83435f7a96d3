/* SPDX-License-Identifier: MIT */
/*
 * unit/front/exchange.h - threads that pass objects of a front to one another
 *
 * Data:       the front and the engine below it, a real one, that a test looks at; slots with
 *             objects that nobody is working on.
 * Invariants: an object is in one slot, or one thread's alone: it carries its own address at its
 *             start and the complement at its end. What somebody else got as well carries something
 *             else by now.
 * Locks:      none; slots are exchanged.
 * Flow:       each thread calls exchange_object() with what it got, and frees what comes back;
 *             exchange_end() has the books checked.
 */
#ifndef UNIT_FRONT_EXCHANGE_H
#define UNIT_FRONT_EXCHANGE_H

#include "base/atomic.h"
#include "fake_engine.h"
#include "threads.h"

#define EXCHANGE_SLOTS 512

static struct engine engine;
static struct front front;
static void *exchange_slots[EXCHANGE_SLOTS];

/* All objects of the engine are in use, held by the front or free in slabs, each once. */
static inline void balance(unsigned long in_use)
{
	struct engine_stats stats;

	front.ops->check(&front);
	engine.ops->check(&engine);
	engine.ops->stats(&engine, &stats);
	CHILD_CHECK(stats.total_objects - stats.free_objects - front.ops->held(&front) == in_use);
}

/* This thread goes on elsewhere. */
static inline void move_somewhere(unsigned int *seed)
{
	unsigned int target = (unsigned int)rand_r(seed) % os_topology.nr_cpu_ids;
	cpu_set_t set;

	if (os_topology.made_up) {
		os_act_as_cpu(target);
		return;
	}
	CPU_ZERO(&set);
	CPU_SET(target, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Leaves an object in one of nr slots. Returns what was there, for this thread to free, or NULL.
 */
static inline void *exchange_object(unsigned long *obj, unsigned int nr, unsigned int *seed)
{
	unsigned int last = engine.object_size / sizeof(*obj) - 1;

	CHILD_CHECK(obj != NULL);
	obj[0] = (unsigned long)obj;
	obj[last] = ~(unsigned long)obj;
	obj = xchg(&exchange_slots[(unsigned int)rand_r(seed) % nr], (void *)obj);
	if (obj) {
		CHILD_CHECK(obj[0] == (unsigned long)obj && obj[last] == ~obj[0]);
		obj[0] = 0;
	}
	return obj;
}

/* The objects in slots are all there are; then they are freed. */
static inline void exchange_end(void)
{
	unsigned long in_use = 0;

	for (unsigned int i = 0; i < EXCHANGE_SLOTS; i++)
		in_use += exchange_slots[i] != NULL;
	balance(in_use);
	for (unsigned int i = 0; i < EXCHANGE_SLOTS; i++)
		if (exchange_slots[i])
			front.ops->free(&front, exchange_slots[i]);
}

#endif /* UNIT_FRONT_EXCHANGE_H */
