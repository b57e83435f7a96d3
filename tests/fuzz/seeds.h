/* SPDX-License-Identifier: MIT */
/*
 * fuzz/seeds.h - random steps for a fuzzer that knows by a model what each of them must do
 *
 * Usage of such a fuzzer: NAME [FIRST_SEED [SEEDS [OPERATIONS]]]; without arguments it runs
 * built-in seeds. It includes this file, and its main() ends with fuzz_main(). What fails
 * names the seed and the step.
 */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mix.h"

static unsigned long seed;
static unsigned long step; /* of this seed, from 0 */
static uint64_t state;	   /* of the random numbers */

#define EXPECT(expr)                                                                           \
	do {                                                                                   \
		if (!(expr)) {                                                                 \
			fprintf(stderr, "%s:%d: seed %lu, step %lu: %s\n", __FILE__, __LINE__, \
				seed, step, #expr);                                            \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

/* 0 to n - 1. */
static unsigned long below(unsigned long n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned long)(state >> 33) % n;
}

/*
 * What a fuzzer is: @init is done once and returns false without memory;
 * @run_seed once for each seed.
 */
struct fuzz {
	const char *name;
	unsigned long seeds;	  /* of a run without arguments */
	unsigned long operations; /* of a seed, as well */
	bool (*init)(void);
	void (*run_seed)(unsigned long operations);
};

static int fuzz_main(const struct fuzz *fuzz, int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	unsigned long seeds = argc > 2 ? strtoul(argv[2], NULL, 0) : fuzz->seeds;
	unsigned long operations = argc > 3 ? strtoul(argv[3], NULL, 0) : fuzz->operations;

	if (argc > 4) {
		fprintf(stderr, "usage: %s [FIRST_SEED [SEEDS [OPERATIONS]]]\n", fuzz->name);
		return 2;
	}
	if (!fuzz->init()) {
		fprintf(stderr, "%s: no memory\n", fuzz->name);
		return 1;
	}
	for (seed = first; seed < first + seeds; seed++) {
		state = mix_multiply(seed) + 1;
		fuzz->run_seed(operations);
	}
	printf("%lu seeds of %lu operations: as the model says\n", seeds, operations);
	return 0;
}

#endif /* FUZZ_SEEDS_H */
