/* SPDX-License-Identifier: MIT */
/*
 * os/file.c - short text files of /proc and /sys, and lines for a log
 *
 * Data:       none.
 * Invariants: the descriptor is closed on every way out; buf ends with NUL on every way out.
 * Locks:      none.
 * Flow:       called by os/cpu.c, os/vm.c and debug/; calls os/sys.h, os/die.h.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "os/die.h"
#include "os/file.h"
#include "os/sys.h"

#define LOG_MODE 0644

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

/* ---- logs ---- */

static int open_to_append(const char *path)
{
	return (int)os_syscall(SYS_openat, AT_FDCWD, path,
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, LOG_MODE);
}

static void close_fd(int fd)
{
	os_syscall(SYS_close, fd);
}

/* errno is preserved. */
static bool is_file(int fd, struct stat *st)
{
	int saved = errno;
	bool ok = fstat(fd, st) == 0 && S_ISREG(st->st_mode);

	errno = saved;
	return ok;
}

/* A pipe's reader may go away, and then a write would end the program: others are opened each time. */
int os_log_open(struct os_log *log, const char *path, int least)
{
	int fd = open_to_append(path);
	struct stat st;
	int high;

	*log = (struct os_log){ 0 };
	if (fd < 0)
		return fd;
	if (!is_file(fd, &st)) {
		close_fd(fd);
		return 0;
	}
	high = (int)os_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
	if (high >= 0)
		close_fd(fd);
	*log = (struct os_log){ (high >= 0 ? high : fd) + 1, st.st_dev, st.st_ino };
	return 0;
}

/* Is the descriptor still that file? */
static bool is_open(const struct os_log *log, struct stat *st)
{
	return log->fd_plus_1 && is_file(log->fd_plus_1 - 1, st) && st->st_dev == log->dev &&
	       st->st_ino == log->ino;
}

void os_log_close(struct os_log *log)
{
	struct stat st;

	if (is_open(log, &st))
		close_fd(log->fd_plus_1 - 1);
	log->fd_plus_1 = 0;
}

int os_log_append(const struct os_log *log, const char *path, const void *buf, size_t len)
{
	struct stat st;

	if (is_open(log, &st) && st.st_nlink)
		return os_write(log->fd_plus_1 - 1, buf, len);
	return os_append(path, buf, len);
}

int os_append(const char *path, const void *buf, size_t len)
{
	int fd = open_to_append(path);
	int ret;

	if (fd < 0)
		return fd;
	ret = os_write(fd, buf, len);
	os_syscall(SYS_close, fd);
	return ret;
}

int os_absolute_path(char *buf, size_t size, const char *path)
{
	size_t len;
	long ret;

	if (path[0] == '/')
		return os_format(buf, size, "%s", path) < size ? 0 : -ENAMETOOLONG;
	ret = os_syscall(SYS_getcwd, buf, size);
	if (ret < 0)
		return (int)ret;
	len = (size_t)ret - 1; /* with the NUL */
	return os_format(buf + len, size - len, "/%s", path) < size - len ? 0 : -ENAMETOOLONG;
}
