/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/fixture.h - an arena on a made-up machine, engines made in one line
 *
 * Four CPUs on two nodes; this thread acts for CPU 0 of node 0 unless a test says otherwise.
 */
#ifndef UNIT_ENGINE_SLOBSEG_FIXTURE_H
#define UNIT_ENGINE_SLOBSEG_FIXTURE_H

#include <sys/syscall.h>
#include "engine/slobseg/slobseg.h"
#include "heard.h"
#include "unit/engine/engines.h"

#define UNUSED_STATE __attribute__((unused)) void **state

static inline int slobseg_group_setup(UNUSED_STATE)
{
	machine_init(4, 2);
	return 0;
}

/* From now on the arena does not grow; in children only. */
static inline void no_more_memory(void)
{
	child_deny(SYS_mprotect, ENOMEM);
}

/* Into *e, which must not move: pages point at it. */
static inline void make_with(struct engine *e, const struct engine_ops *ops,
			     struct engine_params params)
{
	e->ops = ops;
	if (ops->init(e, &params))
		abort();
}

static inline void make(struct engine *e, const struct engine_ops *ops, unsigned int size)
{
	make_with(e, ops, plain_params(size));
}

static inline void *take_from(struct engine *e, gfp_t gfp, int node)
{
	void *obj;

	return e->ops->refill(e, &obj, 1, gfp, node) ? obj : NULL;
}

static inline void *take(struct engine *e)
{
	void *obj = take_from(e, 0, -1);

	if (!obj)
		abort();
	return obj;
}

/* Page number i of a node's list, from the head; NULL: it is shorter. */
static inline struct page *listed(struct engine *e, unsigned int node, unsigned int i)
{
	struct list_head *pos = slobseg_of(e)->first[node];

	while (pos && i--)
		pos = pos->next;
	return pos ? list_entry(pos, struct page, lru) : NULL;
}

/* Counts of a heap, all its counters added up. */
static inline struct engine_heap_counters heap_sum(const struct engine_heap *heap)
{
	struct engine_heap_counters sum = { 0 };
	unsigned int i;

	for (i = 0; i <= heap->more_counters; i++) {
		sum.pages += heap->counters[i].pages;
		sum.objects += heap->counters[i].objects;
		sum.blocks += heap->counters[i].blocks;
		sum.bytes += heap->counters[i].bytes;
	}
	return sum;
}

/* Checks the engine and ends it; all its objects must have come back. */
#define END_ENGINE(e)                                                \
	do {                                                         \
		(e)->ops->check(e);                                  \
		assert_int_equal((e)->ops->destroy(e), 0);           \
		slobseg_pow2_ops.heap->check(slobseg_pow2_ops.heap); \
		buddy_check();                                       \
	} while (0)

#endif /* UNIT_ENGINE_SLOBSEG_FIXTURE_H */
