/* SPDX-License-Identifier: MIT */
/*
 * programs/src/large_blocks.c - large blocks that come and go, or grow, and what
 * that costs in page faults
 *
 * usage: large_blocks turn|middle|mix|few|grow|bursts|pauses
 *
 * One replaced after the other: turn: 44 blocks of 1 to 8 MiB, 200 MB in all; middle: 355 blocks
 * of 128 KiB to 1 MiB, likewise; mix: 96 blocks of 32 KiB to 8 MiB, of which small ones are as many
 * as large ones; few: 24 blocks of 32 KiB to 4 MiB, likewise, for longer. grow: two blocks, each
 * grown to 48 MiB by realloc in steps of 64 KiB, five times. bursts: 100 blocks of 32000 bytes, all
 * of them freed again, 500 times. pauses: 1000 such blocks, freed again, then nothing for 100 ms,
 * ten times. Every page is written to.
 * Writes "<page faults> <KiB of the peak>".
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_BLOCKS 355
#define PAGE 4096
#define KIB 1024ul
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

struct mode {
	const char *name;
	unsigned int blocks;
	unsigned int rounds;
	size_t least;
	unsigned int doublings; /* of least: each is as likely; 0: all sizes up to most are */
	size_t most;
};

static const struct mode modes[] = {
	{ "turn", 44, 2000, MIB, 0, 8 * MIB },
	{ "middle", 355, 8000, 128 * KIB, 0, MIB },
	{ "mix", 96, 4000, 32 * KIB, 8, 8 * MIB },
	{ "few", 24, 24000, 32 * KIB, 7, 4 * MIB },
};

static void replace_blocks(const struct mode *mode)
{
	static char *block[MOST_BLOCKS];
	unsigned long random = 1;
	unsigned int round;

	for (round = 0; round < mode->rounds; round++) {
		size_t least = mode->least;
		size_t most = mode->most;
		unsigned int i;
		size_t size;

		random = random * 6364136223846793005ul + 1442695040888963407ul;
		i = (random >> 33) % mode->blocks;
		if (mode->doublings) {
			least <<= (random >> 48) % mode->doublings;
			most = 2 * least;
		}
		size = least + (random >> 20) % (most - least);
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

static void bursts(unsigned int rounds, unsigned int blocks, unsigned int pause_ms)
{
	const struct timespec pause = { 0, pause_ms * 1000000l };
	static char *p[1000];

	for (unsigned int round = 0; round < rounds; round++) {
		for (unsigned int i = 0; i < blocks; i++) {
			p[i] = malloc(32000);
			touch(p[i], 32000);
		}
		for (unsigned int i = 0; i < blocks; i++)
			free(p[i]);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	struct rusage usage;
	bool known = false;

	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		known = true;
		replace_blocks(&modes[i]);
	}
	if (argc == 2 && !strcmp(argv[1], "grow"))
		grow();
	else if (argc == 2 && !strcmp(argv[1], "bursts"))
		bursts(500, 100, 0);
	else if (argc == 2 && !strcmp(argv[1], "pauses"))
		bursts(10, 1000, 100);
	else if (!known)
		return 2;
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld %ld\n", usage.ru_minflt, usage.ru_maxrss);
	return 0;
}
