/* SPDX-License-Identifier: MIT */
/*
 * os/memory/resident.c - memory that is there before it is used, and stays
 *
 * Data:       none; the linker says where this program or library begins and ends.
 * Invariants: see resident.h.
 * Locks:      none.
 * Flow:       see resident.h; calls madvise, mlock, os/memory/vm.h.
 */
#include "os/memory/resident.h"

#include <errno.h>
#include <sys/mman.h>

#include "os/memory/vm.h"

/* linux/mman.h since Linux 5.14 */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Written without a change: what describes pages is in use already. */
static void touch(void *addr, size_t size)
{
	for (size_t i = 0; i < size; i += os_page_size()) {
		volatile char *byte = (char *)addr + i;

		*byte = *byte;
	}
}

void os_populate(void *addr, size_t size)
{
	int saved = errno;

	if (madvise(addr, size, MADV_POPULATE_WRITE) != 0)
		touch(addr, size);
	errno = saved;
}

int os_lock(void *addr, size_t size)
{
	int saved = errno;
	int ret = mlock(addr, size) ? -errno : 0;

	errno = saved;
	return ret;
}

/* By the linker: from the file's header to the end of its data. */
extern char __ehdr_start[] __attribute__((weak, visibility("hidden")));
extern char _end[] __attribute__((weak, visibility("hidden")));

void os_lock_image(void)
{
	if (__ehdr_start && _end)
		os_lock(__ehdr_start, (size_t)(_end - __ehdr_start));
}
