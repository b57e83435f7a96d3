/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_serve.c - the tree through FUSE
 *
 * Data:       the list of open files, in struct fs.
 * Locks:      none: one thread.
 * Flow:       called by cmd_fs.c and fs_namespace.c; libfuse calls back for each request; calls
 *             fs_snapshot.c, fs_tree.c and process/source.c. In: requests of the kernel; out:
 *             answers, until it is unmounted or the process ends.
 *
 * One thread answers requests and waits for signals, for a child, for the end of the process. What
 * is in a file is made when it is opened, and again when it is read from its beginning later on
 * (slabtop keeps its file open).
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 35
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/fs.h"
#include "util.h"

#define POLL_MS 1000

struct fs_file {
	struct fs_file *next; /* of fs.files */
	char *text;	      /* NULL: opened for writing only */
	size_t size;
	uint64_t serial; /* of the snapshot that it was made from */
};

static struct fs *mounted_fs(void)
{
	return fuse_get_context()->private_data;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* What path names in a fresh snapshot. 0, -ENOENT or -EIO. */
static int find_fresh(struct fs *fs, const char *path, struct fs_node *node)
{
	int ret = fs_refresh(fs);

	/* a process that has ended leaves the folders that are always there */
	*node = fs_tree_find(fs, path);
	if (node->kind == FS_FOLDER)
		return 0;
	return !ret && node->kind == FS_NOTHING ? -ENOENT : ret;
}

static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	/* a name may be a link now and a folder then, when a merged cache is debugged */
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	return mounted_fs();
}

static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
	struct fs *fs = mounted_fs();
	struct fs_node node;
	int ret = find_fresh(fs, path, &node);

	(void)info;
	if (!ret)
		fs_tree_stat(fs, &node, st);
	return ret;
}

static int op_readlink(const char *path, char *buf, size_t size)
{
	struct fs *fs = mounted_fs();
	struct fs_node node;
	int ret = find_fresh(fs, path, &node);

	if (!ret && node.kind != FS_LINK)
		ret = -EINVAL;
	if (!ret)
		snprintf(buf, size, "%s", fs_tree_target(fs, &node));
	return ret;
}

struct filling {
	const struct fs *fs;
	void *buf;
	fuse_fill_dir_t fill;
};

/* The kernel's slabinfo wants to know from the listing what is a folder and what a link. */
static bool fill_one(const char *name, const struct fs_node *node, void *arg)
{
	const struct filling *f = arg;
	struct stat st;

	fs_tree_stat(f->fs, node, &st);
	return f->fill(f->buf, name, &st, 0, 0) != 0;
}

static int op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t offset,
		      struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
	struct fs *fs = mounted_fs();
	struct filling f = { .fs = fs, .buf = buf, .fill = fill };
	struct fs_node node;
	int ret = find_fresh(fs, path, &node);

	(void)offset, (void)info, (void)flags;
	if (ret)
		return ret;
	if (node.kind != FS_FOLDER && node.kind != FS_CACHE && node.kind != FS_GROUP)
		return -ENOTDIR;
	fill(buf, ".", NULL, 0, 0);
	fill(buf, "..", NULL, 0, 0);
	if (!fs->gone)
		fs_tree_list(fs, &node, fill_one, &f);
	return 0;
}

static int make_text(struct fs *fs, const struct fs_node *node, struct fs_file *file)
{
	char *text;
	size_t size;
	int ret = fs_tree_content(fs, node, &text, &size);

	if (ret)
		return ret;
	free(file->text);
	file->text = text;
	file->size = size;
	file->serial = fs->serial;
	return 0;
}

static int op_open(const char *path, struct fuse_file_info *info)
{
	struct fs *fs = mounted_fs();
	struct fs_node node;
	struct fs_file *file;
	struct stat st;
	int ret = find_fresh(fs, path, &node);

	if (ret)
		return ret;
	fs_tree_stat(fs, &node, &st);
	/* slabinfo says at the write what is wrong, as the kernel does */
	if ((info->flags & O_ACCMODE) != O_RDONLY && !(st.st_mode & 0200) &&
	    node.kind != FS_SLABINFO)
		return -EACCES;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -ENOMEM;
	if ((info->flags & O_ACCMODE) != O_WRONLY)
		ret = make_text(fs, &node, file);
	if (ret) {
		free(file);
		return ret;
	}
	file->next = fs->files;
	fs->files = file;
	info->fh = (uintptr_t)file;
	info->direct_io = 1; /* the text is as long as it is, whatever stat() says */
	return 0;
}

