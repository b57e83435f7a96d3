/* SPDX-License-Identifier: MIT */
/*
 * examples/fork.c - a child goes on with the caches of its parent
 *
 *   $ cc -O2 fork.c -luslab -o fork
 *   $ ./fork
 *   child: 7, freed and allocated anew
 *   parent: still 7
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *numbers =
		kmem_cache_create("numbers", sizeof(int), 0, 0, NULL);
	int *number = numbers ? kmem_cache_alloc(numbers, GFP_KERNEL)
			      : NULL;
	int status;
	pid_t child;

	if (!number)
		return 1;
	*number = 7;
	child = fork();
	if (child == 0) { /* its memory is a copy */
		int seen = *number;

		kmem_cache_free(numbers, number);
		number = kmem_cache_zalloc(numbers, GFP_KERNEL);
		if (!number || *number)
			return 1;
		printf("child: %d, freed and allocated anew\n", seen);
		return 0;
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 1;
	printf("parent: still %d\n", *number);
	kmem_cache_free(numbers, number);
	kmem_cache_destroy(numbers);
	return 0;
}
