/* SPDX-License-Identifier: MIT */
/*
 * examples/kernel_code.c - what kernel code calls around its allocations
 *
 *   $ cc -O2 kernel_code.c -luslab -o kernel_code
 *   $ ./kernel_code 2>/dev/null
 *   an inode of 600 bytes, known: yes
 */
#include <stdio.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache_args args = { .align = 8 };
	struct kmem_cache *inodes;
	void *inode;

	if (!slab_is_available())
		return 1;
	inodes = kmem_cache_create("inodes", 600, &args, SLAB_ACCOUNT);
	inode = inodes ? kmem_cache_alloc_lru(inodes, NULL, GFP_KERNEL)
		       : NULL;
	if (!inode || !kmem_cache_charge(inode, GFP_KERNEL))
		return 1;
	printf("an inode of %u bytes, known: %s\n", kmem_cache_size(inodes),
	       kmem_dump_obj(inode) ? "yes" : "no");
	kmem_cache_free(inodes, inode);
	kmem_cache_destroy(inodes);
	return 0;
}
