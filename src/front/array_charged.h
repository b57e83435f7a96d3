/* SPDX-License-Identifier: MIT */
/*
 * front/array_charged.h - arrays whose objects are charged to somebody already, one for each CPU
 *
 * Why:        docs/adr/0067, docs/adr/0071.
 * Data:       a third word of each cache on each CPU (front/percpu.h): the top of a sheaf whose
 *             owner (front/depot.h) says who its objects are charged to; 0 or a stopped word: none.
 * Invariants: a sheaf in that word has an owner, which is 0 (nobody) in caches with keys only, and
 *             SHEAF_OWNED_CAPACITY objects at most. No other sheaf ever gets there, and it never
 *             gets into a depot. Who takes one out of the word has it alone. With keys the owner's
 *             is beside the word, for inline hits (<uslab/account.h>).
 * Locks:      none for hits and a withdrawal; one that the caller has for each CPU, for installs
 *             and for taking an array away: array_charged.c has the contract.
 * Flow:       used by array.c, array_capacity.c, array_charged.c, array_idle.c, cache/switch.c,
 *             cache/group/hit.h and cache/group/array.c, which knows what a charge is: the others
 *             ask it by array_charged to empty these arrays.
 *
 * Only with restartable sequences: without, there are none.
 */
#ifndef FRONT_ARRAY_CHARGED_H
#define FRONT_ARRAY_CHARGED_H

#include "arch/rseq_ops.h"
#include "base/bits.h"
#include "front/depot.h"
#include "front/front.h"
#include "front/percpu.h"

BUILD_ASSERT(SHEAF_OWNER_OFFSET == sizeof(uint32_t));

/* Objects of such an array, where the front's hold that many. */
static inline unsigned int array_charged_capacity(unsigned int capacity)
{
	return MIN(capacity, (unsigned int)SHEAF_OWNED_CAPACITY);
}

/*
 * An object of this CPU's array, if it is the owner's; false: there is none. handle:
 * percpu_charged_handle() of the cache, also below.
 */
static always_inline bool array_charged_pop(void *handle, uint32_t owner, void **obj)
{
	return likely(percpu_rseq) && arch_rseq_pop_of(os_rseq_offset, handle, owner, obj);
}

/* false: the array is not the owner's, or it is full. */
static always_inline bool array_charged_push(void *handle, uint32_t owner, void *obj)
{
	return likely(percpu_rseq) && arch_rseq_push_of(os_rseq_offset, handle, owner, obj);
}

/* Takes the array of this CPU; 0: it has none. */
uintptr_t array_charged_withdraw(struct front *f);
/*
 * Makes it that of cpu, if this thread runs there and it has none; owner: as <uslab/layout.h> has
 * it. false: the caller still has it; also if the front is closed or its arrays have another
 * capacity by now. The CPU's lock is held.
 */
bool array_charged_install(struct front *f, int cpu, uintptr_t top, uint64_t owner);
/* Takes the array of any CPU; 0: it has none, or it cannot be taken. Its lock is held. */
uintptr_t array_charged_take(struct front *f, int cpu);
/* Objects in them; exact when quiet. */
unsigned long array_charged_held(const struct front *f);

/* What is done with them by whoever knows what a charge is. Set once, before there are any. */
struct array_charged_ops {
	/* Those of all CPUs are emptied; the registry lock is held. */
	void (*drain)(struct front *f);
	/* That of this CPU is. */
	void (*give_up)(struct front *f);
	/* After a drain, before the cache's number is used again. */
	void (*forget)(struct front *f);
};

extern const struct array_charged_ops *array_charged;

/* All of them are emptied, whoever they belong to. The registry lock is held. */
static inline void array_charged_drain(struct front *f)
{
	const struct array_charged_ops *ops =
		load_acquire(&array_charged); /* pairs with its store */

	if (ops)
		ops->drain(f);
}

#endif /* FRONT_ARRAY_CHARGED_H */
