/* SPDX-License-Identifier: MIT */
/*
 * fuzz/driver.h - a fuzzer whose input is a list of bytes: files, or made-up lists
 *
 * Included last, by one C file, which defines FUZZ_NAME, FUZZ_HEAD, FUZZ_BYTES (length of a made-up
 * list), FUZZ_SEEDS (how many of them), and the functions below. The first FUZZ_HEAD bytes say with
 * which caches a list begins; then each operation takes two, what and how much. With
 * USLAB_LIBFUZZER the library brings its own main().
 */
#ifndef FUZZ_DRIVER_H
#define FUZZ_DRIVER_H

#include <stdint.h>

#include "machine.h"

static void begin(const uint8_t *head);
static void operate(unsigned int what, unsigned int n);
static void check_books(void); /* after each operation */
static void end(void);	       /* everything is given back */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool started;

	if (!started)
		machine_init(4, 2);
	started = true;
	if (size < FUZZ_HEAD)
		return 0;
	begin(data);
	for (size_t i = FUZZ_HEAD; i + 1 < size; i += 2) {
		operate(data[i], data[i + 1]);
		check_books();
	}
	end();
	buddy_check();
	return 0;
}

#ifndef USLAB_LIBFUZZER

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
