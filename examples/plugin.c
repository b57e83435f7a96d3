/* SPDX-License-Identifier: MIT */
/*
 * examples/plugin.c - a plug-in with a cache that outlives dlclose()
 *
 * The cache calls the plug-in's constructor whenever it needs a new slab. So
 * the code must stay as long as the cache does, whoever closes the plug-in.
 * (Code with inline hit paths stays loaded by itself.)
 *
 *   $ cc -O2 -shared -fPIC plugin.c -luslab -o plugin.so
 */
#include <uslab/slab.h>

struct counter {
	long value;
};

static struct kmem_cache *counters;

static void counter_ctor(void *object)
{
	((struct counter *)object)->value = 100;
}

/* The host finds it by its name. NULL: no memory. */
struct kmem_cache *plugin_cache(void);
struct kmem_cache *plugin_cache(void)
{
	if (!counters && !uslab_pin_object(&counters))
		counters = kmem_cache_create("counters",
					     sizeof(struct counter), 0, 0,
					     counter_ctor);
	return counters;
}
