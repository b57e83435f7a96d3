/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_namespace.c - runs a command that sees the process in place of the kernel
 *
 * Flow:       called by cmd_fs.c; calls fs_serve.c, or fs_copy.c where FUSE is not to be had. In: a
 *             command; out: its exit status.
 *
 * The command runs in a mount namespace of its own; without root in a user namespace too, in which
 * it is the same user. There the tree is mounted over /sys/kernel/slab, /sys/kernel/debug and
 * /proc/slabinfo. We stay outside, where the process may be read, and answer: the child mounts,
 * because /dev/fuse must have been opened in the user namespace of the mount, and sends the
 * descriptor here. Where it may not open /dev/fuse, it gets a copy of the files in a tmpfs.
 *
 * Nothing needs a folder of its own and nothing is left behind: the tree is mounted on a folder of
 * /sys, and its parts are bound to their places from there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/fs.h"
#include "util.h"

#define SLAB "/sys/kernel/slab"
#define DEBUG "/sys/kernel/debug"
#define SLABINFO "/proc/slabinfo"
#define FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNALLED = 128 };

/* ---- in the child: a namespace --------------------------------------------------------------- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	int ret = n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret;
}

/* The same user and group inside as outside. */
static int map_ids(uid_t uid, gid_t gid)
{
	char text[64];
	int ret = write_file("/proc/self/setgroups", "deny");

	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (!ret || ret == -ENOENT)
		ret = write_file("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	return ret ? ret : write_file("/proc/self/gid_map", text);
}

static int make_namespace(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int ret = 0;

	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
			return util_fail(
				FS_COMMAND,
				"cannot make a mount namespace: %s; it needs root, or user "
				"namespaces for all (sysctl user.max_user_namespaces, "
				"kernel.unprivileged_userns_clone)",
				strerror(errno));
		ret = map_ids(uid, gid);
	}
	if (!ret && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		ret = -errno;
	if (ret)
		return util_fail(FS_COMMAND, "cannot make a mount namespace: %s", strerror(-ret));
	return EXIT_OK;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Where the whole tree goes first. A kernel without these folders has /sys hidden by the tree,
 * which is laid out like it. NULL: there is no /sys.
 */
static const char *choose_place(void)
{
	if (is_folder(SLAB) && is_folder(DEBUG))
		return DEBUG;
	return is_folder("/sys") ? "/sys" : NULL;
}

static int bind_part(const char *place, const char *part, const char *to)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", place, part);
	return mount(path, to, NULL, MS_BIND, NULL) ? -errno : 0;
}

/* The tree is at place. */
static int bind_parts(const char *place)
{
	int ret = bind_part(place, "proc/slabinfo", SLABINFO);

	if (ret)
		util_warn(FS_COMMAND, "%s stays as it is: %s", SLABINFO, strerror(-ret));
	ret = 0;
	if (!strcmp(place, DEBUG)) {
		ret = bind_part(place, "kernel/slab", SLAB);
		/* last, as it hides the tree */
		if (!ret)
			ret = bind_part(place, "kernel/debug", DEBUG);
	}
	if (ret)
		return util_fail(FS_COMMAND, "cannot mount on %s: %s", SLAB, strerror(-ret));
	return EXIT_OK;
}

static _Noreturn void run(char **command, const sigset_t *signals)
{
	int error;

	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(command[0], command);
	error = errno;
	util_fail(FS_COMMAND, "%s: %s", command[0], strerror(error));
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

/* Makes the namespace; the place for the tree, or ends. */
static const char *prepare(void)
{
	const char *place;

	if (make_namespace() != EXIT_OK)
		_exit(EXIT_FAILED);
	place = choose_place();
	if (!place) {
		util_fail(FS_COMMAND, "there is no /sys here to mount on");
		_exit(EXIT_FAILED);
	}
	return place;
}

/* ---- with FUSE ------------------------------------------------------------------------------- */

/* A number, and a descriptor if it is not -1. */
static int send_device(int socket, int number, int device)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &number, .iov_len = sizeof(number) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *control;

	if (device >= 0) {
		message.msg_control = space;
		message.msg_controllen = sizeof(space);
		control = CMSG_FIRSTHDR(&message);
		control->cmsg_level = SOL_SOCKET;
		control->cmsg_type = SCM_RIGHTS;
		control->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(control), &device, sizeof(device));
	}
	return sendmsg(socket, &message, 0) < 0 ? -errno : 0;
}

