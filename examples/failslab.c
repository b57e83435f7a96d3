/* SPDX-License-Identifier: MIT */
/*
 * examples/failslab.c - how a program behaves when memory runs out
 *
 *   $ cc -O2 failslab.c -luslab -o failslab
 *   $ ./failslab
 *   may not block: NULL NULL object
 *   may block: object
 */
#include <stdio.h>
#include <uslab/slab.h>

static struct kmem_cache *jobs;

static const char *try_once(gfp_t flags)
{
	void *job = kmem_cache_alloc(jobs, flags);

	if (!job)
		return "NULL";
	kmem_cache_free(jobs, job);
	return "object";
}

int main(void)
{
	jobs = kmem_cache_create("jobs", 80, 0, SLAB_NOLEAKTRACE, NULL);
	/* each call, 100 percent, no bytes before, two times */
	if (!jobs || uslab_set_failslab("1,100,0,2"))
		return 1;
	printf("may not block:");
	for (int i = 0; i < 3; i++)
		printf(" %s", try_once(GFP_NOWAIT | __GFP_NOWARN));
	uslab_set_failslab("1,100,0,-1"); /* without an end */
	printf("\nmay block: %s\n", try_once(GFP_KERNEL));
	uslab_set_failslab(""); /* no more */
	kmem_cache_destroy(jobs);
	return 0;
}
