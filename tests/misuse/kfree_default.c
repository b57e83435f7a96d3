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

#include <uslab/slab.h>

#include "misuse.h"

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
