/* SPDX-License-Identifier: MIT */
/*
 * malloc/load.c - dlopen: libraries that are loaded with RTLD_DEEPBIND call this malloc as well
 *
 * Why:        docs/adr/0094.
 * Data:       next: the C library's dlopen().
 * Invariants: as the system's, but that the flag is left out.
 * Locks:      none; who finds the function at the same time finds the same.
 * Flow:       called by the program; calls os/symbol/symbol.c.
 *
 * With the flag a library finds the C library's malloc() in front of this one, and what it
 * allocates meets this free(), or the other way round: the program dies of that.
 *
 * The C library looks at its return address for whose RUNPATH and namespace to use. So it is
 * jumped to, in place of being called, and sees the program.
 */
#include "base/atomic.h"
#include "os/symbol/symbol.h"
#include <uslab/slab.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef void *(*dlopen_fn)(const char *, int);

static dlopen_fn next; /* atomic */

static noinline dlopen_fn find_dlopen(void)
{
	dlopen_fn found = (dlopen_fn)os_symbol_next("dlopen");

	store_relaxed(&next, found);
	return found;
}

#if __has_attribute(musttail) /* Clang 13, GCC 15 */
#define JUMP __attribute__((musttail))
#define JUMPS
#else
#define JUMP
#define JUMPS                    \
	__attribute__((optimize( \
		"O2", "optimize-sibling-calls"))) /* also where nothing else is optimised */
#endif

USLAB_API JUMPS void *dlopen(const char *file, int mode)
{
	dlopen_fn function = load_relaxed(&next);

	if (unlikely(!function))
		function = find_dlopen();
	JUMP return function(file, os_dlopen_mode(mode));
}
