/* SPDX-License-Identifier: MIT */
/*
 * misuse/redzone_left.c - a byte before an object
 *
 * misuse: redzone_left USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(32, GFP_KERNEL));

	p[-1] = 0;
	kfree(p);
	return survived();
}
