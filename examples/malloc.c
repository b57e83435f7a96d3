/* SPDX-License-Identifier: MIT */
/*
 * examples/malloc.c - a program that knows nothing of uslab, on the drop-in malloc
 *
 * musl declares neither mallinfo2() nor malloc_trim(): there it prints the first line.
 *
 *   $ cc -O2 malloc.c -o malloc
 *   $ LD_PRELOAD=libuslab_malloc.so ./malloc
 *   100 bytes: 112 may be used, aligned to 16: yes
 *   in use after 1000 blocks of 1000 bytes: 1 MB or more
 *   given back by malloc_trim: yes
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 1000

int main(void)
{
	static char *blocks[BLOCKS];
	char *text = malloc(100);

	printf("100 bytes: %zu may be used, aligned to 16: %s\n",
	       malloc_usable_size(text),
	       (uintptr_t)text % 16 ? "no" : "yes");
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(1000);
		if (!blocks[i])
			return 1;
		memset(blocks[i], 1, 1000);
	}
#ifdef __GLIBC__
	printf("in use after 1000 blocks of 1000 bytes: %s\n",
	       mallinfo2().uordblks >= 1000000 ? "1 MB or more" : "less");
#endif
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
#ifdef __GLIBC__
	printf("given back by malloc_trim: %s\n",
	       malloc_trim(0) ? "yes" : "no");
#endif
	free(text);
	return 0;
}
