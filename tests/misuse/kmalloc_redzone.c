/* SPDX-License-Identifier: MIT */
/*
 * misuse/kmalloc_redzone.c - 18 bytes asked for, kmalloc-32 has more, but
 * they are not the program's
 *
 * misuse: kmalloc_redzone USLAB_DEBUG=FZPU
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	char *p = wild(kmalloc(18, GFP_KERNEL));

	p[18] = (char)0xab;
	p[19] = (char)0xab;
	kfree(p);
	return survived();
}
