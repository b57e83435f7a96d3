/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/mapped_file.c - opens the files that a process has mapped, deleted or not
 *
 * Flow:       called by target.c, core_map.c, pagemap.c, symbols/ and run/cmd_run.c; calls live.c.
 *             In: a line of /proc/PID/maps; out: a descriptor of that very file, wherever its path
 *             leads by now.
 */
#define _GNU_SOURCE
#include "process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/live.h"

#define DELETED " (deleted)"

size_t mapped_file_length(const char *path, bool *deleted)
{
	size_t length = strlen(path), more = strlen(DELETED);

	*deleted = length > more && !strcmp(path + length - more, DELETED);
	return *deleted ? length - more : length;
}

/* Looked at before it is opened, and after: O_NONBLOCK in case it became a pipe in between. */
int mapped_file_open_regular(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -ENXIO;
}

/* Is that file the main program? Then /proc/PID/exe opens it, deleted or not. */
static bool is_program(const char *exe, const char *path, size_t length)
{
	char link[PATH_MAX + sizeof(DELETED)];
	ssize_t n = readlink(exe, link, sizeof(link) - 1);
	bool deleted;

	if (n < 0)
		return false;
	link[n] = '\0';
	return mapped_file_length(link, &deleted) == length && !strncmp(link, path, length);
}

/* Can another name open what that one did not? Not without a descriptor. */
static bool is_absent(int fd)
{
	return fd < 0 && fd != -EMFILE && fd != -ENFILE;
}

int mapped_file_open(pid_t pid, const char *path, size_t length, bool deleted, uint64_t start,
		     uint64_t end)
{
	char text[PATH_MAX + 64];
	int thread = (int)live_thread(pid);
	int fd = -ENOENT;

	if (!deleted && length < PATH_MAX) {
		snprintf(text, sizeof(text), "/proc/%d/root%.*s", thread, (int)length, path);
		fd = mapped_file_open_regular(text);
	}
	snprintf(text, sizeof(text), "/proc/%d/exe", thread);
	if (is_absent(fd) && is_program(text, path, length))
		fd = mapped_file_open_regular(text);
	if (is_absent(fd)) {
		/* asks for capabilities that few have */
		snprintf(text, sizeof(text), "/proc/%d/map_files/%lx-%lx", thread, start, end);
		fd = mapped_file_open_regular(text);
	}
	return fd;
}
