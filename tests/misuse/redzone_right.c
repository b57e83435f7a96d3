/* SPDX-License-Identifier: MIT */
/*
 * misuse/redzone_right.c - two bytes beyond an object of kmalloc-64 (spec 7.5)
 *
 * misuse: redzone_right USLAB_DEBUG=FZPU
 * misuse: redzone_right_2.6.29 USLAB_DEBUG=FZPU USLAB_CONF=report.format=2.6.29
 * misuse: redzone_right_slab USLAB_DEBUG=FZPU USLAB_CONF=engine=slab
 * misuse: redzone_right_slob USLAB_DEBUG=FZPU USLAB_CONF=engine=slob
 * misuse: policy_abort USLAB_DEBUG=FZPU USLAB_CONF=report=abort
 * misuse: policy_exit USLAB_DEBUG=FZPU USLAB_CONF=report=exit
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	p[64] = 0x12;
	p[65] = 0x34;
	kfree(p);
	return survived();
}
