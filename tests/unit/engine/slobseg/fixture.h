/* SPDX-License-Identifier: MIT */
/*
 * unit/engine/slobseg/fixture.h - an arena on a made-up machine, engines made in one line
 *
 * Four CPUs on two nodes; this thread acts for CPU 0 of node 0 unless a test says otherwise.
 */
#ifndef UNIT_ENGINE_SLOBSEG_FIXTURE_H
#define UNIT_ENGINE_SLOBSEG_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bits.h"
#include "child.h"
#include "engine/slobseg/slobseg.h"
#include "heard.h"
#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"

#define UNUSED_STATE __attribute__((unused)) void **state

static inline int slobseg_group_setup(UNUSED_STATE)
{
	os_cpu_init();
	if (os_topology_set(4, 2) || arena_init(os_topology.nr_cpu_ids))
		abort();
	buddy_init(os_topology.nr_nodes);
	return 0;
}

/* From now on the arena does not grow; in children only. */
static inline void no_more_memory(void)
{
	child_deny(SYS_mprotect, ENOMEM);
}

static inline struct engine_params sized(unsigned int size)
{
	return (struct engine_params){ .name = "test", .object_size = size, .align = 8 };
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
	make_with(e, ops, sized(size));
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

static inline void put(struct engine *e, void *obj)
{
	e->ops->flush(e, &obj, 1);
}

static inline struct engine_stats stats_of(struct engine *e)
{
	struct engine_stats stats;

	e->ops->stats(e, &stats);
	return stats;
}

/* Pages that the page allocator has handed out, of all nodes. */
static inline unsigned long pages_in_use(void)
{
	unsigned long used = 0;
	struct buddy_stats stats;
	unsigned int node;

	for (node = 0; node < buddy_nr_nodes; node++) {
		buddy_stats(node, &stats);
		used += stats.nr_total - stats.nr_free;
	}
	return used;
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
#define END_ENGINE(e)                                      \
	do {                                               \
		(e)->ops->check(e);                        \
		assert_int_equal((e)->ops->destroy(e), 0); \
		slobseg_pow2_ops.heap->check();            \
		buddy_check();                             \
	} while (0)

#endif /* UNIT_ENGINE_SLOBSEG_FIXTURE_H */
