/* SPDX-License-Identifier: MIT */
/*
 * misuse/redzone_free.c - written behind an object that is free, found by the next allocation
 *
 * misuse: redzone_free USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	kfree(p);
	p[64] = 0x7e;
	p = wild(kmalloc(64, GFP_KERNEL)); /* from another slab: this one is given up */
	kfree(p);
	return survived();
}
