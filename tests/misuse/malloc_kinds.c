/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_kinds.c - every kind of mistake with malloc(), one for each run;
 * scripts/misuse-table runs all
 *
 * The program goes on for a while afterwards, as programs do: some mistakes are noticed only then.
 *
 * misuse: large_overflow USLAB_DEBUG=FZPU,malloc-large argument=overflow_1_large
 * misuse: large_before USLAB_DEBUG=FZPU,malloc-large argument=before_1_large
 * misuse: large_double_free USLAB_DEBUG=FZPU,malloc-large argument=double_free_large
 * misuse: large_use_after_free USLAB_DEBUG=FZPU,malloc-large argument=uaf_write_large
 * misuse: large_interior USLAB_DEBUG=FZPU,malloc-large argument=free_inside_large
 * misuse: large_plain_double_free argument=double_free_large
 * misuse: large_plain_interior argument=free_inside_large
 * misuse: large_realloc_of_freed USLAB_DEBUG=FZPU,malloc-large argument=realloc_of_freed_large
 * misuse: mapped_overflow USLAB_DEBUG=FZPU,malloc-large argument=overflow_1_mapped
 * misuse: mapped_plain_double_free argument=double_free_mapped
 * misuse: mapped_plain_interior argument=free_inside_mapped
 * misuse: mapped_double_free USLAB_DEBUG=FZPU,malloc-large argument=double_free_mapped
 * misuse: jump_into_freed USLAB_CONF=kfence.sample=1 argument=jump_into_freed
 * misuse: realloc_of_guarded USLAB_CONF=kfence.sample=1 argument=realloc_of_freed
 */
#include <pthread.h>

#include "misuse.h"

#define SMALL 152ul /* bytes: fills a chunk of glibc; libc's own start does not ask for it */
#define TINY 8ul
#define LARGE 100008ul
#define MAPPED (8ul << 20)
#define PAGE 4096ul

static __attribute__((noinline)) char *make(size_t size)
{
	return wild(malloc(size));
}

static __attribute__((noinline)) void drop(void *p)
{
	free(p);
}

/* Two blocks beside it, so that it is not at the end of anything. */
static char *make_between(size_t size)
{
	char *before = make(size);
	char *p = make(size);
	char *behind = make(size);

	before[0] = behind[0] = 1;
	return p;
}

static void carry_on(size_t size)
{
	char *p[64];

	for (int i = 0; i < 64; i++) {
		p[i] = make(size);
		p[i][0] = 1;
	}
	for (int i = 0; i < 64; i++)
		drop(p[i]);
	for (size_t n = 24; n < 2000; n += 64)
		drop(make(n));
}

/* ---- freed twice ---- */

static void double_free(size_t size)
{
	char *p = make_between(size);

	drop(p);
	drop(p);
}

static void double_free_after_another(size_t size)
{
	char *p = make_between(size);
	char *q = make(size);

	drop(p);
	drop(q);
	drop(p);
}

/* So many later that no cache of a thread or CPU holds it any more. */
static void double_free_late(size_t size)
{
	enum { NR = 1000 };
	static char *others[NR];
	char *p = make_between(size);

	for (int i = 0; i < NR; i++)
		others[i] = make(size);
	drop(p);
	for (int i = 0; i < NR; i++)
		drop(others[i]);
	drop(p);
}

/* All that an object says of itself is overwritten in between. */
static void double_free_written(size_t size)
{
	char *p = make_between(size);

	drop(p);
	memset(wild(p), 'A', size);
	drop(p);
}

static void *drop_there(void *p)
{
	drop(p);
	return NULL;
}

static void double_free_by_a_thread(size_t size)
{
	char *p = make_between(size);
	pthread_t thread;

	drop(p);
	pthread_create(&thread, NULL, drop_there, p);
	pthread_join(thread, NULL);
}

static void realloc_of_freed(size_t size)
{
	char *p = make_between(size);

	drop(p);
	drop(realloc(p, 2 * size));
}

/* ---- no start of a block ---- */

static void free_stack(size_t size)
{
	char local[64] = { 0 }; /* glibc takes what lies there for a size */

	(void)size;
	drop(wild(local + 16));
}

static void free_static(size_t size)
{
	static char variable[256];

	(void)size;
	drop(wild(variable + 64));
}

static void free_unaligned(size_t size)
{
	drop(make_between(size) + 1);
}

static void free_inside(size_t size)
{
	char *p = make_between(size);

	memset(p, 0, size);
	drop(p + (size > PAGE ? PAGE : 64));
}

static void realloc_of_static(size_t size)
{
	static char variable[256];

	drop(realloc(wild(variable + 64), size));
}

/* ---- written beside a block ---- */

static void overflow(size_t size, size_t n)
{
	char *p = make_between(size);

	memset(p + size, 'A', n);
	drop(p);
}

