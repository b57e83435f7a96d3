/* SPDX-License-Identifier: MIT */
/*
 * support/decline.c - tests of the inside do not tell valgrind of objects
 *
 * It would close the fronts and change the slabs that they look at (cache/instrument/instrument.h).
 * The notifications of valgrind are tested by tests/tools/instrument_test.py.
 */
#include <string.h>

#include "os/instrument/memcheck.h"

typedef void (*preinit)(int argc, char **argv, char **environment);

extern const preinit support_decline;

/* libc's own environ is not there yet. */
static void decline(int argc, char **argv, char **environment)
{
	static const char name[] = "USLAB_TEST_VALGRIND=";

	(void)argc;
	(void)argv;
	for (; *environment; environment++)
		if (!strncmp(*environment, name, sizeof(name) - 1))
			os_memcheck_declined = true;
}

/* Before any constructor, of which one makes the library ready. */
__attribute__((section(".preinit_array"), used)) const preinit support_decline = decline;
