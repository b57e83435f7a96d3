/* SPDX-License-Identifier: MIT */
/*
 * os/file.c - short text files of /proc and /sys
 *
 * Data:       none.
 * Invariants: the descriptor is closed on every way out; buf ends with NUL on every way out.
 * Locks:      none.
 * Flow:       called by os/cpu.c and os/vm.c, calls os/sys.h.
 */
#include <fcntl.h>

#include "base/assert.h"
#include "os/file.h"
#include "os/sys.h"

long os_read_text(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	long ret;
	int fd;

	ASSERT(size > 0);
	buf[0] = '\0';
	fd = (int)os_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;

	/* sysfs may hand a list out in pieces: only 0 means that it ended. */
	do {
		ret = os_syscall(SYS_read, fd, buf + len, size - 1 - len);
		if (ret > 0)
			len += (size_t)ret;
	} while (ret == -EINTR || (ret > 0 && len < size - 1));
	os_syscall(SYS_close, fd);

	if (ret < 0)
		len = 0;
	buf[len] = '\0';
	return ret < 0 ? ret : (long)len;
}
