/* SPDX-License-Identifier: MIT */
/*
 * programs/src/early_lib.c - a library that allocates before anybody expects it
 *
 * The resolver of an IFUNC runs while the dynamic loader relocates this library, when
 * libuslab_malloc.so is loaded, but not relocated itself.
 */
#include <stdlib.h>
#include <string.h>

static char *at_relocation;
static char *at_construction;

static int answer_42(void)
{
	return 42;
}

static int (*choose(void))(void)
{
	char *scratch;

	at_relocation = malloc(100);
	scratch = malloc(3000);
	if (!at_relocation || !scratch)
		return NULL;
	/* by hand: strcpy may not be relocated yet */
	for (unsigned int i = 0; i < 6; i++)
		at_relocation[i] = "early"[i];
	scratch[2999] = 1;
	free(scratch);
	return answer_42;
}

/* Static: its slot is filled while this library is relocated, not when somebody asks for it. */
static int early_ifunc(void) __attribute__((ifunc("choose")));

__attribute__((constructor(101))) static void construct(void)
{
	at_construction = strdup("constructed");
	at_relocation = realloc(at_relocation, 10000);
}

/* 0 if everything is as it should be. */
int early_check(void);
int early_check(void)
{
	if (early_ifunc() != 42)
		return 1;
	if (!at_relocation || strcmp(at_relocation, "early") != 0)
		return 2;
	if (!at_construction || strcmp(at_construction, "constructed") != 0)
		return 3;
	free(at_relocation);
	free(at_construction);
	return 0;
}
