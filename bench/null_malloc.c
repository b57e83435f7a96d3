/* SPDX-License-Identifier: MIT */
/*
 * bench/null_malloc.c - a malloc that does nothing: the floor of `uslab bench pair`
 *
 * Data:       one object and a small area, both static.
 * Locks:      none: for one thread.
 * Flow:       preloaded into uslab-bench-worker.c as contestant null-malloc of
 *             tools/uslab/bench/catalogue.c.
 *
 * malloc and free of this library are as short as such functions can be and still hand one object
 * out and take it back: a pop and a push of one static slot. Preloaded, it shows what the call
 * through the PLT and the loop cost by themselves. It is no allocator (the second object that a
 * program asks for comes from a small area and is never reused), so it is a floor, never a peer,
 * and no other benchmark uses it.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define AREA (1u << 20) /* for what the C library asks for before main() */

EXPORT void *malloc(size_t size);
EXPORT void free(void *p);
EXPORT void *calloc(size_t n, size_t size);
EXPORT void *realloc(void *p, size_t size);

static _Alignas(64) char object[4096];
static _Alignas(64) char area[AREA];
static size_t area_used;
static void *slot = object; /* the object when it is free, else NULL; one thread only */

static __attribute__((noinline)) void *malloc_slow(size_t size)
{
	size_t start = area_used;

	size = (size + 15) & ~(size_t)15;
	if (size > AREA - start)
		return NULL;
	area_used = start + size;
	return area + start;
}

void *malloc(size_t size)
{
	void *p = slot;

	if (__builtin_expect(!p || size > sizeof(object), 0))
		return malloc_slow(size);
	slot = NULL;
	return p;
}

void free(void *p)
{
	if (p == object)
		slot = p;
}

/* Neither of these may touch the slot's object: what they give is never asked back. */
void *calloc(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? NULL : malloc_slow(bytes);
}

void *realloc(void *p, size_t size)
{
	void *new = malloc_slow(size);
	size_t room = p ? (size_t)(area + AREA - (char *)p) : 0;

	if (new &&p)
		memcpy(new, p,
		       p == object ? (size < sizeof(object) ? size : sizeof(object))
				   : (size < room ? size : room));
	return new;
}
