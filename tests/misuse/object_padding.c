/* SPDX-License-Identifier: MIT */
/*
 * misuse/object_padding.c - far beyond an object, behind its tracks; it is repaired and freed
 *
 * misuse: object_padding USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(64, GFP_KERNEL));

	p[150] = 0x11; /* padding begins at 148, spec 7.5 */
	kfree(p);
	return survived();
}
