/* SPDX-License-Identifier: MIT */
/*
 * misuse/misaligned.c - an address that can be no object's
 *
 * misuse: misaligned USLAB_DEBUG=FZPU
 * misuse: misaligned_plain USLAB_CONF=front=none
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	kfree(p + 1);
	kfree(p);
	return survived();
}
