/* SPDX-License-Identifier: MIT */
/*
 * tests/install/use.c - a program outside of the tree that uses the installed package
 *
 * Compiled as C and as C++, against the shared and the static library, by every way of finding
 * them. Says "ok VERSION" when an own cache and kmalloc do what they should.
 */
#include <uslab/kstring.h>

#include <stdio.h>
#include <string.h>

struct point {
	long x, y, z;
};

static int fail(const char *what)
{
	fprintf(stderr, "use: %s\n", what);
	return 1;
}

static int use_cache(void)
{
	struct kmem_cache *points = KMEM_CACHE(point, SLAB_HWCACHE_ALIGN);
	struct point *all[100];
	int i;

	if (!points || kmem_cache_size(points) < sizeof(struct point))
		return fail("kmem_cache_create");
	for (i = 0; i < 100; i++) {
		all[i] = (struct point *)kmem_cache_alloc(points, GFP_KERNEL);
		if (!all[i])
			return fail("kmem_cache_alloc");
		all[i]->x = i;
	}
	for (i = 0; i < 100; i++) {
		if (all[i]->x != i)
			return fail("two objects overlap");
		kmem_cache_free(points, all[i]);
	}
	kmem_cache_destroy(points);
	return 0;
}

static int use_kmalloc(void)
{
	char *text = (char *)kmalloc(64, GFP_KERNEL);
	char *zero = (char *)kzalloc(1000, GFP_KERNEL);

	if (!text || !zero || ksize(zero) < 1000 || zero[0] || zero[999])
		return fail("kmalloc");
	strcpy(text, "words");
	text = (char *)krealloc(text, 5000, GFP_KERNEL);
	if (!text || strcmp(text, "words") != 0)
		return fail("krealloc");
	kfree(text);
	text = kasprintf(GFP_KERNEL, "%s %d", "words", 3);
	if (!text || strcmp(text, "words 3") != 0)
		return fail("kasprintf");
	kfree(text);
	kfree(zero);
	return 0;
}

int main(void)
{
	if (use_cache() || use_kmalloc())
		return 1;
	printf("ok %s\n", uslab_version());
	return 0;
}
