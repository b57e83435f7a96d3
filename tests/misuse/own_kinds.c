/* SPDX-License-Identifier: MIT */
/*
 * misuse/own_kinds.c - every kind of mistake with a cache of one's own, one for each run;
 * scripts/misuse-table runs all
 *
 * The program goes on for a while afterwards, as programs do: some mistakes are noticed only then.
 *
 * misuse: own_hardened_double_free USLAB_CONF=hardened argument=own_double_free
 * misuse: own_hardened_written USLAB_CONF=hardened argument=own_uaf_write_all
 * misuse: own_hardened_foreign USLAB_CONF=hardened argument=own_free_foreign
 * misuse: own_hardened_inside USLAB_CONF=hardened argument=own_free_inside
 * misuse: own_hardened_heap USLAB_CONF=hardened,engine=slob,front=none argument=own_double_free
 * misuse: queues_double_free USLAB_CONF=engine=slob,front=queues argument=own_double_free
 * misuse: queues_abort USLAB_CONF=engine=slob,front=queues,report=abort argument=own_double_free
 */

#include <uslab/slab.h>

#include "misuse.h"

#define SIZE 56u /* with a constructor the link behind it fills up 64 */

static struct kmem_cache *mine;
static struct kmem_cache *other;

static __attribute__((noinline)) char *make(void)
{
	return wild(kmem_cache_alloc(mine, GFP_KERNEL));
}

static __attribute__((noinline)) void drop(char *p)
{
	kmem_cache_free(mine, wild(p));
}

static void construct(void *obj)
{
	memset(obj, 0, SIZE);
}

static void make_caches(void (*ctor)(void *))
{
	mine = kmem_cache_create("mine", SIZE, 0, SLAB_NOLEAKTRACE, ctor);
	other = kmem_cache_create("other", SIZE, 0, SLAB_NOLEAKTRACE | SLAB_ACCOUNT, NULL);
}

static void carry_on(void)
{
	char *p[64];

	for (int i = 0; i < 64; i++)
		p[i] = make();
	for (int i = 0; i < 64; i++)
		drop(p[i]);
	kmem_cache_shrink(mine);
}

static void double_free(void)
{
	char *p = make();

	drop(p);
	drop(p);
}

static void double_free_after_another(void)
{
	char *p = make();
	char *q = make();

	drop(p);
	drop(q);
	drop(p);
}

static void double_free_written(void)
{
	char *p = make();

	drop(p);
	memset(wild(p), 'A', SIZE);
	drop(p);
}

/* It is back in its slab, of which another object is in use. */
static void double_free_late(void)
{
	char *p = make();
	char *q = make();

	drop(p);
	kmem_cache_shrink(mine);
	drop(p);
	drop(q);
}

static void free_foreign(void)
{
	kmem_cache_free(mine, wild(kmem_cache_alloc(other, GFP_KERNEL)));
}

static void free_inside(void)
{
	char *p = make();

	memset(p, 0, SIZE);
	drop(p + 16);
}

static void free_static(void)
{
	static char variable[256];

	drop(variable + 64);
}

/* All of it, and the link behind it; then it is handed out. */
static void uaf_write_all(void)
{
	char *p = make();

	drop(p);
	memset(wild(p), 'A', SIZE);
	drop(make());
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
		void (*ctor)(void *);
	} kinds[] = {
		{ "own_double_free", double_free, NULL },
		{ "own_double_free_after_another", double_free_after_another, NULL },
		{ "own_double_free_written", double_free_written, NULL },
		{ "own_double_free_late", double_free_late, NULL },
		{ "own_double_free_late_constructed", double_free_late, construct },
		{ "own_free_foreign", free_foreign, NULL },
		{ "own_free_inside", free_inside, NULL },
		{ "own_free_static", free_static, NULL },
		{ "own_uaf_write_all", uaf_write_all, NULL },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc < 2)
			printf("%s\n", kinds[i].name);
		else if (!strcmp(argv[1], kinds[i].name)) {
			stay_here();
			make_caches(kinds[i].ctor);
			kinds[i].make();
			carry_on();
		}
	return argc < 2 ? 0 : survived();
}
