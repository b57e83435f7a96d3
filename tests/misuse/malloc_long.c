/* SPDX-License-Identifier: MIT */
/*
 * misuse/malloc_long.c - the drop-in: mistakes with a block of some pages, of which a report shows
 * some lines only
 *
 * misuse: long_double_free USLAB_DEBUG=FZPU,malloc-20480 argument=double_free
 * misuse: long_overflow USLAB_DEBUG=FZPU,malloc-20480 argument=overflow
 * misuse: long_overflow_old USLAB_DEBUG=FZPU USLAB_CONF=report.format=2.6.29 argument=overflow
 * misuse: long_underflow USLAB_DEBUG=FZPU,malloc-20480 argument=underflow
 * misuse: long_use_after_free USLAB_DEBUG=FZPU,malloc-20480 argument=use_after_free
 */
#include "misuse.h"

#define SIZE 20000

static __attribute__((noinline)) char *make_buffer(void)
{
	return wild(malloc(SIZE));
}

static __attribute__((noinline)) void drop_buffer(void *p)
{
	free(p);
}

static void double_free(char *p)
{
	drop_buffer(p);
	drop_buffer(p);
}

static void overflow(char *p)
{
	p[SIZE] = '!';
	drop_buffer(p);
}

static void underflow(char *p)
{
	p[-1000] = '!';
	drop_buffer(p);
}

static void use_after_free(char *p)
{
	drop_buffer(p);
	p[SIZE / 2] = 'U';
	drop_buffer(make_buffer());
}

int main(int argc, char **argv)
{
	static const struct mistake mistakes[] = { { "double_free", double_free },
						   { "overflow", overflow },
						   { "underflow", underflow },
						   { "use_after_free", use_after_free } };
	const struct mistake *mistake = MISTAKE_NAMED(mistakes, argc, argv);

	if (mistake)
		mistake->make(make_buffer());
	return survived();
}
