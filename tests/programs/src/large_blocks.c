/* SPDX-License-Identifier: MIT */
/*
 * programs/src/large_blocks.c - large blocks that come and go, or grow, and what
 * that costs in page faults
 *
 * usage: large_blocks turn|grow
 *
 * turn: 44 blocks of 1 to 8 MiB, 200 MB in all, one replaced after the other. grow: two blocks,
 * each grown to 48 MiB by realloc in steps of 64 KiB, five times. Every page is written to. Writes
 * "<page faults> <KiB of the peak>".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCKS 44
#define ROUNDS 2000
#define PAGE 4096
#define MIB (1ul << 20)
#define STEP (64ul << 10)
#define MOST (48 * MIB)

static void touch(char *p, size_t size)
{
	size_t at;

	if (!p) {
		perror("large_blocks");
		exit(1);
	}
	for (at = 0; at < size; at += PAGE)
		p[at] = 1;
}

static void turn(void)
{
	static char *block[BLOCKS];
	unsigned long random = 1;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int i;
		size_t size;

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		i = (random >> 33) % BLOCKS;
		size = MIB + (random >> 20) % (7 * MIB);
		free(block[i]);
		block[i] = malloc(size);
		touch(block[i], size);
	}
}

static void grow(void)
{
	unsigned int round;

	for (round = 0; round < 5; round++) {
		char *p[2] = { NULL, NULL };
		size_t size;
		unsigned int i;

		for (size = STEP; size <= MOST; size += STEP) {
			for (i = 0; i < 2; i++) {
				p[i] = realloc(p[i], size);
				touch(p[i] + size - STEP, STEP);
			}
		}
		for (i = 0; i < 2; i++) {
			for (size = 0; size < MOST; size += PAGE) {
				if (p[i][size] != 1) {
					fprintf(stderr, "large_blocks: lost a page\n");
					exit(1);
				}
			}
			free(p[i]);
		}
	}
}

int main(int argc, char **argv)
{
	struct rusage usage;

	if (argc == 2 && !strcmp(argv[1], "turn"))
		turn();
	else if (argc == 2 && !strcmp(argv[1], "grow"))
		grow();
	else
		return 2;
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld %ld\n", usage.ru_minflt, usage.ru_maxrss);
	return 0;
}
