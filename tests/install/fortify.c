/* SPDX-License-Identifier: MIT */
/*
 * tests/install/fortify.c - a program that writes LENGTH bytes into what CASE names, of 16 bytes
 *
 * For tests/install/fortify_test.sh, as C and as C++. Ends with status 0 when it could write. What
 * the compiler can know is the size; LENGTH comes from the command line, so that only what glibc
 * checks when the program runs can stop it (SIGABRT).
 */
#include <uslab/kstring.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[64] = "text";

/* Each case by itself: the compiler is to see where its pointer comes from. */
#define CASE(name, get)                                                      \
	static __attribute__((__noinline__)) int write_##name(size_t length) \
	{                                                                    \
		void *p = (get);                                             \
                                                                             \
		if (!p)                                                      \
			return 1;                                            \
		memcpy(p, text, length);                                     \
		__asm__ volatile("" : : "r"(p) : "memory");                  \
		kfree(p);                                                    \
		return 0;                                                    \
	}

CASE(kmalloc, kmalloc(16, GFP_KERNEL))
CASE(kzalloc, kzalloc(16, GFP_KERNEL))
CASE(kmalloc_node, kmalloc_node(16, GFP_KERNEL, -1))
CASE(kzalloc_node, kzalloc_node(16, GFP_KERNEL, -1))
CASE(kmalloc_array, kmalloc_array(4, 4, GFP_KERNEL))
CASE(kcalloc, kcalloc(2, 8, GFP_KERNEL))
CASE(krealloc, krealloc(NULL, 16, GFP_KERNEL))
CASE(krealloc_array, krealloc_array(NULL, 2, 8, GFP_KERNEL))
CASE(kmalloc_array_node, kmalloc_array_node(2, 8, GFP_KERNEL, 0))
CASE(kcalloc_node, kcalloc_node(4, 4, GFP_KERNEL, 0))
CASE(kmalloc_track_caller, kmalloc_track_caller(16, GFP_KERNEL))
CASE(krealloc_node, krealloc_node(NULL, 16, GFP_KERNEL, 0))
CASE(kvmalloc, kvmalloc(16, GFP_KERNEL))
CASE(kvcalloc, kvcalloc(2, 8, GFP_KERNEL))
CASE(kvmalloc_node, kvmalloc_node(16, GFP_KERNEL, 0))
CASE(kvrealloc, kvrealloc(NULL, 16, GFP_KERNEL))
CASE(kmalloc_objs, kmalloc_objs(int, 4))
CASE(kmemdup, kmemdup(text, 16, GFP_KERNEL))

int main(int argc, char **argv)
{
	const char *name = argc == 3 ? argv[1] : "";
	size_t length = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int i, ret = 2;

	/* Over and over: the first comes by the call of a miss, the next ones by a hit. */
	for (i = 0; i < 4; i++) {
		size_t now = i < 3 ? 16 : length;

#define TRY(case_name)                     \
	if (strcmp(name, #case_name) == 0) \
		ret = write_##case_name(now);
		TRY(kmalloc)
		TRY(kzalloc)
		TRY(kmalloc_node)
		TRY(kzalloc_node)
		TRY(kmalloc_array)
		TRY(kcalloc)
		TRY(krealloc)
		TRY(krealloc_array)
		TRY(kmalloc_array_node)
		TRY(kcalloc_node)
		TRY(kmalloc_track_caller)
		TRY(krealloc_node)
		TRY(kvmalloc)
		TRY(kvcalloc)
		TRY(kvmalloc_node)
		TRY(kvrealloc)
		TRY(kmalloc_objs)
		TRY(kmemdup)
		if (ret)
			return ret;
	}
	puts("written");
	return 0;
}
