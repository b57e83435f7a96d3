/* SPDX-License-Identifier: MIT */
/*
 * programs/src/hits_host.c - closes a plug-in whose sequence was the last that this thread ran
 *
 * usage: hits_host PLUGIN [LIBRARY]
 *
 * With LIBRARY, which is libuslab.so, the plug-in only frees an object of the host's. The kernel
 * looks at the descriptor of the last sequence when it delivers a signal.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>

struct kmem_cache;
typedef struct kmem_cache *(*create_fn)(const char *, unsigned int, unsigned int, unsigned int,
					void (*)(void *));
typedef void *(*alloc_fn)(struct kmem_cache *, unsigned int, int);
typedef int (*hits_fn)(struct kmem_cache *, void *);

static volatile sig_atomic_t signals;

static void count(int number)
{
	(void)number;
	signals++;
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	struct kmem_cache *cache = NULL;
	void *object = NULL;
	hits_fn hits;

	if (!plugin || (argc > 2 && !library)) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage");
		return 2;
	}
	if (library) {
		cache = ((create_fn)dlsym(library, "kmem_cache_create"))("host", 64, 8, 0, NULL);
		object = ((alloc_fn)dlsym(library, "kmem_cache_alloc_node"))(cache, 0, -1);
	}
	hits = (hits_fn)dlsym(plugin, "hits");
	signal(SIGUSR1, count);
	if (!hits || hits(cache, object) || dlclose(plugin))
		return 3;
	raise(SIGUSR1);
	if (signals != 1)
		return 4;
	puts(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "stayed" : "gone");
	return 0;
}
