/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/sysroot.c - opens files in a folder as if that were the root
 *
 * Flow:       called by core_map.c; calls the system. In: a folder, and a path that a core names;
 *             out: a descriptor.
 *
 * openat2() does that: the kernel has it since 5.6. Before, and where a filter of system calls
 * refuses it, the path is put behind the folder, without "..": then an absolute link leads out of
 * the folder. What it leads to is compared with the core, as any file.
 */
#define _GNU_SOURCE
#include "process/sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

/* While files are renamed somewhere, the kernel may not be sure where ".." leads. */
#define TRIES 32

int sysroot_open(const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool has_parent(const char *path)
{
	for (; *path; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !strncmp(path, "..", 2))
			return true;
		path += length;
	}
	return false;
}

static int open_behind(int root, const char *path, int flags)
{
	int fd;

	if (has_parent(path))
		return -EXDEV; /* as openat2() has it for what leads out of a folder */
	path += strspn(path, "/");
	fd = openat(root, path, flags);
	return fd < 0 ? -errno : fd;
}

static int open_inside(int root, const char *path, int flags)
{
#ifdef RESOLVE_IN_ROOT
	const struct open_how how = { .flags = (unsigned int)flags, .resolve = RESOLVE_IN_ROOT };
	long fd = -1;

	errno = EAGAIN;
	for (int i = 0; i < TRIES && fd < 0 && errno == EAGAIN; i++)
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd >= 0)
		return (int)fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
#endif
	return open_behind(root, path, flags);
}

static int open_checked(int root, const char *path, int flags)
{
	int fd = open_inside(root, path, flags);
	struct stat st;

	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -ENXIO;
}

/* Looked at before it is opened, and after, as by mapped_file_open_regular(). */
int sysroot_open_regular(int root, const char *path)
{
	int fd = open_checked(root, path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return fd;
	close(fd);
	return open_checked(root, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
