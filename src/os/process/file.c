/* SPDX-License-Identifier: MIT */
/*
 * os/process/file.c - short text files of /proc and /sys, and lines for a log
 *
 * Why:        docs/adr/0029.
 * Data:       none.
 * Invariants: the descriptor is closed on every way out; buf ends with NUL on every way out.
 * Locks:      none.
 * Flow:       see file.h; calls os/sys.h, os/process/say.h.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/assert.h"
#include "base/bits.h"
#include "os/process/file.h"
#include "os/process/say.h"
#include "os/sys.h"

#define LOG_MODE 0644
#define MOST_FD 65536u /* the kernel's table grows with the highest one */
#define SPARE_FDS 16u

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

/* ---- files that stay open ---- */

int os_kept_open(struct os_kept *kept, const char *path, int flags)
{
	int saved = errno;
	struct stat st;
	int fd = (int)os_syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NONBLOCK);

	*kept = (struct os_kept){ 0 };
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		errno = saved;
		os_syscall(SYS_close, fd);
		return -EBADF;
	}
	*kept = (struct os_kept){ os_move_up(fd, OS_KEPT_LEAST) + 1, st.st_dev, st.st_ino };
	return 0;
}

int os_kept_fd(const struct os_kept *kept)
{
	int saved = errno;
	struct stat st;
	bool ok = kept->fd_plus_1 && !fstat(kept->fd_plus_1 - 1, &st) && st.st_dev == kept->dev &&
		  st.st_ino == kept->ino;

	errno = saved;
	return ok ? kept->fd_plus_1 - 1 : -1;
}

long os_kept_read(const struct os_kept *kept, char *buf, size_t size)
{
	int fd = os_kept_fd(kept);
	long ret;

	buf[0] = '\0';
	if (fd < 0)
		return -EBADF;
	do {
		ret = os_syscall(SYS_pread64, fd, buf, size - 1, 0);
	} while (ret == -EINTR);
	buf[ret < 0 ? 0 : ret] = '\0';
	return ret;
}

void os_kept_close(struct os_kept *kept)
{
	int fd = os_kept_fd(kept);

	if (fd >= 0)
		os_syscall(SYS_close, fd);
	kept->fd_plus_1 = 0;
}

/* ---- logs ---- */

/*
 * Nothing that a log may be makes the program wait: a FIFO without a reader, a pipe that is full.
 */
static int open_to_append(const char *path, int flags)
{
	return (int)os_syscall(SYS_openat, AT_FDCWD, path,
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
				       flags,
			       LOG_MODE);
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

static bool has_kind(const struct stat *st, mode_t kind)
{
	return (st->st_mode & S_IFMT) == kind;
}

/*
 * Programs close what they do not know in a loop up to the soft limit. A descriptor from there on
 * is out of its way, and takes but a moment of a higher limit. -errno: there is no room.
 */
static int duplicate_above_limit(int fd)
{
	struct rlimit limit;
	struct rlimit raised;
	int high;

	if (os_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) ||
	    limit.rlim_cur >= limit.rlim_max || limit.rlim_cur > MOST_FD)
		return -EMFILE;
	raised = (struct rlimit){ MIN(limit.rlim_cur + SPARE_FDS, limit.rlim_max), limit.rlim_max };
	if (os_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &raised, NULL))
		return -EMFILE;
	high = (int)os_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, limit.rlim_cur);
	os_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
	return high;
}

int os_move_up(int fd, int least)
{
	int high = duplicate_above_limit(fd);

	if (high < 0)
		high = (int)os_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
	if (high < 0)
		return fd;
	close_fd(fd);
	return high;
}

static int look(const char *path, struct stat *st, int flags)
{
	return (int)os_syscall(SYS_newfstatat, AT_FDCWD, path, st, flags);
}

/*
 * 0, or -errno for what cannot be a log. A FIFO's reader may come later, and
 * go: it is opened each time.
 */
static int look_at(const char *path, bool *each_time)
{
	struct stat st;

	*each_time = false;
	if (look(path, &st, 0))
		return 0; /* to be made */
	*each_time = has_kind(&st, S_IFIFO);
	return *each_time || has_kind(&st, S_IFREG) || has_kind(&st, S_IFCHR) ? 0 : -EINVAL;
}

