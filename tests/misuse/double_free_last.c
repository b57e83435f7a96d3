/* SPDX-License-Identifier: MIT */
/*
 * misuse/double_free_last.c - freed twice when the slab has no object in
 * use: the count says so first
 *
 * misuse: double_free_last USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	kfree(p);
	kfree(p);
	return survived();
}
