/* SPDX-License-Identifier: MIT */
/*
 * examples/krealloc.c - a buffer that grows
 *
 *   $ cc -O2 krealloc.c -luslab -o krealloc
 *   $ ./krealloc
 *   the first 100 bytes can as well be 128
 *   50 words, 400 bytes, no more than the block has: yes
 *   it moved to a page of its own, and is there still: yes
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

/* To a page, which it keeps if it need not be anywhere else. */
static int move(char *buffer, size_t used)
{
	char *page = krealloc_node_align(buffer, used, 4096, GFP_KERNEL,
					 NUMA_NO_NODE);

	if (!page) {
		kfree(buffer);
		return 1;
	}
	buffer = krealloc_node(page, used, GFP_KERNEL, NUMA_NO_NODE);
	printf("it moved to a page of its own, and is there still: %s\n",
	       buffer && (uintptr_t)buffer % 4096 == 0 ? "yes" : "no");
	/* frees it */
	return krealloc(buffer, 0, GFP_KERNEL) != ZERO_SIZE_PTR;
}

int main(void)
{
	size_t room = kmalloc_size_roundup(100);
	size_t used = 0;
	char *buffer = kmalloc(room, GFP_KERNEL);

	if (!buffer)
		return 1;
	printf("the first 100 bytes can as well be %zu\n", room);
	for (int i = 0; i < 50; i++) {
		if (used + 8 > room) {
			char *larger =
				krealloc_array(buffer, room, 2, GFP_KERNEL);

			if (!larger) { /* the old one is still there */
				kfree(buffer);
				return 1;
			}
			buffer = larger;
			room *= 2;
		}
		memcpy(buffer + used, "a word  ", 8);
		used += 8;
	}
	if (memcmp(buffer, "a word  a word  ", 16))
		return 1;
	printf("50 words, %zu bytes, no more than the block has: %s\n",
	       used, used <= ksize(buffer) ? "yes" : "no");
	return move(buffer, used);
}
