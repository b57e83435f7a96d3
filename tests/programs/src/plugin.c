/* SPDX-License-Identifier: MIT */
/*
 * programs/src/plugin.c - a library that allocates whenever it can: when loaded, used and unloaded
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *loaded;
static __thread char *per_thread;
static __thread char large[4096]; /* makes the loader allocate thread storage, lazily */

__attribute__((constructor)) static void load(void)
{
	loaded = malloc(5000);
	strcpy(loaded, "plug-in");
}

__attribute__((destructor)) static void unload(void)
{
	if (strcmp(loaded, "plug-in") != 0)
		abort();
	free(loaded);
}

/* The caller frees the result, perhaps when this library is gone. */
char *plugin_work(unsigned int n);
char *plugin_work(unsigned int n)
{
	char *result;

	large[n % sizeof(large)] = 1;
	free(per_thread);
	per_thread = malloc(n % 3000 + 1);
	if (!per_thread || asprintf(&result, "%s %u", loaded, n) < 0)
		abort();
	free(per_thread);
	per_thread = NULL;
	return result;
}
