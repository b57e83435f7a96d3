/* SPDX-License-Identifier: MIT */
/*
 * malloc/limit.c - setrlimit and prlimit: the arena follows a limit that the program sets
 *
 * Data:       none.
 * Invariants: as the system's, with the same results and errors.
 * Locks:      none of its own.
 * Flow:       called by the program; calls os/memory/vm.c, page/buddy.c.
 *
 * Addresses that are reserved count for RLIMIT_AS. If there is a limit at the start, the arena
 * reserves few; when the program sets or lifts a limit itself, the arena shrinks or grows here, so
 * that the program can map files and start threads. Not seen are system calls without libc, and
 * limits that another process sets.
 */
#include <errno.h>

#include "base/atomic.h"
#include "malloc/internal.h"
#include "os/memory/vm.h"
#include "page/buddy.h"
#include <uslab/slab.h>

/* <sys/resource.h> has enumerations for the resource, in C of glibc only; they are ints. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void limit_is(unsigned long pages)
{
	if (malloc_hot.page_limit)
		store_relaxed(&malloc_hot.page_limit, pages);
}

static int set_limit(int pid, int resource, const struct rlimit *new, struct rlimit *old)
{
	bool is_ours;
	int ret = os_limit(pid, resource, new, old, &is_ours);

	if (ret) {
		errno = -ret;
		return -1;
	}
	if (is_ours && malloc_ready())
		buddy_fit_addresses(limit_is);
	return 0;
}

USLAB_API int setrlimit(int resource, const struct rlimit *new)
{
	return set_limit(0, resource, new, NULL);
}

USLAB_API int prlimit(int pid, int resource, const struct rlimit *new, struct rlimit *old)
{
	return set_limit(pid, resource, new, old);
}

/* glibc's names for programs with 64 bits of file offset everywhere; the structure is the same. */

USLAB_API int setrlimit64(int resource, const struct rlimit *new)
{
	return set_limit(0, resource, new, NULL);
}

USLAB_API int prlimit64(int pid, int resource, const struct rlimit *new, struct rlimit *old)
{
	return set_limit(pid, resource, new, old);
}
