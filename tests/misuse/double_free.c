/* SPDX-License-Identifier: MIT */
/*
 * misuse/double_free.c - the double free of slide 25: a driver's start
 * allocates, its stop frees twice
 *
 * As there ten other objects of the slab are in use, and the object is the head of the free list.
 *
 * misuse: double_free USLAB_DEBUG=FZPU
 * misuse: double_free_2.6.29 USLAB_DEBUG=FZPU USLAB_CONF=report.format=2.6.29
 */
#include <uslab/slab.h>

#include "misuse.h"

static __attribute__((noinline)) void *rt61pci_probe_hw(void)
{
	return kmalloc(128, GFP_KERNEL);
}

static __attribute__((noinline)) void rt2x00lib_remove_hw(void *p)
{
	kfree(p);
}

int main(void)
{
	char *p;

	for (int i = 0; i < 10; i++)
		rt61pci_probe_hw();
	p = wild(rt61pci_probe_hw());
	rt2x00lib_remove_hw(p);
	rt2x00lib_remove_hw(p);
	return survived();
}