/* What was opened first, by which what comes in its place is judged. */
static void note_first(struct os_log *log, const char *path, const struct stat *file, int least)
{
	struct stat root = { 0 };
	struct stat named;

	look("/", &root, 0);
	*log = (struct os_log){
		.dev = file->st_dev,
		.ino = file->st_ino,
		.uid = file->st_uid,
		.least = least,
		.regular = true,
		.is_link = !look(path, &named, AT_SYMLINK_NOFOLLOW) && S_ISLNK(named.st_mode),
		.root_dev = root.st_dev,
		.root_ino = root.st_ino,
	};
}

int os_log_open(struct os_log *log, const char *path, int least)
{
	struct stat st;
	bool each_time;
	int fd;
	int ret = look_at(path, &each_time);

	*log = (struct os_log){ 0 };
	if (ret || each_time)
		return ret;
	fd = open_to_append(path, 0);
	if (fd < 0)
		return fd;
	if (is_file(fd, &st))
		note_first(log, path, &st, least);
	if (log->regular)
		log->fd_plus_1 = os_move_up(fd, least) + 1;
	else
		close_fd(fd);
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

/* A reader that went away, or a limit of file sizes, is no reason for a signal to the program. */
int os_log_write(int fd, const void *buf, size_t len)
{
	static const struct timespec now = { 0, 0 };
	sigset_t signals;
	sigset_t pending;
	sigset_t before;
	int ret;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	sigaddset(&signals, SIGXFSZ);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	ret = os_write(fd, buf, len);
	sigemptyset(&signals);
	if (ret == -EPIPE && !sigismember(&pending, SIGPIPE))
		sigaddset(&signals, SIGPIPE);
	if (ret == -EFBIG && !sigismember(&pending, SIGXFSZ))
		sigaddset(&signals, SIGXFSZ);
	if (ret == -EPIPE || ret == -EFBIG)
		os_syscall(SYS_rt_sigtimedwait, &signals, NULL, &now, sizeof(uint64_t));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

/* Does the path lead to the log's own file, or can it not be told, since it begins elsewhere? */
static bool leads_there(const struct os_log *log, const char *path)
{
	struct stat st;

	if (!look("/", &st, 0) && (st.st_dev != log->root_dev || st.st_ino != log->root_ino))
		return true;
	return !look(path, &st, 0) && st.st_dev == log->dev && st.st_ino == log->ino;
}

/*
 * Others may have put something there, to have it written to: a link, a second name of a file, a
 * file of theirs.
 */
static bool may_follow(const struct os_log *log, const struct stat *st)
{
	if (st->st_dev == log->dev && st->st_ino == log->ino)
		return true; /* only the descriptor was closed */
	return st->st_nlink == 1 &&
	       (st->st_uid == log->uid || st->st_uid == (uid_t)os_syscall(SYS_geteuid));
}

/*
 * What is at the path now takes the log's place; or everything stays as it is. The
 * limit of descriptors is not raised again for it, since there may be threads by now: so it is one
 * that a program's loop of close() can reach, as a hard limit makes the first one.
 */
static int open_again(struct os_log *log, const char *path)
{
	int fd = open_to_append(path, log->is_link ? 0 : O_NOFOLLOW);
	struct stat st;
	int high;

	if (fd < 0)
		return fd;
	if (!is_file(fd, &st) || !may_follow(log, &st)) {
		close_fd(fd);
		return -EPERM;
	}
	os_log_close(log);
	high = (int)os_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, log->least);
	if (high >= 0)
		close_fd(fd);
	log->fd_plus_1 = (high >= 0 ? high : fd) + 1;
	log->dev = st.st_dev;
	log->ino = st.st_ino;
	return 0;
}

int os_log_append(struct os_log *log, const char *path, const void *buf, size_t len)
{
	struct stat st;
	bool usable;
	int ret;

	if (!log->regular)
		return os_append(path, buf, len);
	usable = is_open(log, &st) && st.st_nlink;
	if (!usable || !leads_there(log, path)) {
		ret = open_again(log, path);
		if (ret && !usable)
			return ret;
	}
	return os_log_write(log->fd_plus_1 - 1, buf, len);
}

int os_append(const char *path, const void *buf, size_t len)
{
	int fd = open_to_append(path, 0);
	int ret;

	if (fd < 0)
		return fd;
	ret = os_log_write(fd, buf, len);
	close_fd(fd);
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
