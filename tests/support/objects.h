/* SPDX-License-Identifier: MIT */
/*
 * support/objects.h - does this C library say which loaded object an address belongs to
 *
 * glibc does since 2.35 (_dl_find_object). Elsewhere reports have addresses in place of names, and
 * stacks are followed by frame pointers.
 */
#ifndef SUPPORT_OBJECTS_H
#define SUPPORT_OBJECTS_H

#include "bare.h"
#include "child.h"
#include "os/symbol/object.h"

#define NO_OBJECTS "this C library does not say what an address belongs to (_dl_find_object)"

static inline bool finds_objects(void)
{
	struct os_object object;

	return os_object_find((uintptr_t)child_run, &object);
}

/* For a test, and for a child of one. */
#define NEEDS_OBJECTS()                           \
	do {                                      \
		if (!finds_objects())             \
			skip_because(NO_OBJECTS); \
	} while (0)

static inline void child_needs_objects(void)
{
	if (!finds_objects())
		child_cannot(NO_OBJECTS);
}

#endif /* SUPPORT_OBJECTS_H */
