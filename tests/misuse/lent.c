/* SPDX-License-Identifier: MIT */
/*
 * misuse/lent.c - a lent sheaf: given to another cache, used up, an object of it freed, left while
 * its cache is destroyed, returned twice
 *
 * misuse: lent
 * misuse: lent_debug USLAB_DEBUG=FZPU
 * misuse: lent_abort USLAB_CONF=report=abort
 */

#include <uslab/slab.h>

#include "misuse.h"

static __attribute__((noinline)) void given_to_another(struct slab_sheaf *sheaf)
{
	struct kmem_cache *other = kmem_cache_create("file", 640, 0, 0, NULL);

	if (kmem_cache_alloc_from_sheaf(other, GFP_KERNEL, sheaf) ||
	    kmem_cache_sheaf_size(sheaf) != 2)
		puts("an object of 64 bytes for one of 640");
	kmem_cache_destroy(other);
}

static __attribute__((noinline)) void freed(struct kmem_cache *s, struct slab_sheaf **sheaf)
{
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	kmem_cache_free(s, wild(p));
	if (kmem_cache_refill_sheaf(s, GFP_KERNEL, sheaf, 300))
		return;
	kmem_cache_free(s, wild(p)); /* which lies in the sheaf now */
}

static __attribute__((noinline)) void used_up(struct kmem_cache *s, struct slab_sheaf *sheaf)
{
	while (kmem_cache_sheaf_size(sheaf))
		kmem_cache_free(s, kmem_cache_alloc_from_sheaf(s, GFP_KERNEL, sheaf));
	if (kmem_cache_alloc_from_sheaf(s, GFP_KERNEL, sheaf))
		puts("an object from nowhere");
}

static __attribute__((noinline)) void destroyed(struct kmem_cache *s, struct slab_sheaf *sheaf)
{
	kmem_cache_destroy(s);
	kmem_cache_return_sheaf(s, GFP_KERNEL, sheaf); /* it is valid still */
	kmem_cache_return_sheaf(s, GFP_KERNEL, (void *)wild(sheaf));
	kmem_cache_destroy(s);
}

int main(void)
{
	struct kmem_cache *s;
	struct slab_sheaf *sheaf;

	stay_here();
	s = kmem_cache_create("inode", 64, 0, 0, NULL);
	sheaf = kmem_cache_prefill_sheaf(s, GFP_KERNEL, 2);
	given_to_another(sheaf);
	freed(s, &sheaf);
	used_up(s, sheaf);
	if (kmem_cache_refill_sheaf(s, GFP_KERNEL, &sheaf, 1))
		return 1;
	destroyed(s, sheaf);
	return survived();
}
