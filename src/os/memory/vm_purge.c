/* SPDX-License-Identifier: MIT */
/*
 * os/memory/vm_purge.c - gives pages of ranges back: at once, lazily, several ranges in one call
 *
 * Data:       does the kernel not take several ranges of one's own at once.
 * Invariants: errno is the same before and after every function.
 * Locks:      none; callers serialise what they do to one range.
 * Flow:       see vm.h; calls madvise, process_madvise.
 */
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/sys.h"
#include "os/memory/vm.h"

/* linux/pidfd.h since Linux 6.14 */
#ifndef PIDFD_SELF
#define PIDFD_SELF (-10000)
#endif

/* Its number is the same on all machines; Linux 5.10. */
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

BUILD_ASSERT(sizeof(struct os_range) == sizeof(struct iovec));
BUILD_ASSERT(offsetof(struct os_range, size) == offsetof(struct iovec, iov_len));

static int give_back(void *addr, size_t size, int advice)
{
	int saved = errno;
	int ret;

	ASSERT(((uintptr_t)addr | size) % os_page_size() == 0);
	ret = madvise(addr, size, advice) ? -errno : 0;
	errno = saved;
	return ret;
}

int os_purge(void *addr, size_t size)
{
	return give_back(addr, size, MADV_DONTNEED);
}

/* Locked memory is refused by EINVAL too; then the other call refuses as well. */
int os_purge_lazily(void *addr, size_t size)
{
	int ret = give_back(addr, size, MADV_FREE);

	return ret == -EINVAL ? os_purge(addr, size) : ret;
}

/* Without a word where the kernel does not know the call, or not for one's own memory. */
static unsigned int purge_at_once(const struct os_range *ranges, unsigned int nr)
{
	long bytes =
		os_syscall(SYS_process_madvise, PIDFD_SELF, ranges, (size_t)nr, MADV_DONTNEED, 0ul);
	unsigned int done = 0;

	while (done < nr && bytes >= (long)ranges[done].size)
		bytes -= (long)ranges[done++].size;
	return done;
}

unsigned int os_purge_ranges(const struct os_range *ranges, unsigned int nr)
{
	static bool is_unknown; /* atomic */
	unsigned int at_once = 0;
	unsigned int done;

	if (nr > 1 && !load_relaxed(&is_unknown))
		at_once = purge_at_once(ranges, nr);
	for (done = at_once; done < nr; done++)
		if (os_purge(ranges[done].start, ranges[done].size))
			break;
	if (nr > 1 && !at_once && done)
		store_relaxed(&is_unknown, true);
	return done;
}
