/* SPDX-License-Identifier: MIT */
/*
 * front/array_capacity.c - how many objects an array and a depot hold; changed while in use
 *
 * Why:        docs/adr/0055.
 * Data:       f->gate: the capacity that arrays have, and why none may be installed.
 * Invariants: a sheaf has the capacity that it was made with for as long as it is there, and says
 *             which (depot.h). Installs and depots take none but those of the capacity of now.
 * Locks:      the registry lock, held by callers; inside growth_lock, the lanes', the engine's.
 * Flow:       called through front_array_ops; calls array.c, array_limit.c,
 *             depot_limit.c, page/realtime.h.
 *
 * A change has three steps, in this order:
 *   1. Each depot begins anew with the new capacity; what it held goes back to the slabs. A miss
 *      finds no array there until step 3, and the arrays that it puts there are emptied.
 *   2. The front is closed as for a drain, and all CPUs' arrays are taken. Meanwhile each call goes
 *      to the engine, for as long as a fence for each CPU and two for each array take.
 *   3. The new capacity is stored, and then the front is opened.
 * A thread that owns sheaves of the old capacity meanwhile (it was preempted in a miss, or is in a
 * signal handler) may go on at any later time. Whatever it does with one goes by the sheaf's own
 * capacity. To install it, or to put it into a depot, is refused from step 2 and from step 1 on, as
 * both compare capacities, the install in its sequence, together with closed: there is no moment
 * between look and store. An install that had looked before step 2 is over after its fence, and the
 * CPU's words are looked at after that (percpu_stop_both(), percpu_settle()). So after step 3 no
 * word and no depot has a sheaf of the old capacity, and none gets one. A capacity that comes back
 * later is no mistake: what matters is the capacity that the sheaf has, not when it was made.
 *
 * If a CPU cannot be fenced (no membarrier, and the thread may not run there), step 1 is taken back
 * and the front opened as it was.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "front/array_charged.h"
#include "front/array_sheaf.h"
#include "os/cpu/cpu.h"
#include "page/meta.h"
#include "page/realtime.h"

#define ARRAY_MAX_FULL 32 /* sheaves in a depot (the kernel has 10, whatever the size) */
/*
 * Empty sheaves in a depot: at most this many, or as many as full ones. A program that allocates
 * all cached objects and frees them again then needs no new sheaf.
 */
#define ARRAY_MIN_EMPTY 10u
/*
 * In realtime: objects that a sheaf holds, at most, unless more are asked for, and so those that
 * one call may have to take from slabs or give back to them.
 */
#define ARRAY_REALTIME_CAPACITY 8u
#define SMALL_OBJECT 256u /* bytes; the sum over all small classes stays small in any program */

/*
 * With 1 each miss would exchange an array for one object. Large objects are too much memory for
 * that.
 */
#define LEAST_CAPACITY 4ul
#define LARGE_OBJECT (32ul << 10)
#define LEAST_OF_LARGE 2ul

/*
 * Bytes of free objects that one sheaf and one depot may hold. Caches that put footprint first (the
 * drop-in's) hold less: to touch an object of some KiB costs more than to fetch it from its slab.
 */
static unsigned long sheaf_bytes(bool pack)
{
	return (pack ? 8ul : 16ul) << 10;
}

static unsigned long depot_bytes(bool pack, unsigned int size)
{
	if (!pack)
		return 64ul << 10;
	return (size > SMALL_OBJECT ? 16ul : 32ul) << 10;
}

unsigned int array_capacity(unsigned int size, bool pack)
{
	unsigned long least = size > LARGE_OBJECT ? LEAST_OF_LARGE : LEAST_CAPACITY;

	return (unsigned int)CLAMP(sheaf_bytes(pack) / size, least,
				   (unsigned long)USLAB_SHEAF_CAPACITY);
}

/* Full sheaves that a depot may hold; none where one alone exceeds the bytes. */
static unsigned int max_full(const struct engine *e, unsigned int capacity)
{
	unsigned long one = (unsigned long)capacity * e->size;

	return (unsigned int)MIN(depot_bytes(e->pack, e->size) / one,
				 (unsigned long)ARRAY_MAX_FULL);
}

static unsigned int default_capacity(const struct engine *e)
{
	unsigned int capacity = array_capacity(e->size, e->pack);

	return realtime_is_on() ? MIN(capacity, ARRAY_REALTIME_CAPACITY) : capacity;
}

static struct depot_limits limits_of(const struct engine *e, unsigned int capacity)
{
	unsigned int full = capacity ? max_full(e, capacity) : 0;

	return (struct depot_limits){
		.capacity = capacity,
		.max_full = full,
		.max_empty = capacity ? MAX(full, ARRAY_MIN_EMPTY) : 0,
	};
}

int array_init(struct front *f, unsigned int capacity)
{
	struct depot_limits limits;

	if (capacity > USLAB_SHEAF_CAPACITY)
		return -EINVAL;
	f->capacity = capacity ? capacity : default_capacity(f->engine);
	f->depot = meta_alloc(os_topology.nr_nodes * sizeof(struct depot));
	if (!f->depot)
		return -ENOMEM;
	limits = limits_of(f->engine, f->capacity);
	for (unsigned int node = 0; node < os_topology.nr_nodes; node++)
		depot_init(&f->depot[node], &limits);
	front_stop_words(f->id);
	return 0;
}

/* ---- a change ---- */

static void renew_depots(struct front *f, unsigned int capacity)
{
	struct depot_limits limits = limits_of(f->engine, capacity);
	struct depot_rest old;

	for (unsigned int node = 0; node < os_topology.nr_nodes; node++) {
		array_limit_renew(&f->depot[node], &limits, &old);
		array_drain_depot(f, &old.depot);
		array_remote_drain(f, &f->depot[node]);
	}
}

/* Step 2 and 3. */
static int replace_arrays(struct front *f, unsigned int capacity)
{
	uint32_t closed = f->closed & ~(uint32_t)FRONT_NO_ARRAYS;
	int ret;

	/* pairs with sheaf_install; seen by every one that starts after a CPU's fence */
	__atomic_fetch_or(&f->closed, FRONT_DRAINING, __ATOMIC_SEQ_CST);
	array_charged_drain(f); /* as array_drain() */
	ret = array_drain_cpus(f, true);
	if (!ret)
		store_relaxed(&f->capacity, capacity);
	if (!f->capacity)
		closed |= FRONT_NO_ARRAYS;
	store_release(&f->closed, closed); /* after the capacity: pairs with sheaf_install */
	return ret ? -EBUSY : 0;
}

int array_set_capacity(struct front *f, unsigned int objects)
{
	unsigned int capacity = objects ? objects : default_capacity(f->engine);
	int ret;

	if (objects == FRONT_CAPACITY_NONE)
		capacity = 0;
	if (capacity > USLAB_SHEAF_CAPACITY)
		return -EINVAL;
	if (capacity == f->capacity)
		return 0;
	renew_depots(f, capacity);
	ret = replace_arrays(f, capacity);
	if (ret)
		renew_depots(f, f->capacity);
	return ret;
}
