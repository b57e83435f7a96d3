/* SPDX-License-Identifier: MIT */
/*
 * malloc/ready.c - realtime: the arrays of CPUs have objects before the program begins
 *
 * Why:        docs/adr/0085.
 * Data:       none.
 * Invariants: no memory is asked of the system, and of what is ready READY_SHARE of it is taken at
 *             most, in equal parts for all CPUs.
 * Locks:      those of the calls.
 * Flow:       called by init.c; calls malloc.c, os/cpu/rseq.c, page/buddy_stats.c.
 *
 * The first miss of a class on a CPU makes its array and a slab, cuts that out of a block of 4 MiB,
 * and waits for each line of all this, since nobody has touched them: three to ten times what such
 * a miss takes later, and in many programs the longest call of all.
 */
#include <stdlib.h>

#include "malloc/internal.h"
#include "os/cpu/cpu.h"
#include "os/cpu/rseq.h"
#include "page/buddy.h"
#include "page/realtime.h"

#define READY_SHARE 8u	  /* an eighth */
#define READY_OBJECTS 18u /* of small ones: an array has 8 */
#define READY_SMALL 1024u /* bytes; of larger ones an array is enough */

/* So many that the CPU's array, its spare and the depot have some. */
static void use(size_t size)
{
	void *p[READY_OBJECTS];
	unsigned int n = size <= READY_SMALL ? READY_OBJECTS : 1;

	for (unsigned int i = 0; i < n; i++)
		p[i] = malloc(size);
	for (unsigned int i = 0; i < n; i++)
		free(p[i]);
}

/* From the smallest class on: small objects need least, and are used most. */
static void fill_arrays(void *budget)
{
	unsigned long most = buddy_used() + *(const unsigned long *)budget;

	for (unsigned int class = 1; class <= MALLOC_CLASSES && buddy_used() < most; class += 1)
		use(malloc_class_size(class));
}

cold void malloc_make_ready(void)
{
	unsigned long pages = realtime_counters.bytes >> PAGE_SHIFT;
	unsigned long budget = pages / READY_SHARE / os_topology.nr_cpus;

	if (os_run_on_each_cpu(fill_arrays, &budget)) /* a filter forbids it */
		fill_arrays(&budget);
}
