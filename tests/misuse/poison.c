/* SPDX-License-Identifier: MIT */
/*
 * misuse/poison.c - written to after it was freed, found by the next allocation
 *
 * misuse: poison USLAB_DEBUG=FZPU
 * misuse: poison_2.6.29 USLAB_DEBUG=FZPU USLAB_CONF=report.format=2.6.29
 */
#include <uslab/slab.h>

#include "misuse.h"

static __attribute__((noinline)) void release(void *p)
{
	kfree(p);
}

int main(void)
{
	char *p = wild(kmalloc(128, GFP_KERNEL));

	release(p);
	memcpy(p + 16, "use after free", 14);
	p = wild(kmalloc(128, GFP_KERNEL));
	release(p);
	return survived();
}
