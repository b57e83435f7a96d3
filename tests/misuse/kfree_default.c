/* SPDX-License-Identifier: MIT */
/*
 * misuse/kfree_default.c - no debug flags: what kfree() must not be given, of every size
 * that kmalloc has a cache for
 *
 * misuse: kfree_default USLAB_CONF=report.burst=0
 * misuse: kfree_default_none USLAB_CONF=front=none,report.burst=0
 * misuse: kfree_default_cpuslab USLAB_CONF=front=cpuslab,report.burst=0
 * misuse: kfree_default_slab USLAB_CONF=engine=slab,report.burst=0
 */
#include <sched.h>

#include <uslab/slab.h>

#include "misuse.h"

/* What a report says of a slab depends on which CPU has the object. */
static void stay_here(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

static __attribute__((noinline)) void drop(void *p)
{
	kfree(wild(p));
}

int main(void)
{
	static const size_t sizes[] = { 64, 96, 192, 1024 };

	stay_here();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *p = wild(kmalloc(sizes[i], GFP_KERNEL));
		char *q = wild(kmalloc(sizes[i], GFP_KERNEL));

		drop(p + 4);
		drop(p + 32);
		drop(p);
		drop(q);
		drop(p);
		if (kmalloc(sizes[i], GFP_KERNEL) == kmalloc(sizes[i], GFP_KERNEL))
			puts("two objects share an address");
	}
	return survived();
}
