/* SPDX-License-Identifier: MIT */
/*
 * programs/src/after_turns.c - takes the same memory in turns, and then as much in another way
 *
 * usage: after_turns BLOCKS BYTES block|grow|blocks
 *
 * Takes that many blocks, writes all of their bytes, and frees them all, TURNS times. Then, with
 * all bytes written, one block of as many bytes, or one that realloc() doubles up to there, or
 * blocks of 1 MiB. Writes the KiB at the peak.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define TURNS 20u
#define MIB ((size_t)1 << 20)

static char *filled(char *p, size_t from, size_t to)
{
	if (!p) {
		perror("after_turns");
		exit(1);
	}
	memset(p + from, 1, to - from);
	return p;
}

static void take_turn(char **block, size_t nr, size_t bytes)
{
	for (size_t i = 0; i < nr; i++)
		block[i] = filled(malloc(bytes), 0, bytes);
	for (size_t i = 0; i < nr; i++)
		free(block[i]);
}

static void grow(size_t bytes)
{
	size_t size = MIB / 4;
	char *p = filled(malloc(size), 0, size);

	for (; size < bytes; size *= 2)
		p = filled(realloc(p, 2 * size), size, 2 * size);
	free(p);
}

static int usage(void)
{
	fprintf(stderr, "usage: after_turns BLOCKS BYTES block|grow|blocks\n");
	return 2;
}

int main(int argc, char **argv)
{
	size_t nr = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	size_t bytes = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	char **block = nr && bytes ? calloc(nr, sizeof(*block)) : NULL;
	struct rusage usage_of;

	if (!block)
		return usage();
	for (unsigned int turn = 0; turn < TURNS; turn++)
		take_turn(block, nr, bytes);
	if (!strcmp(argv[3], "block"))
		free(filled(malloc(nr * bytes), 0, nr * bytes));
	else if (!strcmp(argv[3], "grow"))
		grow(nr * bytes / 2 + 1);
	else if (!strcmp(argv[3], "blocks"))
		for (size_t i = 0; i < nr * bytes / MIB; i++) /* they stay */
			block[i] = filled(malloc(MIB), 0, MIB);
	else
		return usage();
	getrusage(RUSAGE_SELF, &usage_of);
	printf("%ld\n", usage_of.ru_maxrss);
	return 0;
}
