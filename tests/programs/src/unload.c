/* SPDX-License-Identifier: MIT */
/*
 * programs/src/unload.c - a program that closes the allocator that it opened, and goes on
 *
 * usage: unload libuslab.so
 *
 * The kernel still knows the last sequence of each thread, and USLAB_CONF=reap= has left a thread.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef void *(*create_fn)(const char *, unsigned int, unsigned int, unsigned int,
			   void (*)(void *));
typedef void *(*alloc_fn)(void *, unsigned int, int);

int main(int argc, char **argv)
{
	void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	clock_t start = clock();
	create_fn create;
	alloc_fn alloc;
	void *cache;

	if (!handle) {
		fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage");
		return 2;
	}
	create = (create_fn)dlsym(handle, "kmem_cache_create");
	alloc = (alloc_fn)dlsym(handle, "kmem_cache_alloc_node");
	cache = create("unload", 64, 8, 0, NULL);
	for (unsigned int i = 0; i < 100; i++)
		if (!alloc(cache, 0, -1))
			return 3;
	if (dlclose(handle))
		return 4;
	while (clock() - start < CLOCKS_PER_SEC / 20) {} /* preempted now and then */
	usleep(50000);
	puts("still there");
	return 0;
}
