/* SPDX-License-Identifier: MIT */
/*
 * front/sheaves_capacity.c - how many objects a sheaf holds; changed while in use (spec A2)
 *
 * Why:        docs/adr/0049, docs/adr/0055.
 * Data:       struct sheaves: the capacity of the sheaves that are made from now on.
 * Invariants: see front/sheaves.h.
 * Locks:      the registry's: one change at a time. Those of barns and CPUs one after the other:
 *             the contract is in sheaves.c.
 * Flow:       called by sheaves.c; calls sheaves_barn.c and sheaves_all.c.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "front/sheaves.h"

unsigned int sheaves_capacity_by_size(unsigned int stride)
{
	unsigned int base = 60;

	if (stride >= PAGE_SIZE)
		base = 4;
	else if (stride >= 1024)
		base = 12;
	else if (stride >= 256)
		base = 26;
	/* what fits into the next size of kmalloc, which is a power of two for all of these */
	return (unsigned int)(((2ul << ilog2(sizeof(struct sheaf) + base * sizeof(void *) - 1)) -
			       sizeof(struct sheaf)) /
			      sizeof(void *));
}

int sheaves_set_capacity(struct front *f, unsigned int objects)
{
	unsigned int capacity = objects ? objects : sheaves_capacity_by_size(f->engine->size);

	if (capacity > SHEAVES_MAX_CAPACITY) /* FRONT_CAPACITY_NONE, too */
		return -EINVAL;
	if (capacity == sheaves_capacity(f))
		return 0;
	store_relaxed(&sheaves_of(f)->capacity, capacity);
	sheaves_barns_drain(f); /* before the CPUs: they take sheaves from there */
	sheaves_replace_cpus(f);
	return 0;
}
