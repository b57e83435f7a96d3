/* SPDX-License-Identifier: MIT */
/*
 * unit/front/depot_fixture.h - a depot, CPUs that bring it sheaves, and made-up objects
 */
#ifndef UNIT_FRONT_DEPOT_FIXTURE_H
#define UNIT_FRONT_DEPOT_FIXTURE_H

#include "front/depot.h"
#include "fake_engine.h"

#define CAPACITY 20u
#define BOTTOM ((void *)(uintptr_t)(USLAB_SHEAF_CAPACITY - CAPACITY)) /* its index */

static struct depot depot;
static const struct depot_limits limits = { .capacity = CAPACITY, .max_full = 3, .max_empty = 2 };

/* A sheaf with n made-up objects. */
static inline uintptr_t sheaf_of(unsigned int n, uintptr_t mark)
{
	uintptr_t top = sheaf_new(CAPACITY);

	CHILD_CHECK(top);
	while (n--) {
		top += sizeof(void *);
		*(void **)top = (void *)mark++;
	}
	return top;
}

/* Lanes, none of whose CPUs is known to free or to allocate. */
static inline void make_lanes(void)
{
	CHILD_CHECK(depot_put(&depot, DEPOT_EMPTY, sheaf_of(0, 0)));
	sheaf_delete(depot_get(&depot, DEPOT_EMPTY));
	for (unsigned int i = 0; i < depot.nr_lanes; i++)
		for (unsigned int kind = 0; kind < DEPOT_KINDS; kind++)
			depot.lanes[i].stack[kind].made = 0;
}

static inline void init_as(const struct depot_limits *wanted)
{
	depot_init(&depot, wanted);
	make_lanes();
}

/* Made-up CPUs, so that the thread stays on one; two of them share each of the first lanes. */
static inline void make(void)
{
	floors_init(DEPOT_LANES + 2, 1);
	os_act_as_cpu(0);
	init_as(&limits);
}

static inline void put_as(unsigned int cpu, uintptr_t top)
{
	os_act_as_cpu(cpu);
	CHILD_CHECK(depot_put(&depot, DEPOT_FULL, top));
	depot_check(&depot);
}

static inline uintptr_t get_as(unsigned int cpu)
{
	os_act_as_cpu(cpu);
	return depot_get(&depot, DEPOT_FULL);
}

/* A depot of which a lane has some for others from batch sheaves on: 16 of 64. */
static inline void make_large(void)
{
	const struct depot_limits large = { CAPACITY, 64, 64 };

	make();
	init_as(&large);
	CHILD_CHECK(depot.batch == 16);
}

static inline void fill_as(unsigned int cpu, unsigned int sheaves)
{
	while (sheaves--)
		put_as(cpu, sheaf_of(1, 1));
}

#endif /* UNIT_FRONT_DEPOT_FIXTURE_H */
