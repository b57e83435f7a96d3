/* SPDX-License-Identifier: MIT */
/*
 * misuse/no_checks.c - without F nothing is checked but what would ruin the free list
 *
 * misuse: no_checks USLAB_DEBUG=ZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	p[64] = 1; /* not seen */
	kfree(p);
	kfree(p);
	return survived();
}
