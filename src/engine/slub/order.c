/* SPDX-License-Identifier: MIT */
/*
 * engine/slub/order.c - how large a slab is, and the numbers that follow from it (spec 4.2, 4.3)
 *
 * Why:        docs/adr/0007.
 * Data:       the three knobs slab_min_order, slab_max_order, slab_min_objects.
 * Invariants: min_order <= max_order <= 10.
 * Locks:      none; the knobs are set before the first cache exists. The rest are pure functions.
 * Flow:       called by layout.c, slub.c, tune.c, cache/config/options.c, debug/attach.c and
 *             inspect/debug_size.c.
 */
#include <errno.h>

#include "base/bits.h"
#include "engine/slub/slab.h"
#include "os/cpu/cpu.h"

static struct {
	unsigned int min_order;
	unsigned int max_order;
	unsigned int min_objects; /* 0: by the number of CPUs */
} knobs = { 0, 3, 0 };

int slub_set_orders(unsigned int min_order, unsigned int max_order, unsigned int min_objects)
{
	if (min_order > max_order || max_order > SLUB_MAX_ORDER || min_objects > SLAB_MAX_OBJECTS)
		return -EINVAL;
	knobs.min_order = min_order;
	knobs.max_order = max_order;
	knobs.min_objects = min_objects;
	return 0;
}

bool slub_order_is_allowed(unsigned int order)
{
	return order >= knobs.min_order && order <= knobs.max_order;
}

static unsigned int order_objects(unsigned int order, unsigned int size)
{
	return (unsigned int)((PAGE_SIZE << order) / size);
}

/* Bytes at the end of a slab of that order that no object uses. */
static unsigned long order_waste(unsigned int order, unsigned int size)
{
	return (PAGE_SIZE << order) % size;
}

/* The first order from min_order on that wastes at most 1/fraction; max_order + 1 if none does. */
static unsigned int first_fitting_order(unsigned int size, unsigned int min_objects,
					unsigned int min_order, unsigned int max_order,
					unsigned int fraction)
{
	unsigned int order;

	if (order_objects(min_order, size) > SLAB_MAX_OBJECTS)
		return get_order((unsigned long)size * SLAB_MAX_OBJECTS) - 1;

	order = MAX(min_order, get_order((unsigned long)min_objects * size));
	for (; order <= max_order; order++)
		if (order_waste(order, size) <= (PAGE_SIZE << order) / fraction)
			return order;
	return max_order + 1;
}

int slub_calculate_order(unsigned int size, unsigned int nr_cpus, unsigned int min_order,
			 unsigned int max_order, unsigned int min_objects)
{
	unsigned int fraction;
	unsigned int order;

	if (!min_objects)
		min_objects = 4 * (fls(nr_cpus) + 1);
	min_objects = MIN(min_objects, order_objects(max_order, size));

	for (; min_objects > 1; min_objects--) {
		for (fraction = 16; fraction >= 4; fraction /= 2) {
			order = first_fitting_order(size, min_objects, min_order, max_order,
						    fraction);
			if (order <= max_order)
				return (int)order;
		}
	}

	/* One object in a slab, whatever it wastes; then beyond what the knob allows. */
	order = first_fitting_order(size, 1, min_order, max_order, 1);
	if (order <= max_order)
		return (int)order;
	order = first_fitting_order(size, 1, min_order, SLUB_MAX_ORDER, 1);
	return order <= SLUB_MAX_ORDER ? (int)order : -E2BIG;
}

int slub_order_on(unsigned int size, const struct topology *machine)
{
	unsigned int cpus = machine->nr_cpus;

	/* A kernel that does not know yet who is present counts who could be (spec 4.3). */
	if (cpus <= 1)
		cpus = MAX(machine->nr_cpu_ids, 1u);
	return slub_calculate_order(size, cpus, knobs.min_order, knobs.max_order,
				    knobs.min_objects);
}

int slub_default_order(unsigned int size)
{
	return slub_order_on(size, &os_topology);
}

/*
 * Pack caches: the smallest order that wastes at most 1/32 and holds 4 objects, since a slab's last
 * object keeps all of it; what was never formatted costs no memory, so orders may be higher than
 * the kernel's: up to 3, beyond 4 KiB 4, beyond 8 KiB 5. Where that cannot be, fewer objects, and
 * only then more waste. Measured against 1/8 (peak of sqlite3 in memory, relative to glibc): 1.07
 * to 1.12.
 */
int slub_pack_order(unsigned int size)
{
	unsigned int max_order = size > 8192 ? 5 : size > 4096 ? 4 : 3;
	unsigned int objects;
	unsigned int fraction;
	unsigned int order;

	for (fraction = 32; fraction >= 2; fraction /= 2) {
		for (objects = 4; objects >= 1; objects--) {
			order = first_fitting_order(size, objects, 0, max_order, fraction);
			if (order <= max_order)
				return (int)order;
		}
	}
	order = get_order(size);
	return order <= SLUB_MAX_ORDER ? (int)order : -E2BIG;
}

unsigned long slub_min_partial(unsigned int size)
{
	unsigned long half = ilog2(size) / 2;

	return CLAMP(half, 5ul, 10ul);
}

/*
 * Pack caches keep at most 2 empty slabs of one page and 1 of 2 or 4 pages, none of more: 16 KiB
 * at most, and less while the cache has other partial slabs, which are counted too (spec 4.11).
 */
unsigned int slub_pack_min_partial(unsigned int order)
{
	if (order == 0)
		return 2;
	return order <= 2 ? 1 : 0;
}

unsigned int slub_cpu_partial(unsigned int size)
{
	if (size >= PAGE_SIZE)
		return 6;
	if (size >= 1024)
		return 24;
	if (size >= 256)
		return 52;
	return 120;
}
