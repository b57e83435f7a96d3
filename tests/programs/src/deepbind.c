/* SPDX-License-Identifier: MIT */
/*
 * programs/src/deepbind.c - loads a library with RTLD_DEEPBIND, and exchanges blocks with it
 *
 * usage: deepbind LIBRARY [keep]
 *
 * keep: the flag has its meaning, so that the library has another malloc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *(*make_fn)(size_t);
typedef void (*drop_fn)(void *);

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND) : NULL;
	make_fn make, which;
	drop_fn drop;
	unsigned int i;

	if (!library) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage");
		return 2;
	}
	make = (make_fn)dlsym(library, "make");
	drop = (drop_fn)dlsym(library, "drop");
	which = (make_fn)dlsym(library, "which_malloc");
	if ((which(0) == dlsym(RTLD_DEFAULT, "malloc")) == (argc > 2))
		return 3;
	for (i = 0; argc == 2 && i < 1000; i++) {
		free(make(i * 7));
		drop(malloc(i * 5));
	}
	puts("exchanged");
	return 0;
}
