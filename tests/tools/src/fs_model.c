/* SPDX-License-Identifier: MIT */
/*
 * tools/src/fs_model.c - caches of all kinds, for fs_test.py to look at
 * With the argument "busy" it goes on allocating and freeing, many of a kind so that calls miss and
 * commands are carried out, else it is quiet; with "names" it has caches of odd names, too.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uslab/slab.h>

static struct kmem_cache *widgets, *queued;
static void *objects[3000];

void make_thing(void *p)
{
	memset(p, 0, 8);
}

__attribute__((noinline)) void *take_widget(void)
{
	void *p = kmem_cache_alloc(widgets, GFP_KERNEL);

	__asm__ volatile("" ::: "memory");
	return p;
}

static void fill(struct kmem_cache *cache, int count)
{
	for (int i = 0; i < count; i++)
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
	for (int i = 0; i < count; i += 3)
		kmem_cache_free(cache, objects[i]);
}

static struct kmem_cache *with_front(const char *name, const char *engine, const char *front)
{
	struct kmem_cache_args args = { .engine = engine, .front = front };

	return kmem_cache_create_args(name, 200, &args, 0);
}

/* Each with objects of its own size; the last two are one name as far as it can be printed. */
static void make_odd_names(void)
{
	static const char *const names[] = { "two words", "", "dup", "dup", "x\001", "x\002" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fill(kmem_cache_create(names[i], 1000 + 200 * i, 0, 0, make_thing), 10);
}

int main(int argc, char **argv)
{
	struct kmem_cache *in_hand = kmem_cache_create("in-hand", 700, 0, SLAB_NOLEAKTRACE, NULL);
	struct kmem_cache *first = kmem_cache_create("first", 440, 0, 0, NULL);

	bool busy = argc > 1 && !strcmp(argv[1], "busy");

	/* slabs, and no live object: all are cached by the CPU */
	kmem_cache_free(in_hand, kmem_cache_alloc(in_hand, GFP_KERNEL));
	kmem_cache_create("second", 440, 0, 0, NULL);
	kmem_cache_create("empty", 1000, 0, 0, make_thing);
	widgets = kmem_cache_create("widget", 328, 0, SLAB_HWCACHE_ALIGN, NULL);
	queued = with_front("queued", "slab", "queues");
	fill(first, 30);
	fill(widgets, 1000);
	fill(queued, 1000);
	fill(with_front("on-cpus", "slub", "cpuslab"), 1000);
	fill(kmem_cache_create("a/b", 100, 0, SLAB_RECLAIM_ACCOUNT, make_thing), 100);
	if (argc > 1 && !strcmp(argv[1], "names"))
		make_odd_names();
	memset(objects, 0, sizeof(objects)); /* of another cache */
	puts("ready");
	fflush(stdout);
	if (!busy)
		pause();
	for (int i = 0;; i = (i + 1) % 500) {
		if (i % 8 == 0)
			poll(NULL, 0, 1);
		if (objects[i])
			kmem_cache_free(widgets, objects[i]);
		objects[i] = objects[i] ? NULL : take_widget();
	}
}
