/* SPDX-License-Identifier: MIT */
/*
 * programs/src/early.c - a program whose libraries and itself allocate before main, and after it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int early_check(void);

static char *before_constructors;

static void preinit(void)
{
	before_constructors = strdup("before constructors");
}

__attribute__((section(".preinit_array"), used)) static void (*run_preinit)(void) = preinit;

/* Destructors run last, with the allocator still working. */
__attribute__((destructor(101))) static void at_end(void)
{
	char *p = calloc(1, 100000);

	if (!p || strcmp(before_constructors, "before constructors") != 0)
		abort();
	free(p);
	free(before_constructors);
}

int main(void)
{
	int result = early_check();

	printf("early_check: %d\n", result);
	return result;
}
