/* SPDX-License-Identifier: MIT */
/*
 * examples/kmalloc.c - memory by size
 *
 *   $ cc -O2 kmalloc.c -luslab -o kmalloc
 *   $ ./kmalloc
 *   100 bytes: 128 may be used
 *   4096 bytes: aligned to 4096
 *   an array of 10 zeros
 *   a zero, and three of the memory of node 0
 *   too many elements: NULL
 *   0 bytes: ZERO_SIZE_PTR
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

/* A report about its memory names the function that called this one. */
static long *make_counter(void)
{
	long *counter = kmalloc_track_caller(sizeof(long), GFP_KERNEL);

	if (counter)
		*counter = 0;
	return counter;
}

static long *make_counter_on(int node)
{
	long *counter =
		kmalloc_node_track_caller(sizeof(long), GFP_KERNEL, node);

	if (counter)
		*counter = 0;
	return counter;
}

/* Returns whether there was memory. */
static bool use_node(int node)
{
	long *one = kzalloc_node(sizeof(long), GFP_KERNEL, node);
	long *many = kcalloc_node(10, sizeof(long), GFP_KERNEL, node);
	void *other = kmalloc_array_node(10, 10, GFP_KERNEL, node);
	long *counter = make_counter_on(node);
	bool zero = one && many && other && counter && !*one && !many[9] &&
		    !*counter;

	kfree(one);
	kfree(many);
	kfree(other);
	kfree(counter);
	return zero;
}

int main(void)
{
	char *text = kmalloc(100, GFP_KERNEL);
	char *page = kmalloc(4096, GFP_KERNEL);
	long *array = kcalloc(10, sizeof(long), GFP_KERNEL);
	char *secret = kmalloc_node(16, GFP_KERNEL, NUMA_NO_NODE);
	long *counter = kzalloc(sizeof(long), GFP_KERNEL);
	long *made = make_counter();
	void *nothing = kmalloc(0, GFP_KERNEL);

	if (!text || !page || !array || !secret || !counter || !made)
		return 1;
	printf("100 bytes: %zu may be used\n", ksize(text));
	if ((uintptr_t)page % 4096 == 0)
		printf("4096 bytes: aligned to 4096\n");
	if (!array[0] && !memcmp(array, array + 1, 9 * sizeof(long)))
		printf("an array of 10 zeros\n");
	if (!*counter && !*made && use_node(0))
		printf("a zero, and three of the memory of node 0\n");
	if (!kmalloc_array(SIZE_MAX / 2, 4, GFP_KERNEL))
		printf("too many elements: NULL\n");
	if (nothing == ZERO_SIZE_PTR && ZERO_OR_NULL_PTR(nothing))
		printf("0 bytes: ZERO_SIZE_PTR\n");
	strcpy(secret, "a password");
	kfree_sensitive(secret); /* cleared before it is free */
	kfree(nothing);
	kfree(made);
	kfree(counter);
	kfree(array);
	kfree(page);
	kfree(text);
	return 0;
}
