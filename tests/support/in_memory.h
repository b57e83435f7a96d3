/* SPDX-License-Identifier: MIT */
/*
 * support/in_memory.h - how many pages of a range are in memory
 */
#ifndef SUPPORT_IN_MEMORY_H
#define SUPPORT_IN_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "child.h"
#include "os/memory/vm.h"

#define IN_MEMORY_MOST 16384u /* pages */

/* Of size bytes at p, IN_MEMORY_MOST pages at most. In a child only. */
static inline size_t pages_in_memory(const void *p, size_t size)
{
	static unsigned char in_memory[IN_MEMORY_MOST];
	size_t pages = size / os_page_size();
	size_t count = 0;

	CHILD_CHECK(pages <= IN_MEMORY_MOST);
	CHILD_CHECK(mincore((void *)(uintptr_t)p, size, in_memory) == 0);
	for (size_t i = 0; i < pages; i++)
		count += in_memory[i] & 1;
	return count;
}

#endif /* SUPPORT_IN_MEMORY_H */
