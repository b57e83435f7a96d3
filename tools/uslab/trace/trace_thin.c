/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_thin.c - a trace with a part of its objects, over all of its time
 *
 * Flow:       called by compare/compare_trace.c, and to choose parts by replay/replay_stage.c.
 *             In: struct trace_ops; out: the same with fewer operations.
 *
 * Which part an object is in is decided by a hash of its number, the same in every run: traces
 * repeat patterns (header, data, header, data, ...), and every n-th object would always be the same
 * of them.
 */
#include "inspect/mix.h"
#include "trace/trace_thin.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define DROPPED UINT32_MAX

struct thinning {
	struct trace_ops *t;
	unsigned int stride;
	uint32_t *slot_of;    /* by old slot: the new one of the object there, or DROPPED */
	uint32_t *free_slots; /* new slots that were given back, a stack */
	uint32_t nr_free_slots;
	uint32_t nr_slots;
	uint64_t nr_objects; /* seen so far */
	size_t nr_ops;
};

unsigned int trace_part(uint64_t number, unsigned int parts)
{
	return (unsigned int)(mix_bits(mix_multiply(number)) % parts);
}

static uint32_t take_slot(struct thinning *n)
{
	return n->nr_free_slots ? n->free_slots[--n->nr_free_slots] : n->nr_slots++;
}

/* Counts an operation that stays. */
static void count(struct trace_ops *t, const struct trace_op *op, size_t index)
{
	struct trace_counts *c = &t->counts;
	uint64_t size = t->classes[op->class].size;

	if (op->kind != TRACE_OP_ALLOC) {
		c->matched_frees++;
		c->implied_frees += op->kind == TRACE_OP_IMPLIED_FREE;
		c->live_objects--;
		c->live_bytes -= size;
		return;
	}
	c->allocations++;
	c->live_objects++;
	c->live_bytes += size;
	if (c->peak_objects < c->live_objects)
		c->peak_objects = c->live_objects;
	if (c->peak_bytes < c->live_bytes) {
		c->peak_bytes = c->live_bytes;
		c->peak_op = index;
	}
}

/* Moves operation i to its new place. */
static void keep(struct thinning *n, size_t i, struct trace_op op)
{
	size_t to = n->nr_ops++;

	count(n->t, &op, to);
	n->t->ops[to] = op;
	n->t->stamps[to] = n->t->stamps[i];
}

static void look_at(struct thinning *n, size_t i)
{
	struct trace_op op = n->t->ops[i];
	uint32_t *slot = &n->slot_of[op.slot];

	if (op.kind == TRACE_OP_ALLOC) {
		*slot = trace_part(n->nr_objects, n->stride) == 0 ? take_slot(n) : DROPPED;
		n->nr_objects++;
	}
	if (*slot == DROPPED)
		return;
	op.slot = *slot & (TRACE_MAX_SLOTS - 1);
	if (op.kind != TRACE_OP_ALLOC)
		n->free_slots[n->nr_free_slots++] = *slot;
	keep(n, i, op);
}

static void forget_counts(struct trace_counts *c)
{
	c->allocations = 0;
	c->matched_frees = 0;
	c->implied_frees = 0;
	c->live_objects = 0;
	c->live_bytes = 0;
	c->peak_objects = 0;
	c->peak_bytes = 0;
	c->peak_op = 0;
}

static void thin_all(struct thinning *n)
{
	struct trace_ops *t = n->t;

	forget_counts(&t->counts);
	for (size_t i = 0; i < t->nr_ops; i++)
		look_at(n, i);
	t->nr_ops = n->nr_ops;
	t->nr_slots = n->nr_slots;
}

int trace_thin(struct trace_ops *t, unsigned int stride)
{
	struct thinning n = { .t = t, .stride = stride };

	n.slot_of = calloc(t->nr_slots + 1u, sizeof(*n.slot_of));
	n.free_slots = calloc(t->nr_slots + 1u, sizeof(*n.free_slots));
	if (n.slot_of && n.free_slots)
		thin_all(&n);
	free(n.slot_of);
	free(n.free_slots);
	return n.nr_ops ? 0 : -ENOMEM;
}
