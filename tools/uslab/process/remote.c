/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/remote.c - process_vm_readv, and /proc/PID/mem where that is forbidden
 *
 * Data:       mem_fd, opened when process_vm_readv() was refused; thread, the main one until that
 *             has ended.
 * Flow:       called by target.c and core.c; calls live.c and timens.c; called back through
 *             reader.read by whoever reads the process. In: addresses of the process; out: bytes,
 *             or -errno.
 *
 * Some sandboxes filter process_vm_readv out by number (EPERM, ENOSYS) and allow the file.
 */
#define _GNU_SOURCE
#include "process/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process/live.h"
#include "process/timens.h"

#define NOT_TRIED (-1)
#define NOT_TO_BE_HAD (-2)

/* Bytes read, or -errno. */
static ssize_t read_by_call(const struct remote *remote, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len };
	struct iovec from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(remote->thread, &to, 1, &from, 1, 0);

	return n < 0 ? -errno : n;
}

static ssize_t read_by_file(struct remote *remote, uint64_t addr, void *buf, size_t len)
{
	char path[40];
	ssize_t n;

	if (remote->mem_fd == NOT_TRIED) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)remote->thread);
		remote->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (remote->mem_fd < 0 && (errno == ESRCH || errno == ENOENT))
			return -ESRCH;
		if (remote->mem_fd < 0)
			remote->mem_fd = NOT_TO_BE_HAD;
	}
	if (remote->mem_fd < 0)
		return -EPERM;
	n = pread(remote->mem_fd, buf, len, (off_t)addr);
	if (n == 0)
		return -ESRCH; /* the file outlives the memory */
	if (n < 0 && (errno == EIO || errno == EINVAL))
		return -EFAULT; /* not mapped; or no offset, as addresses of the upper half */
	return n < 0 ? -errno : n;
}

static ssize_t read_part(struct remote *remote, uint64_t addr, void *buf, size_t len)
{
	ssize_t n = remote->mem_fd >= 0 ? -EPERM : read_by_call(remote, addr, buf, len);

	return n == -EPERM || n == -ENOSYS ? read_by_file(remote, addr, buf, len) : n;
}

/* The thread has ended. Is there another one? */
static bool take_other_thread(struct remote *remote)
{
	pid_t thread = live_thread(remote->pid);

	if (thread == remote->thread)
		return false;
	remote->thread = thread;
	if (remote->mem_fd >= 0)
		close(remote->mem_fd);
	remote->mem_fd = NOT_TRIED;
	return true;
}

static int remote_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct remote *remote = ctx;
	char *to = buf;

	/* Both ways stop short at the first page that is not there; the next try says why. */
	while (len > 0) {
		ssize_t n = read_part(remote, addr, to, len);

		if (n == -ESRCH && take_other_thread(remote))
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -EFAULT;
		addr += (uint64_t)n;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

void remote_open(struct remote *remote, pid_t pid)
{
	*remote = (struct remote){
		.reader = { .read = remote_read,
			    .ctx = remote,
			    .ahead_ms = timens_ahead_ms(live_thread(pid)) },
		.pid = pid,
		.thread = pid,
		.mem_fd = NOT_TRIED,
	};
}

void remote_close(struct remote *remote)
{
	if (remote->mem_fd >= 0)
		close(remote->mem_fd);
	remote->mem_fd = NOT_TO_BE_HAD;
}
