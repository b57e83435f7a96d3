/* SPDX-License-Identifier: MIT */
/*
 * os/memory/resident.c - memory that is there before it is used, and stays
 *
 * Data:       none; the linker says where this program or library begins and ends.
 * Invariants: see resident.h.
 * Locks:      none.
 * Flow:       see resident.h; calls madvise, mlock, munlock, vm.h, os/process/file.h.
 */
#include "os/memory/resident.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "os/memory/vm.h"
#include "os/process/file.h"

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

void os_unlock(void *addr, size_t size)
{
	int saved = errno;

	munlock(addr, size);
	errno = saved;
}

/* By the linker: from the file's header to the end of its data. */
extern char __ehdr_start[] __attribute__((weak, visibility("hidden")));
extern char _end[] __attribute__((weak, visibility("hidden")));

void os_lock_image(void)
{
	if (__ehdr_start && _end)
		os_lock(__ehdr_start, (size_t)(_end - __ehdr_start));
}

size_t os_available_memory(void)
{
	static const char key[] = "MemAvailable:"; /* in the first lines; since Linux 3.14 */
	char text[512];
	const char *p;
	size_t kib = 0;

	if (os_read_text("/proc/meminfo", text, sizeof(text)) < 0 || !(p = strstr(text, key)))
		return os_physical_memory();
	for (p += sizeof(key) - 1; *p == ' '; p++) {}
	for (; *p >= '0' && *p <= '9'; p++)
		kib = kib * 10 + (size_t)(*p - '0');
	return kib << 10;
}
