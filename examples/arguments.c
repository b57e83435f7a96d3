/* SPDX-License-Identifier: MIT */
/*
 * examples/arguments.c - a cache with an engine and a front of the program's choice
 *
 * What cannot be made is said on stderr as well.
 *
 *   $ cc -O2 arguments.c -luslab -o arguments
 *   $ ./arguments 2>/dev/null
 *   slab behind queues: packets, 1500 bytes
 *   slab behind cpuslab: Invalid argument
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

#define LINE 64 /* bytes of a cache line */

int main(void)
{
	struct kmem_cache_args args = {
		.align = LINE,
		.engine = "slab",
		.front = "queues",
		.capacity = 16,
	};
	struct kmem_cache *packets =
		kmem_cache_create_args("packets", 1500, &args, 0);
	void *packet = packets ? kmem_cache_alloc(packets, GFP_KERNEL)
			       : NULL;

	if (!packet || (uintptr_t)packet % LINE)
		return 1;
	printf("slab behind queues: %s, %u bytes\n",
	       kmem_cache_name(packets), kmem_cache_size(packets));
	kmem_cache_free(packets, packet);
	kmem_cache_destroy(packets);

	args.front = "cpuslab"; /* goes with the engine slub only */
	packets = kmem_cache_create_args("packets", 1500, &args, 0);
	printf("slab behind cpuslab: %s\n",
	       packets ? "made" : strerror(errno));
	return packets != NULL;
}
