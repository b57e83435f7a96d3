/* SPDX-License-Identifier: MIT */
/*
 * unit/front/array_fixture.h - the array front over an engine that counts its calls
 */
#ifndef UNIT_FRONT_ARRAY_FIXTURE_H
#define UNIT_FRONT_ARRAY_FIXTURE_H

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

#endif /* UNIT_FRONT_ARRAY_FIXTURE_H */
