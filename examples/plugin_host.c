/* SPDX-License-Identifier: MIT */
/*
 * examples/plugin_host.c - a program that closes a plug-in and goes on with its cache
 *
 *   $ cc -O2 -shared -fPIC plugin.c -luslab -o plugin.so
 *   $ cc -O2 plugin_host.c -luslab -ldl -o plugin_host
 *   $ ./plugin_host ./plugin.so
 *   after dlclose: constructed with 100
 *   still loaded: yes
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *symbol = plugin ? dlsym(plugin, "plugin_cache") : NULL;
	struct kmem_cache *(*plugin_cache)(void);
	struct kmem_cache *cache;
	long *value;

	if (!symbol)
		return 1;
	memcpy(&plugin_cache, &symbol, sizeof(symbol));
	cache = plugin_cache();
	dlclose(plugin);
	value = cache ? kmem_cache_alloc(cache, GFP_KERNEL) : NULL;
	if (!value)
		return 1;
	printf("after dlclose: constructed with %ld\n", *value);
	printf("still loaded: %s\n",
	       dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "yes" : "no");
	kmem_cache_free(cache, value);
	kmem_cache_destroy(cache);
	return 0;
}
