/* SPDX-License-Identifier: MIT */
/*
 * misuse/foreign_pointer.c - kfree() of what kmalloc() never gave: one line and a stack, always
 *
 * misuse: foreign_pointer USLAB_DEBUG=FZPU
 * misuse: foreign_pointer_plain
 */
#include <uslab/slab.h>

#include "misuse.h"

int main(void)
{
	static char buffer[64];

	kfree(wild(buffer));
	return survived();
}
