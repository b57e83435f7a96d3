/* SPDX-License-Identifier: MIT */
/*
 * malloc/ready.c - realtime: the arrays of a CPU have objects before the program begins
 *
 * Why:        docs/adr/0085.
 * Data:       none.
 * Invariants: of what its node has free about one part in READY_PARTS is taken, so that no memory
 *             is asked of the system.
 * Locks:      those of the calls.
 * Flow:       called by init.c; calls malloc.c, page/buddy_stats.c.
 *
 * The first miss of a class on a CPU makes its array and a slab, cuts that out of a block of 4 MiB,
 * and waits for each line of all this, since nobody has touched them: in many programs that is the
 * longest call of all.
 *
 * It is done on the CPU where the program starts, and no other: to move there and back would wait
 * for what these run, disturb it, leave the thread with an affinity that no cpuset widens again,
 * and take a system call that filters forbid.
 */
#include <errno.h>
#include <stdlib.h>

#include "malloc/internal.h"
#include "os/cpu/cpu.h"
#include "page/buddy.h"

#define READY_PARTS 8u
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

/* What is to fail by failslab are the program's calls. */
static bool may_fail(unsigned int class)
{
	const struct cache *c = cache_of(malloc_made[class]);

	return !c || load_relaxed(&c->watch) & WATCH_FAULTS;
}

static unsigned long free_pages_here(void)
{
	struct buddy_stats stats;

	buddy_stats(os_current_node(), &stats);
	return stats.nr_free;
}

/* From the smallest class on: small objects need least, and are used most. */
cold void malloc_make_ready(void)
{
	unsigned long free_pages = free_pages_here();
	unsigned long least = free_pages - free_pages / READY_PARTS;
	int error = errno;

	for (unsigned int class = 1; class <= MALLOC_CLASSES && free_pages_here() > least;
	     class += 1)
		if (!may_fail(class))
			use(malloc_class_size(class));
	errno = error;
}