static void overflow_1(size_t size)
{
	overflow(size, 1);
}

static void overflow_8(size_t size)
{
	overflow(size, 8);
}

static void overflow_page(size_t size)
{
	overflow(size, PAGE);
}

/* As far as the next block's head, where there are heads: with glibc what is free behind it. */
static void overflow_of_the_last(size_t size)
{
	char *p = make(size);

	memset(p + size, 'A', 16);
	carry_on(3000);
	drop(p);
}

static void before_1(size_t size)
{
	char *p = make_between(size);

	p[-1] = 'A';
	drop(p);
}

static void before_8(size_t size)
{
	char *p = make_between(size);

	memset(p - 8, 'A', 8);
	drop(p);
}

/* ---- used after it was freed ---- */

static void uaf_read(size_t size)
{
	char *p = make_between(size);

	drop(p);
	(void)*(volatile char *)(p + 24);
}

static void uaf_write(size_t size)
{
	char *p = make_between(size);

	drop(p);
	*(volatile char *)(p + 24) = 'A';
	drop(make(size));
}

/* All of it, links wherever they are; then it is handed out. */
static void uaf_write_all(size_t size)
{
	char *p = make_between(size);

	drop(p);
	memset(wild(p), 'A', size);
	drop(make(size));
}

/* One bit of what is the link of a free object, where that lies at its start. */
static void uaf_link(size_t size)
{
	char *p = make_between(size);
	char *q = make(size);

	drop(q);
	drop(p);
	*(volatile char *)p ^= 8;
}

/*
 * What lies in objects, links among it, that went back to their slabs: behind thousands of others.
 * Of a link at the start one bit, as above: glibc, which hides links behind their address, then
 * sees an address that is none of a block, and not now and then one that it follows.
 */
static void uaf_link_late(size_t size)
{
	static char *p[5000];

	for (int i = 0; i < 5000; i++)
		p[i] = make(size);
	for (int i = 0; i < 5000; i += 2)
		drop(p[i]);
	for (int i = 0; i < 2000; i += 2) {
		*(volatile char *)p[i] ^= 8;
		memset(p[i] + sizeof(void *), 'A', size - sizeof(void *));
	}
	for (int i = 0; i < 5000; i += 2)
		p[i] = make(size);
}

/* It stays where it is if nobody looks. */
static void realloc_in_place_of_freed(size_t size)
{
	char *p = make_between(size);

	drop(p);
	drop(wild(realloc(wild(p), size - 8)));
}

static __attribute__((noinline)) void jump(void *p)
{
	((void (*)(void))p)();
}

static void jump_into_freed(size_t size)
{
	char *p = make_between(size);

	drop(p);
	jump(p);
}

#define KIND(name, size)          \
	{                         \
#name, name, size \
	}
#define LARGE_KIND(name)                      \
	{ #name "_large", name, LARGE },      \
	{                                     \
#name "_mapped", name, MAPPED \
	}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(size_t size);
		size_t size;
	} kinds[] = {
		KIND(double_free, SMALL),
		KIND(double_free_after_another, SMALL),
		KIND(double_free_late, SMALL),
		KIND(double_free_by_a_thread, SMALL),
		KIND(double_free_written, SMALL),
		{ "double_free_late_tiny", double_free_late, TINY },
		KIND(realloc_of_freed, SMALL),
		LARGE_KIND(realloc_of_freed),
		KIND(realloc_in_place_of_freed, SMALL),
		LARGE_KIND(double_free),
		KIND(free_stack, SMALL),
		KIND(free_static, SMALL),
		KIND(free_unaligned, SMALL),
		KIND(free_inside, SMALL),
		KIND(realloc_of_static, SMALL),
		LARGE_KIND(free_inside),
		KIND(overflow_1, SMALL),
		KIND(overflow_8, SMALL),
		KIND(overflow_page, SMALL),
		KIND(overflow_of_the_last, SMALL),
		LARGE_KIND(overflow_1),
		LARGE_KIND(overflow_page),
		KIND(before_1, SMALL),
		KIND(before_8, SMALL),
		LARGE_KIND(before_1),
		LARGE_KIND(before_8),
		KIND(uaf_read, SMALL),
		KIND(uaf_write, SMALL),
		KIND(uaf_write_all, SMALL),
		KIND(uaf_link, SMALL),
		KIND(uaf_link_late, SMALL),
		LARGE_KIND(uaf_read),
		LARGE_KIND(uaf_write),
		KIND(jump_into_freed, SMALL),
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc < 2)
			printf("%s\n", kinds[i].name);
		else if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].make(kinds[i].size);
			carry_on(kinds[i].size < LARGE ? kinds[i].size : LARGE);
		}
	return argc < 2 ? 0 : survived();
}
