/* SPDX-License-Identifier: MIT */
/*
 * os/process/file.h - short text files of /proc and /sys, and lines for a log
 *
 * Data:       none.
 * Invariants: no allocation, no stdio; errno is preserved.
 * Locks:      none.
 * Flow:       called by filter.c, cache/reclaim/ahead.c, debug/kfence/kfence_pool.c,
 *             debug/report/report_policy.c, cgroup.c, cpu.c, nodes.c, resident.c and vm.c; calls
 *             openat(2), read(2), write(2), close(2).
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include <sys/types.h>

#include "base/compiler.h"

/*
 * Reads at most size - 1 bytes from the start of a file and ends them with NUL (also on failure).
 * Returns the number of bytes, or -errno.
 */
long os_read_text(const char *path, char *buf, size_t size);

/*
 * Writes buf to the end of a file, which is made if there is none. Waits for nobody:
 * -ENXIO: a FIFO that nobody reads; -EAGAIN: a pipe that is full, which may have taken the
 * first part; else 0 or -errno.
 */
int os_append(const char *path, const void *buf, size_t len);

/*
 * A file that stays open, under a number that programs rarely want: above the limit of the
 * program's own if there is room, else OS_KEPT_LEAST or higher. Programs close what they do not
 * know, and use the number again, so it is compared each time. All zero: none.
 */
struct os_kept {
	int fd_plus_1; /* 0: none */
	dev_t dev;
	ino_t ino;
};

#define OS_KEPT_LEAST 512

/* flags: O_RDONLY, O_RDWR. 0 or -errno. May raise RLIMIT_NOFILE for a moment. */
int os_kept_open(struct os_kept *kept, const char *path, int flags);
/* Its descriptor; -1: it is gone. */
int os_kept_fd(const struct os_kept *kept);
/* Reads from its start as os_read_text(), in one piece. Bytes or -errno. */
long os_kept_read(const struct os_kept *kept, char *buf, size_t size);
void os_kept_close(struct os_kept *kept);

/*
 * The descriptor under a number as above, least or higher; the old one is closed, unless it stays.
 */
int os_move_up(int fd, int least);

/* A log that can be written to when its path can be opened no more. All zero: none. */
struct os_log {
	int fd_plus_1; /* 0: none */
	dev_t dev; /* what it was opened as: programs close and use again what they do not know */
	ino_t ino;
	uid_t uid; /* whose file it was at the start */
	int least;
	bool regular;	/* that file was; what else there may be is opened each time */
	bool is_link;	/* so may be what comes in its place */
	dev_t root_dev; /* where paths began then */
	ino_t root_ino;
};

/*
 * Makes the file if there is none, and keeps a descriptor of a regular one: above the limit
 * of the program's own if there is room, else least or higher. -EINVAL: neither a regular
 * file, nor a character device or FIFO, which are opened each time. 0 or -errno. Raises
 * RLIMIT_NOFILE for a moment.
 */
int os_log_open(struct os_log *log, const char *path, int least);
/*
 * Writes buf to the end of the log: to the descriptor as long as that is the file that the path
 * leads to; else, as after a rotation of logs, to the file at the path, which is made if there is
 * none, and of which the descriptor is kept instead. That must be a regular file of this process or
 * of the first one's owner, under one name, and no symbolic link if the first one was none. Where
 * there is none such, and in another root (chroot), the descriptor is as good as
 * before as long as its file has a name. 0 or -errno.
 */
int os_log_append(struct os_log *log, const char *path, const void *buf, size_t len);
void os_log_close(struct os_log *log);
/*
 * Writes buf. 0 or -errno, where a signal would come with it as well: -EPIPE, a pipe without a
 * reader; -EFBIG, the limit of file sizes.
 */
int os_log_write(int fd, const void *buf, size_t len);

/* The path seen from the root, also when the program changes its folder later. 0 or -errno. */
int os_absolute_path(char *buf, size_t size, const char *path);

#endif /* OS_FILE_H */
