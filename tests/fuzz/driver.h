/* SPDX-License-Identifier: MIT */
/*
 * fuzz/driver.h - main() of a fuzzer whose input is a list of bytes: files, or made-up lists
 *
 * Included last, by one C file, which defines FUZZ_NAME, FUZZ_BYTES (length of a made-up list) and
 * FUZZ_SEEDS (how many of them). With USLAB_LIBFUZZER the library brings its own main().
 */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#ifndef USLAB_LIBFUZZER

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void run_seed(unsigned int seed)
{
	uint8_t data[FUZZ_BYTES];

	data[0] = (uint8_t)seed;
	for (size_t i = 1; i < sizeof(data); i++)
		data[i] = (uint8_t)(rand_r(&seed) >> 8);
	LLVMFuzzerTestOneInput(data, sizeof(data));
}

static int run_file(const char *name)
{
	static uint8_t data[1 << 16];
	FILE *file = fopen(name, "rb");
	size_t size;

	if (!file) {
		perror(name);
		return 2;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (run_file(argv[i]))
			return 2;
	for (unsigned int seed = 0; argc == 1 && seed < FUZZ_SEEDS; seed++)
		run_seed(seed);
	printf("%s: passed\n", FUZZ_NAME);
	return 0;
}

#endif /* USLAB_LIBFUZZER */
#endif /* FUZZ_DRIVER_H */
