/* SPDX-License-Identifier: MIT */
/*
 * misuse/kunit.c - the kernel's slub_kunit: what validation finds in a damaged slab (spec 11.3)
 *
 * Each line names the test and how many reports and FIX lines each kmem_cache_validate() gave.
 *
 * misuse: kunit
 */
#include <uslab/slab.h>

#include "misuse.h"

static int errors;

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void hook(const char *cache, const char *text, void *arg)
{
	(void)cache;
	(void)arg;
	errors += count(text, "BUG ") + count(text, "FIX ");
}

static void validate(struct kmem_cache *s)
{
	errors = 0;
	if (kmem_cache_validate(s) < 0)
		dprintf(2, " no debug cache!");
	dprintf(2, " %d", errors);
}

static struct kmem_cache *make(const char *name, slab_flags_t flags)
{
	dprintf(2, "%s", name);
	return kmem_cache_create(name, 64, 0, flags | SLAB_NO_USER_FLAGS, NULL);
}

static void finish(struct kmem_cache *s, void *p)
{
	if (p)
		kmem_cache_free(s, p);
	kmem_cache_destroy(s);
	dprintf(2, "\n");
}

static void clobber_zone(void)
{
	struct kmem_cache *s = make("TestSlub_RZ_alloc", SLAB_RED_ZONE);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	p[64] = 0x12;
	validate(s);
	finish(s, p);
}

static void next_pointer(void)
{
	struct kmem_cache *s = make("TestSlub_next_ptr_free", SLAB_POISON);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));
	unsigned long *pointer = (unsigned long *)(p + 64); /* behind the object */
	unsigned long saved;

	kmem_cache_free(s, p);
	saved = *pointer;
	*pointer ^= 0xff;
	validate(s);
	*pointer = saved;
	validate(s);
	validate(s);
	finish(s, NULL);
}

static void write_to_free(const char *name, int at, char byte, slab_flags_t flags)
{
	struct kmem_cache *s = make(name, flags);
	char *p = wild(kmem_cache_alloc(s, GFP_KERNEL));

	kmem_cache_free(s, p);
	p[at] = byte;
	validate(s);
	finish(s, NULL);
}

/* By the kernel's index; a handle has 8 bytes. */
static struct kmem_cache *kmalloc_cache(unsigned int index)
{
	return (struct kmem_cache *)((char *)uslab_kmalloc_handles + 8 * index);
}

/* kmalloc's caches are switched on here: nobody else can ask for such a cache. */
static void kmalloc_redzone(void)
{
	struct kmem_cache *s = kmalloc_cache(5);
	char *p;

	dprintf(2, "%s", kmem_cache_name(s));
	uslab_set_debug("kmalloc-32", "ZU");
	p = wild(kmalloc(18, GFP_KERNEL));
	p[18] = p[19] = (char)0xab;
	validate(s);
	kfree(p);
	dprintf(2, "\n");
}

static void expect_bytes(const char *p, int from, int to, unsigned char byte)
{
	for (int i = from; i < to; i++)
		if ((unsigned char)p[i] != byte)
			dprintf(2, " byte %d is 0x%02x", i, (unsigned char)p[i]);
}

static void krealloc_redzone(void)
{
	struct kmem_cache *s = kmalloc_cache(6);
	char *p;

	dprintf(2, "%s", kmem_cache_name(s));
	uslab_set_debug("kmalloc-64", "ZU");
	p = wild(kzalloc(48, GFP_KERNEL));
	p = wild(krealloc(p, 40, GFP_KERNEL | __GFP_ZERO));
	expect_bytes(p, 40, 64, 0xcc);
	p = wild(krealloc(p, 56, GFP_KERNEL | __GFP_ZERO));
	expect_bytes(p, 40, 56, 0);
	expect_bytes(p, 56, 64, 0xcc);
	validate(s);
	memset(p, 0xff, 56);
	p = wild(krealloc(p, 112, GFP_KERNEL | __GFP_ZERO));
	expect_bytes(p, 0, 56, 0xff);
	expect_bytes(p, 56, 112, 0);
	kfree(p);
	dprintf(2, "\n");
}

static void leak_destroy(void)
{
	struct kmem_cache *s = make("TestSlub_kmem_cache_destroy", SLAB_RED_ZONE);

	kmem_cache_alloc(s, GFP_KERNEL);
	errors = 0;
	kmem_cache_destroy(s);
	dprintf(2, " %d\n", errors);
}

int main(void)
{
	uslab_set_report_hook(hook, NULL, true);
	clobber_zone();
	next_pointer();
	write_to_free("TestSlub_1th_word_free", 0, 0x78, SLAB_POISON);
	write_to_free("TestSlub_50th_word_free", 50, (char)0x9a, SLAB_POISON);
	write_to_free("TestSlub_RZ_free", 64, (char)0xab, SLAB_RED_ZONE);
	kmalloc_redzone();
	krealloc_redzone();
	leak_destroy();
	return survived();
}