/* Takes it off the list; *link leads to it. */
static void close_file(struct fs_file **link)
{
	struct fs_file *file = *link;

	*link = file->next;
	free(file->text);
	free(file);
}

static int op_release(const char *path, struct fuse_file_info *info)
{
	const struct fs_file *file = (struct fs_file *)(uintptr_t)info->fh;
	struct fs_file **link = &mounted_fs()->files;

	(void)path;
	while (*link != file)
		link = &(*link)->next;
	close_file(link);
	return 0;
}

static int op_read(const char *path, char *buf, size_t size, off_t offset,
		   struct fuse_file_info *info)
{
	struct fs_file *file = (struct fs_file *)(uintptr_t)info->fh;
	struct fs *fs = mounted_fs();
	struct fs_node node;
	int ret = 0;

	if (!offset) {
		ret = find_fresh(fs, path, &node);
		if (!ret && file->serial != fs->serial)
			ret = make_text(fs, &node, file);
	}
	if (ret)
		return ret;
	if (offset < 0 || (size_t)offset >= file->size)
		return 0;
	if (size > file->size - (size_t)offset)
		size = file->size - (size_t)offset;
	memcpy(buf, file->text + offset, size);
	return (int)size;
}

/* Each write is a command of its own, wherever in the file. */
static int op_write(const char *path, const char *buf, size_t size, off_t offset,
		    struct fuse_file_info *info)
{
	struct fs *fs = mounted_fs();
	struct fs_node node;
	int ret = find_fresh(fs, path, &node);

	(void)offset, (void)info;
	if (!ret)
		ret = fs_tree_write(fs, &node, buf, size);
	return ret ? ret : (int)size;
}

/* What a shell does before it writes. */
static int op_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
	(void)path, (void)size, (void)info;
	return 0;
}

static const struct fuse_operations operations = {
	.init = op_init,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.readdir = op_readdir,
	.open = op_open,
	.release = op_release,
	.read = op_read,
	.write = op_write,
	.truncate = op_truncate,
};

/* ---- the loop -------------------------------------------------------------------------------- */

struct serving {
	struct fs *fs;
	struct fuse_session *session; /* NULL: nothing is mounted */
	struct fuse_buf buf;
	pid_t child; /* 0: none */
	int status;  /* of the child */
	bool warned_gone;
	bool done;
};

static void warn_gone(struct serving *sv)
{
	if (!sv->warned_gone)
		util_warn(FS_COMMAND, "%s has ended", sv->fs->source.title);
	sv->warned_gone = true;
	if (!sv->child)
		sv->done = true;
}

static void take_request(struct serving *sv)
{
	int n = fuse_session_receive_buf(sv->session, &sv->buf);

	if (n > 0)
		fuse_session_process_buf(sv->session, &sv->buf);
	else if (n != -EINTR && n != -EAGAIN)
		sv->done = !sv->child; /* unmounted */
	if (sv->done || fuse_session_exited(sv->session))
		sv->session = NULL;
	if (!sv->session && !sv->child)
		sv->done = true;
}

static void take_signal(struct serving *sv, int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (!sv->child) {
		sv->done = true;
	} else if (info.ssi_signo == SIGCHLD) {
		sv->done = waitpid(sv->child, &sv->status, WNOHANG) == sv->child;
	} else if (info.ssi_code <= 0) {
		/* a terminal sends it to the child too, somebody with kill does not */
		kill(sv->child, (int)info.ssi_signo);
	}
}