/* The descriptor; -errno as sent; -EPIPE: the child ended without a word, having said why. */
static int receive_device(int socket)
{
	char space[CMSG_SPACE(sizeof(int))];
	int number = 0;
	struct iovec part = { .iov_base = &number, .iov_len = sizeof(number) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = space,
				  .msg_controllen = sizeof(space) };
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *control = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (n <= 0)
		return -EPIPE;
	if (!control)
		return number ? number : -EIO;
	memcpy(&number, CMSG_DATA(control), sizeof(number));
	return number;
}

static int mount_fuse(const char *place, bool read_only)
{
	char options[128];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (device < 0)
		return -errno;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u,default_permissions", device,
		 getuid(), getgid());
	if (mount("uslab", place, "fuse.uslab", FLAGS | (read_only ? MS_RDONLY : 0), options)) {
		int ret = -errno;

		close(device);
		return ret;
	}
	return device;
}

static _Noreturn void child_mounted(const struct fs *fs, char **command, int socket,
				    const sigset_t *signals)
{
	const char *place = prepare();
	int device = mount_fuse(place, fs->read_only);

	send_device(socket, device < 0 ? device : 0, device);
	if (device < 0)
		_exit(EXIT_FAILED);
	close(device);
	close(socket);
	if (bind_parts(place) != EXIT_OK)
		_exit(EXIT_FAILED);
	run(command, signals);
}

/* ---- with a copy ----------------------------------------------------------------------------- */

static int fill_copy(const char *place, const struct fs_copy *copy)
{
	int ret = 0;

	if (mount("uslab", place, "tmpfs", FLAGS, "mode=0755"))
		return -errno;
	ret = fs_copy_fill(copy, place);
	if (!ret && mount(NULL, place, NULL, MS_REMOUNT | MS_RDONLY | FLAGS, NULL))
		ret = -errno;
	return ret;
}

static _Noreturn void child_copied(const struct fs_copy *copy, char **command,
				   const sigset_t *signals)
{
	const char *place = prepare();
	int ret = fill_copy(place, copy);

	if (ret) {
		util_fail(FS_COMMAND, "cannot copy the files to %s: %s", place, strerror(-ret));
		_exit(EXIT_FAILED);
	}
	if (bind_parts(place) != EXIT_OK)
		_exit(EXIT_FAILED);
	run(command, signals);
}

/* ---- outside --------------------------------------------------------------------------------- */

/* The exit status that a shell would give. */
static int exit_status(int status)
{
	if (status < 0)
		return EXIT_FAILED;
	return WIFSIGNALED(status) ? EXIT_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
}

static int wait_for(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return exit_status(status);
}

/* -errno: not possible with FUSE here, and nothing was started; else the exit status. */
static int enter_mounted(struct fs *fs, char **command, const sigset_t *signals)
{
	int sockets[2];
	int device;
	pid_t child;
	int status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	child = fork();
	if (!child) {
		close(sockets[0]);
		child_mounted(fs, command, sockets[1], signals);
	}
	close(sockets[1]);
	device = child < 0 ? -EAGAIN : receive_device(sockets[0]);
	close(sockets[0]);
	if (child > 0 && device < 0) {
		status = wait_for(child);
		return device == -EPIPE ? status : device;
	}
	if (child < 0)
		return device;
	status = fs_serve_child(fs, device, child);
	if (status < 0) {
		kill(child, SIGKILL);
		return wait_for(child);
	}
	return exit_status(status);
}

static int enter_copied(struct fs *fs, char **command, const sigset_t *signals)
{
	int error;
	struct fs_copy *copy = fs_copy_take(fs, &error);
	pid_t child;
	int status;

	if (error)
		return util_fail(FS_COMMAND, "cannot read %s: %s", fs->source.title,
				 strerror(-error));
	child = fork();
	if (!child)
		child_copied(copy, command, signals);
	fs_copy_free(copy);
	if (child < 0)
		return util_fail(FS_COMMAND, "fork: %s", strerror(errno));
	status = fs_serve_child(fs, -1, child);
	return status < 0 ? wait_for(child) : exit_status(status);
}

int fs_enter(struct fs *fs, char **command)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int status = device < 0 ? -errno : 0;
	sigset_t blocked, signals;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGQUIT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, &signals);
	if (device >= 0) {
		close(device);
		status = enter_mounted(fs, command, &signals);
	}
	if (status >= 0)
		return status;
	util_warn(
		FS_COMMAND,
		"no FUSE (%s): %s sees a copy of the files, as they are now; nothing can be written",
		strerror(-status), command[0]);
	return enter_copied(fs, command, &signals);
}
