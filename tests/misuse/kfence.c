/* SPDX-License-Identifier: MIT */
/*
 * misuse/kfence.c - accesses beside and after guarded objects, frees of something else (spec 11)
 *
 * misuse: kfence_oob_read USLAB_CONF=kfence.sample=1 argument=oob_read
 * misuse: kfence_oob_write USLAB_CONF=kfence.sample=1 argument=oob_write
 * misuse: kfence_uaf_read USLAB_CONF=kfence.sample=1 argument=uaf_read
 * misuse: kfence_uaf_write USLAB_CONF=kfence.sample=1 argument=uaf_write
 * misuse: kfence_corruption USLAB_CONF=kfence.sample=1 argument=corruption
 * misuse: kfence_invalid_free USLAB_CONF=kfence.sample=1 argument=invalid_free
 * misuse: kfence_double_free USLAB_CONF=kfence.sample=1 argument=double_free
 * misuse: kfence_invalid_access USLAB_CONF=kfence.sample=1 argument=invalid_access
 * misuse: kfence_destroyed USLAB_CONF=kfence.sample=1 argument=destroyed
 * misuse: kfence_abort USLAB_CONF=kfence.sample=1,report=abort argument=uaf_read
 */
#include <uslab/slab.h>

#include "misuse.h"

#define PAGE 4096ul

static struct kmem_cache *cache;

static __attribute__((noinline)) char *test_alloc(void)
{
	return wild(kmem_cache_alloc(cache, GFP_KERNEL));
}

static __attribute__((noinline)) void test_free(char *p)
{
	kmem_cache_free(cache, p);
}

/* An object at the start of its page, or at its end. */
static char *alloc_at(int right)
{
	char *p = test_alloc();

	while (!right == !!((uintptr_t)p % PAGE)) {
		test_free(p);
		p = test_alloc();
	}
	return p;
}

static __attribute__((noinline)) void oob_read(void)
{
	(void)*(volatile char *)(alloc_at(0) - 1);
}

static __attribute__((noinline)) void oob_write(void)
{
	*(volatile char *)(alloc_at(1) + 32) = 42;
}

static inline __attribute__((__always_inline__)) char *freed(void) /* compilers differ */
{
	char *p = test_alloc();

	test_free(p);
	return p;
}

static __attribute__((noinline)) void uaf_read(void)
{
	(void)*(volatile char *)freed();
}

static __attribute__((noinline)) void uaf_write(void)
{
	*(volatile char *)freed() = 42;
}

static __attribute__((noinline)) void corruption(void)
{
	char *p = alloc_at(0);

	p[32] = 1;
	p[35] = 4;
	test_free(p);
}

static __attribute__((noinline)) void invalid_free(void)
{
	char *p = test_alloc();

	test_free(p + 1);
	test_free(p);
}

static __attribute__((noinline)) void double_free(void)
{
	test_free(freed());
}

/* The guard page between two objects that are free. */
static __attribute__((noinline)) void invalid_access(void)
{
	char *p = alloc_at(0);

	test_free(p);
	(void)*(volatile char *)(p - 1);
}

static __attribute__((noinline)) void destroyed(void)
{
	char *p = test_alloc();

	kmem_cache_destroy(cache);
	(void)*(volatile char *)p;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "oob_read", oob_read },	{ "oob_write", oob_write },
		{ "uaf_read", uaf_read },	{ "uaf_write", uaf_write },
		{ "corruption", corruption },	{ "invalid_free", invalid_free },
		{ "double_free", double_free }, { "invalid_access", invalid_access },
		{ "destroyed", destroyed },
	};

	cache = kmem_cache_create("test", 32, 0, 0, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	return survived();
}
