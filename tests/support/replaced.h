/* SPDX-License-Identifier: MIT */
/*
 * support/replaced.h - is malloc somebody else's, although uslab's was linked? And its start
 *
 * memcheck puts its own in the place of every malloc; a test of uslab's has nothing to test then.
 */
#ifndef SUPPORT_REPLACED_H
#define SUPPORT_REPLACED_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEST_SKIPPED 77

/* Under valgrind, unless it runs with --soname-synonyms=somalloc=nouserintercepts. */
static inline bool malloc_is_replaced(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload_") && !getenv("USLAB_TEST_NO_INTERCEPTS");
}

/* The first request starts the drop-in; not every C library has made one before main(). */
static inline void malloc_start(void)
{
	void *(*volatile take)(size_t size) = malloc;

	free(take(1));
}

#endif /* SUPPORT_REPLACED_H */
