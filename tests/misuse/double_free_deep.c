/* SPDX-License-Identifier: MIT */
/*
 * misuse/double_free_deep.c - freed twice, with another object freed in between
 *
 * misuse: double_free_deep USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));
	char *q = wild(kmalloc(64, GFP_KERNEL));
	char *r = wild(kmalloc(64, GFP_KERNEL));

	kfree(p);
	kfree(q);
	kfree(p);
	kfree(r);
	return survived();
}
