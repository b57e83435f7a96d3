/* SPDX-License-Identifier: MIT */
/*
 * programs/src/plugins.c - threads that open, use and close plug-ins without end
 *
 * usage: plugins ROUNDS LIBRARY...
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_THREADS 4

static char **libraries;
static unsigned int nr_libraries;
static unsigned int rounds;

static void use(const char *path, unsigned int n)
{
	char expect[64];
	char *(*work)(unsigned int);
	void *handle = dlopen(path, n % 2 ? RTLD_NOW | RTLD_LOCAL : RTLD_LAZY | RTLD_GLOBAL);
	char *result;

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	work = (char *(*)(unsigned int))dlsym(handle, "plugin_work");
	result = work(n);
	if (dlsym(handle, "no_such_symbol") || !dlerror())
		exit(1);
	dlclose(handle);
	snprintf(expect, sizeof(expect), "plug-in %u", n);
	if (strcmp(result, expect) != 0) {
		fprintf(stderr, "plugins: '%s' instead of '%s'\n", result, expect);
		exit(1);
	}
	free(result);
}

static void *run(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;

	for (unsigned int i = 0; i < rounds; i++)
		use(libraries[(seed + i) % nr_libraries], seed * 100000 + i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];

	if (argc < 3)
		return 2;
	rounds = (unsigned int)strtoul(argv[1], NULL, 10);
	libraries = argv + 2;
	nr_libraries = (unsigned int)argc - 2;
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u plug-ins opened\n", rounds * NR_THREADS);
	return 0;
}
