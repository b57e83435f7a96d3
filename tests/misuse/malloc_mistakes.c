/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_mistakes.c - the drop-in: overflow, write after free, double free and wild frees
 *
 * misuse: malloc_overflow USLAB_DEBUG=FZPU,malloc-160 argument=overflow
 * misuse: malloc_double_free USLAB_DEBUG=FZPU,malloc-160 argument=double_free
 * misuse: malloc_use_after_free USLAB_DEBUG=FZPU,malloc-160 argument=use_after_free
 * misuse: malloc_interior USLAB_DEBUG=FZPU,malloc-160 argument=interior
 * misuse: malloc_plain_double_free USLAB_CONF=front=none argument=double_free
 * misuse: malloc_plain_interior USLAB_CONF=front=none argument=interior
 * misuse: malloc_plain_foreign argument=foreign
 */
#include "misuse.h"

/* A size that libc's own start does not ask for. */
#define SIZE 160

static __attribute__((noinline)) char *make_buffer(void)
{
	return wild(malloc(SIZE));
}

static __attribute__((noinline)) void drop_buffer(void *p)
{
	free(p);
}

static void overflow(char *p)
{
	memcpy(p + SIZE, "!!", 2);
	drop_buffer(p);
}

static void double_free(char *p)
{
	drop_buffer(p);
	drop_buffer(p);
}

static void use_after_free(char *p)
{
	drop_buffer(p);
	p[100] = 'U';
	drop_buffer(make_buffer());
}

static void interior(char *p)
{
	drop_buffer(p + 64);
}

static void foreign(char *p)
{
	static char buffer[SIZE];

	drop_buffer(p);
	drop_buffer(wild(buffer));
}

int main(int argc, char **argv)
{
	static const struct mistake mistakes[] = { { "overflow", overflow },
						   { "double_free", double_free },
						   { "use_after_free", use_after_free },
						   { "interior", interior },
						   { "foreign", foreign } };
	const struct mistake *mistake = MISTAKE_NAMED(mistakes, argc, argv);

	if (mistake)
		mistake->make(make_buffer());
	return survived();
}
