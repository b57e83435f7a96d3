/* SPDX-License-Identifier: MIT */
/*
 * os/memory/policy.c - a thread's memory policy: from which node its objects come (spec 0.4)
 *
 * Data:       struct policy, one for each thread.
 * Invariants: see os/memory/policy.h; bits of the mask are below os_topology.nr_nodes.
 * Locks:      none.
 * Flow:       see policy.h; calls os/cpu/cpu.h.
 *
 * Distances: the machine's own are not read; the difference of the numbers stands for them, and of
 * two nodes equally far the higher one is nearer, as the kernel builds its lists.
 */
#include <errno.h>

#include "base/assert.h"
#include "os/cpu/cpu.h"
#include "os/memory/policy.h"

#define WORD_BITS 64u

BUILD_ASSERT(OS_MAX_NODES <= WORD_BITS); /* a mask is one word */

struct policy {
	uint64_t mask;
	int mode;
	unsigned int next; /* INTERLEAVE: where the search for the next node begins */
};

/* initial-exec: an access must never allocate. */
static __thread struct policy policy __attribute__((tls_model("initial-exec")));

/* The nodes of a caller's mask that exist here. */
static uint64_t mask_of(const unsigned long *nodes, unsigned int nr_nodes)
{
	unsigned int known = os_topology.nr_nodes < nr_nodes ? os_topology.nr_nodes : nr_nodes;

	if (!nodes || !known)
		return 0;
	return nodes[0] & ~0ull >> (WORD_BITS - known);
}

static bool any_bit(const unsigned long *nodes, unsigned int nr_nodes)
{
	for (unsigned int n = 0; nodes && n < nr_nodes; n++)
		if (nodes[n / WORD_BITS] >> n % WORD_BITS & 1)
			return true;
	return false;
}

int os_policy_set(int mode, const unsigned long *nodes, unsigned int nr_nodes)
{
	struct policy new_policy = { .mode = mode, .mask = mask_of(nodes, nr_nodes) };
	bool given = any_bit(nodes, nr_nodes);

	switch (mode) {
	case OS_POLICY_DEFAULT:
	case OS_POLICY_LOCAL:
		if (given)
			return -EINVAL;
		break;
	case OS_POLICY_PREFERRED:
		if (!given)
			new_policy.mode = OS_POLICY_LOCAL;
		else if (!new_policy.mask)
			return -EINVAL;
		break;
	case OS_POLICY_BIND:
	case OS_POLICY_INTERLEAVE:
	case OS_POLICY_PREFERRED_MANY:
		if (!new_policy.mask)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}
	policy = new_policy;
	return 0;
}

static unsigned int lowest(uint64_t mask)
{
	return (unsigned int)__builtin_ctzl(mask);
}

/* The first node of the mask at or after `from`, going round. */
static unsigned int next_node(uint64_t mask, unsigned int from)
{
	uint64_t above = mask & ~0ull << from;

	return lowest(above ? above : mask);
}

static unsigned int interleave(struct policy *p)
{
	unsigned int node = next_node(p->mask, p->next);

	p->next = (node + 1) % WORD_BITS;
	return node;
}

static unsigned int nearest(uint64_t mask, unsigned int local)
{
	for (unsigned int distance = 0; distance < WORD_BITS; distance++) {
		if (local + distance < WORD_BITS && mask >> (local + distance) & 1)
			return local + distance;
		if (distance <= local && mask >> (local - distance) & 1)
			return local - distance;
	}
	return local;
}

unsigned int os_policy_node(unsigned int local)
{
	switch (policy.mode) {
	case OS_POLICY_PREFERRED:
		return lowest(policy.mask);
	case OS_POLICY_INTERLEAVE:
		return interleave(&policy);
	case OS_POLICY_BIND:
	case OS_POLICY_PREFERRED_MANY:
		return nearest(policy.mask, local);
	default:
		return local;
	}
}
