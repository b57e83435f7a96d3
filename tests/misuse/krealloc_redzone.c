/* SPDX-License-Identifier: MIT */
/*
 * misuse/krealloc_redzone.c - made smaller in place: what was given up is watched from then on
 *
 * misuse: krealloc_redzone USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(48, GFP_KERNEL));
	char *q;

	memset(p, 'o', 48);
	q = wild(krealloc(p, 40, GFP_KERNEL));
	dprintf(2, "%s place\n", q == p ? "the same" : "another");
	q[40] = 'x';
	kfree(q);
	return survived();
}
