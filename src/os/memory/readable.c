/* SPDX-License-Identifier: MIT */
/*
 * os/memory/readable.c - memory that may not be there, or go away while it is read
 *
 * Data:       mask_tells: whether the kernel answers as os_readable_page() asks it; found out once.
 * Invariants: none.
 * Locks:      none; whoever finds out at the same time finds the same.
 * Flow:       see os/memory/readable.h.
 *
 * The kernel copies a set of signals before it looks at what to do with it, which is nonsense
 * here: EINVAL for memory that can be read, EFAULT for other. Every sandbox allows that call;
 * there are some that end a process that calls process_vm_readv(2), so pages of stacks are not
 * asked about by the latter, and where there was a filter of system calls from the start memory
 * is copied through /proc/self/mem. valgrind finds fault with the former, and emulators may look
 * at the arguments in another order.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/instrument/valgrind.h"
#include "os/memory/readable.h"
#include "os/sys.h"

#define PAGE 4096ul	/* or a part of the system's */
#define NOWHERE (-PAGE) /* no process has the last page of the address space */

enum answer { UNKNOWN, YES, NO };

static enum answer mask_tells; /* atomic */
bool os_filtered;

static long ask_by_mask(uintptr_t address)
{
	const int nonsense = ~0;

	return os_syscall(SYS_rt_sigprocmask, nonsense, address, NULL, sizeof(uint64_t));
}

static cold enum answer find_out(void)
{
	uint64_t here = 0;
	bool tells = !RUNNING_ON_VALGRIND && ask_by_mask((uintptr_t)&here) == -EINVAL &&
		     ask_by_mask(NOWHERE) == -EFAULT;
	enum answer answer = tells ? YES : NO;

	store_relaxed(&mask_tells, answer);
	return answer;
}

/* The thread's number, since that of the process is of no use once the main thread has ended. */
static long copy_by_kernel(void *to, const void *from, size_t size)
{
	struct iovec local = { to, size };
	struct iovec remote = { (void *)from, size };

	return os_syscall(SYS_process_vm_readv, os_syscall(SYS_gettid), &local, 1l, &remote, 1l,
			  0l);
}

bool os_readable_page(uintptr_t address)
{
	enum answer tells = load_relaxed(&mask_tells);
	char byte;

	if (unlikely(tells == UNKNOWN))
		tells = find_out();
	if (tells == YES)
		return ask_by_mask(address) == -EINVAL;
	return copy_by_kernel(&byte, (const void *)address, 1) == 1;
}

static bool is_readable(const void *from, size_t size)
{
	uintptr_t start = ALIGN_DOWN((uintptr_t)from, PAGE);

	for (uintptr_t page = start; page < (uintptr_t)from + size; page += PAGE)
		if (!os_readable_page(page))
			return false;
	return true;
}

/* Where the kernel may not copy: what is there is believed to stay for a moment. */
static cold bool copy_by_hand(void *to, const void *from, size_t size)
{
	if (!is_readable(from, size))
		return false;
	memcpy(to, from, size);
	return true;
}

static int open_at(const char *path)
{
	return (int)os_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

/* /proc/self is the main thread, which may have ended before; kernels before 3.17 have no other. */
static cold int open_memory(void)
{
	int fd = open_at("/proc/thread-self/mem");

	return fd >= 0 ? fd : open_at("/proc/self/mem");
}

/* The file has also what the process may not read, so that pages are asked about before. */
static cold bool copy_by_file(void *to, const void *from, size_t size)
{
	int fd = open_memory();
	bool copied;

	if (fd < 0)
		return copy_by_hand(to, from, size);
	copied = is_readable(from, size) &&
		 os_syscall(SYS_pread64, fd, to, size, from) == (long)size;
	os_syscall(SYS_close, fd);
	return copied;
}

bool os_readable_copy(void *to, const void *from, size_t size)
{
	long ret;

	if (unlikely(os_filtered))
		return copy_by_file(to, from, size);
	ret = copy_by_kernel(to, from, size);
	if (unlikely(ret == -EPERM || ret == -ENOSYS))
		return copy_by_hand(to, from, size);
	return ret == (long)size;
}