static void serve(struct serving *sv, int signals, int process)
{
	while (!sv->done) {
		struct pollfd fds[] = {
			{ .fd = sv->session ? fuse_session_fd(sv->session) : -1, .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
			{ .fd = sv->warned_gone ? -1 : process, .events = POLLIN },
		};

		poll(fds, 3, POLL_MS);
		if (fds[2].revents || sv->fs->gone || source_gone(&sv->fs->source)) {
			sv->fs->gone = true;
			warn_gone(sv);
		}
		if (fds[0].revents && !sv->done)
			take_request(sv);
		if (fds[1].revents)
			take_signal(sv, signals);
	}
	free(sv->buf.mem);
	/* processes that still have them open will send no release for them */
	while (sv->fs->files)
		close_file(&sv->fs->files);
}

/* Signals are blocked by the caller. EXIT_OK or EXIT_FAILED. */
static int serve_with_signals(struct serving *sv)
{
	const struct source_options *options = &sv->fs->source.options;
	int process = options->kind == SOURCE_PROCESS
			      ? (int)syscall(SYS_pidfd_open, options->pid, 0)
			      : -1;
	sigset_t blocked;
	int signals;

	sigprocmask(SIG_BLOCK, NULL, &blocked);
	signals = signalfd(-1, &blocked, SFD_CLOEXEC);
	if (signals >= 0)
		serve(sv, signals, process);
	else
		util_fail(FS_COMMAND, "signalfd: %s", strerror(errno));
	if (process >= 0)
		close(process);
	if (signals < 0)
		return EXIT_FAILED;
	close(signals);
	return EXIT_OK;
}

static struct fuse *new_fuse(struct fs *fs)
{
	char options[] = "fsname=uslab,subtype=uslab,default_permissions,nosuid,nodev,noexec,ro";
	char *argv[] = { "uslab", "-o", options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse *fuse;

	if (!fs->read_only)
		*strrchr(options, ',') = '\0';
	fuse = fuse_new(&args, &operations, sizeof(operations), fs);
	fuse_opt_free_args(&args);
	return fuse;
}

int fs_serve_child(struct fs *fs, int device, pid_t child)
{
	struct serving sv = { .fs = fs, .child = child };
	struct fuse *fuse = NULL;
	char path[32];
	int status;

	if (device >= 0) {
		snprintf(path, sizeof(path), "/dev/fd/%d", device);
		fuse = new_fuse(fs);
		if (!fuse || fuse_mount(fuse, path))
			return -EIO;
		sv.session = fuse_get_session(fuse);
	}
	status = serve_with_signals(&sv);
	if (fuse)
		fuse_destroy(fuse);
	return status == EXIT_OK ? sv.status : -EIO;
}

/* ---- on a folder ----------------------------------------------------------------------------- */

static bool is_empty(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return true;
}

static int check_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	bool empty;

	if (!dir && errno == ENOTCONN)
		return util_fail(
			FS_COMMAND,
			"something was mounted on %s by a program that was killed; take it "
			"away with: fusermount3 -u %s",
			folder, folder);
	if (!dir && errno == ENOENT)
		return util_fail(FS_COMMAND, "there is no folder %s; make it first", folder);
	if (!dir)
		return util_fail(FS_COMMAND, "%s: %s", folder, strerror(errno));
	empty = is_empty(dir);
	closedir(dir);
	if (!empty)
		return util_fail(FS_COMMAND, "%s is not empty (or something is mounted there)",
				 folder);
	return EXIT_OK;
}

static int fail_mount(const char *folder)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return util_fail(FS_COMMAND,
				 "cannot mount on %s: /dev/fuse: %s (--enter works without)",
				 folder, strerror(errno));
	close(fd);
	return util_fail(
		FS_COMMAND,
		"cannot mount on %s: it needs root, or fusermount3 (Debian: package fuse3) "
		"and a folder of your own",
		folder);
}

static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

int fs_serve_folder(struct fs *fs, const char *folder, bool foreground)
{
	struct serving sv = { .fs = fs };
	int status = check_folder(folder);
	char *path;
	struct fuse *fuse;

	if (status != EXIT_OK)
		return status;
	path = realpath(folder, NULL); /* in the background this is / */
	fuse = path ? new_fuse(fs) : NULL;
	if (!fuse) {
		status = util_fail(FS_COMMAND, "%s: %s", folder, strerror(errno));
	} else if (fuse_mount(fuse, path)) {
		status = fail_mount(folder);
	} else {
		block_signals();
		if (!foreground && fuse_daemonize(0))
			status = util_fail(FS_COMMAND, "fork: %s", strerror(errno));
		sv.session = fuse_get_session(fuse);
		if (status == EXIT_OK)
			status = serve_with_signals(&sv);
		fuse_unmount(fuse);
	}
	if (fuse)
		fuse_destroy(fuse);
	free(path);
	return status;
}
