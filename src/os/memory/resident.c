/* SPDX-License-Identifier: MIT */
/*
 * os/memory/resident.c - memory that is there before it is used, and stays
 *
 * Data:       none; the linker says where this program or library begins, its program headers where
 *             its segments are. Between these there may be nothing mapped.
 * Invariants: see resident.h.
 * Locks:      none.
 * Flow:       see resident.h; calls madvise, mincore, mlock, munlock, vm.h, os/process/file.h.
 */
#include "os/memory/resident.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "os/memory/vm.h"
#include "os/process/file.h"
#include "os/sys.h"

/* linux/mman.h since Linux 5.14 */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Written without a change: what describes pages is in use already, maybe by other threads. */
__attribute__((no_sanitize("address"))) static void touch(void *addr, size_t size)
{
	for (size_t i = 0; i < size; i += os_page_size())
		fetch_add((unsigned long *)(void *)((char *)addr + i), 0ul);
}

int os_populate(void *addr, size_t size)
{
	int saved = errno;
	int ret = madvise(addr, size, MADV_POPULATE_WRITE) ? -errno : 0;

	errno = saved;
	/* An older system does not know it, a filter may refuse it; others: there is no memory. */
	if (ret != -EINVAL && ret != -ENOSYS && ret != -EPERM)
		return ret;
	touch(addr, size);
	return 0;
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

long os_count_resident(void *addr, size_t size)
{
	unsigned char in_memory[OS_COUNT_MOST];
	size_t pages = size / os_page_size();
	long count;

	ASSERT(pages <= OS_COUNT_MOST);
	count = os_syscall(SYS_mincore, addr, size, in_memory);
	for (size_t i = 0; i < pages && count >= 0; i++)
		count += in_memory[i] & 1;
	return count;
}

/* By the linker: where the file is loaded. It has no size, since what follows is read as well. */
extern const char __ehdr_start[] __attribute__((weak, visibility("hidden")));

static const Elf64_Ehdr *header(void)
{
	return (const void *)__ehdr_start;
}

static const Elf64_Phdr *headers(void)
{
	return (const void *)(__ehdr_start + header()->e_phoff);
}

/* The address that the file's header has in its segment is where it is now. */
static uintptr_t loaded_above(void)
{
	const Elf64_Phdr *p = headers();

	for (unsigned int i = 0; i < header()->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset == 0)
			return (uintptr_t)__ehdr_start - p[i].p_vaddr;
	return 0;
}

/* The end of what the dynamic linker makes read-only after it has written to it; 0: nothing. */
static uintptr_t end_of_relro(void)
{
	const Elf64_Phdr *p = headers();

	for (unsigned int i = 0; i < header()->e_phnum; i++)
		if (p[i].p_type == PT_GNU_RELRO)
			return ALIGN_DOWN(loaded_above() + p[i].p_vaddr + p[i].p_memsz,
					  os_page_size());
	return 0;
}

/* Calls act for the pages of each segment that has these flags, from an address on. */
static void each_segment(unsigned int flags, uintptr_t from, int (*act)(void *start, size_t size))
{
	uintptr_t above = loaded_above();
	size_t page = os_page_size();

	for (unsigned int i = 0; i < header()->e_phnum; i++) {
		const Elf64_Phdr *p = &headers()[i];
		uintptr_t start = MAX(ALIGN_DOWN(above + p->p_vaddr, page), from);
		uintptr_t end = ALIGN_UP(above + p->p_vaddr + p->p_memsz, page);

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && end > start)
			act((void *)start, end - start);
	}
}

/* Linkers put what may be read-only first of all that is written. */
void os_populate_image(void)
{
	if (header())
		each_segment(PF_W, end_of_relro(), os_populate);
}

void os_lock_image(void)
{
	if (!header())
		return;
	each_segment(PF_W, 0, os_lock); /* as far as a limit goes: data first */
	each_segment(0, 0, os_lock);
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
