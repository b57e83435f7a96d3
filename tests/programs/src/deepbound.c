/* SPDX-License-Identifier: MIT */
/*
 * programs/src/deepbound.c - a library that allocates and frees for deepbind.c
 */
#include <stdlib.h>

void *make(size_t size);
void drop(void *block);
void *which_malloc(size_t unused);

void *make(size_t size)
{
	return malloc(size);
}

void drop(void *block)
{
	free(block);
}

/* As this library finds it. */
void *which_malloc(size_t unused)
{
	(void)unused;
	return (void *)malloc;
}
