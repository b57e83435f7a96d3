/* SPDX-License-Identifier: MIT */
/*
 * examples/profile.c - which lines have memory, and how much; a function that
 * allocates for its callers
 *
 *   $ cc -O2 profile.c -luslab -o profile
 *   $ ./profile
 *   this line: 3200 bytes of 100 calls
 *   its caller: 192 bytes of 2 calls
 *   all freed: 0 bytes of 0 calls
 */
#define USLAB_MEM_ALLOC_PROFILING
#include <stdio.h>
#include <uslab/slab.h>

static void show(const char *what, struct alloc_tag *tag)
{
	struct alloc_tag_counters sum = alloc_tag_read(tag);

	printf("%s: %lu bytes of %lu calls\n", what,
	       (unsigned long)sum.bytes, (unsigned long)sum.calls);
}

/* What it allocates counts for the line that calls pair(). */
static void *pair_noprof(void **second)
{
	*second = kmalloc_noprof(64, GFP_KERNEL);
	return kmalloc_noprof(128, GFP_KERNEL);
}

#define pair(second) alloc_hooks(pair_noprof(second))

int main(void)
{
	static void *objects[100];
	DEFINE_ALLOC_TAG(mine);
	DEFINE_ALLOC_TAG(caller);
	struct alloc_tag *old;
	void *first, *second;

	if (uslab_set_mem_profiling(true) || !mem_alloc_profiling_enabled())
		return 1;
	old = alloc_tag_save(&mine);
	for (int i = 0; i < 100; i++)
		objects[i] = kmalloc_noprof(32, GFP_KERNEL);
	alloc_tag_restore(&mine, old);
	show("this line", &mine);

	old = alloc_tag_save(&caller);
	first = pair_noprof(&second);
	alloc_tag_restore(&caller, old);
	show("its caller", &caller);
	kfree(first);
	kfree(second);

	first = pair(&second); /* the same, with a tag of this line */
	kfree(first);
	kfree(second);
	for (int i = 0; i < 100; i++)
		kfree(objects[i]);
	show("all freed", &mine);
	return uslab_set_mem_profiling(false);
}
