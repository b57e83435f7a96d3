/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_default.c - no debug flags: what free() must not be given is seen,
 * wherever the object is by then
 *
 * misuse: malloc_default_twice argument=twice
 * misuse: malloc_default_twice_abort USLAB_CONF=report=abort argument=twice
 * misuse: malloc_default_between argument=between
 * misuse: malloc_default_depot argument=depot
 * misuse: malloc_default_slab argument=slab
 * misuse: malloc_default_thread argument=thread
 * misuse: malloc_default_delete argument=realloc
 * misuse: malloc_default_stays argument=stays
 * misuse: malloc_debug_flags_stays USLAB_DEBUG=FZPU,malloc-352 argument=stays
 * misuse: malloc_default_unaligned argument=unaligned
 * misuse: malloc_default_inside argument=inside
 * misuse: malloc_default_run argument=run
 */
#include <malloc.h>
#include <pthread.h>

#include "misuse.h"

/* A size that libc's own start does not ask for. */
#define SIZE 352
#define MANY 2000

static __attribute__((noinline)) char *make_buffer(void)
{
	return wild(malloc(SIZE));
}

static __attribute__((noinline)) void drop_buffer(void *p)
{
	free(wild(p));
}

static void twice(char *p)
{
	drop_buffer(p);
	drop_buffer(p);
	if (make_buffer() == make_buffer())
		puts("two blocks share an address");
}

static void between(char *p)
{
	char *q = make_buffer();

	drop_buffer(p);
	drop_buffer(q);
	drop_buffer(p);
}

/* Behind so many others that it has left the array. */
static void depot(char *p)
{
	static char *others[40];

	for (int i = 0; i < 40; i++)
		others[i] = make_buffer();
	drop_buffer(p);
	for (int i = 0; i < 40; i++)
		drop_buffer(others[i]);
	drop_buffer(p);
}

/* ... and the depot, and its slab has others in use. */
static void slab(char *p)
{
	static char *others[MANY];

	for (int i = 0; i < MANY; i++)
		others[i] = make_buffer();
	drop_buffer(p);
	for (int i = 0; i < MANY; i += 3)
		drop_buffer(others[i]);
	drop_buffer(p);
}

static void *drop_elsewhere(void *p)
{
	drop_buffer(p);
	return NULL;
}

static void thread(char *p)
{
	pthread_t other;

	drop_buffer(p);
	if (!pthread_create(&other, NULL, drop_elsewhere, p))
		pthread_join(other, NULL);
}

/* The old block is free; realloc() moves it, and frees it. */
static void resize(char *p)
{
	drop_buffer(p);
	wild(realloc(wild(p), 4 * SIZE));
}

/* It would stay where it is: then it had two owners. */
static void stays(char *p)
{
	char *q;

	drop_buffer(p);
	q = wild(realloc(wild(p), SIZE + 8));
	if (q && q == make_buffer())
		puts("two blocks share an address");
}

static void unaligned(char *p)
{
	drop_buffer(p + 8);
	drop_buffer(p);
}

static void inside(char *p)
{
	drop_buffer(p + 16);
	drop_buffer(p);
}

static void run(char *p)
{
	char *pages = wild(malloc(100000));

	drop_buffer(p);
	drop_buffer(pages);
	drop_buffer(pages);
}

int main(int argc, char **argv)
{
	static const struct mistake mistakes[] = { { "twice", twice },	 { "between", between },
						   { "depot", depot },	 { "slab", slab },
						   { "thread", thread }, { "realloc", resize },
						   { "stays", stays },	 { "unaligned", unaligned },
						   { "inside", inside }, { "run", run } };
	const struct mistake *mistake = MISTAKE_NAMED(mistakes, argc, argv);

	stay_here();
	if (mistake)
		mistake->make(make_buffer());
	return survived();
}
