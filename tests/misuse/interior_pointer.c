/* SPDX-License-Identifier: MIT */
/*
 * misuse/interior_pointer.c - an address in the middle of an object is freed
 *
 * misuse: interior_pointer USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	kfree(p + 16);
	kfree(p);
	return survived();
}
