/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/source.c - processes, cores and trees behind one function that makes a snapshot
 *
 * Flow:       called by info/, track/, fs/, top/cmd_top.c, command/cmd_debug.c,
 *             command/cmd_defrag.c and bench/uslab-bench-mesh.c; calls target.c and rss.c
 *             for a process, core.c for a core and tree.c for a tree. In: the options that say
 *             whose caches; out: one struct snapshot, whichever it is.
 */
#define _GNU_SOURCE
#include "process/source.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process/core.h"
#include "process/rss.h"
#include "process/tree.h"
#include "options.h"
#include "util.h"

static int set_place(struct source_options *options, enum source_kind kind, const char **place,
		     const char *value)
{
	if (options->kind != SOURCE_PROCESS)
		return util_usage_error(options->command,
					"one of --core, --kernel and --root only, once");
	options->kind = kind;
	*place = value;
	return EXIT_OK;
}

bool source_take_option(struct source_options *options, int option, const char *value, int *status)
{
	*status = EXIT_OK;
	switch (option) {
	case 'p':
		*status = options->pid
				  ? util_usage_error(options->command, "one process only: -p, once")
				  : util_parse_pid(options->command, value, &options->pid);
		return true;
	case OPTION_CORE:
		*status = set_place(options, SOURCE_CORE, &options->core, value);
		return true;
	case OPTION_KERNEL:
	case OPTION_ROOT:
		*status = set_place(options, SOURCE_TREE, &options->tree, value);
		return true;
	case OPTION_PROGRAM:
		options->program = value;
		return true;
	case OPTION_SYSROOT:
		options->sysroot = value;
		return true;
	case OPTION_LIBRARY:
		options->library = value;
		return true;
	case OPTION_FORCE:
		options->force = true;
		return true;
	default:
		return false;
	}
}

int source_check_core(const struct source_options *options)
{
	if (options->program && !options->core)
		return util_usage_error(options->command, "--program goes with --core");
	if (options->sysroot && !options->core)
		return util_usage_error(options->command, "--sysroot goes with --core");
	return EXIT_OK;
}

static int open_process(struct source *source)
{
	const struct source_options *options = &source->options;
	int status = target_open(&source->target, options->command, options->pid);

	source->target.force = options->force;
	if (status != EXIT_OK)
		return status;
	snprintf(source->title, sizeof(source->title), "%s (%d)", source->target.program,
		 (int)options->pid);
#ifdef SYS_pidfd_open
	source->pidfd = (int)syscall(SYS_pidfd_open, options->pid, 0);
#endif
	return EXIT_OK;
}

static int open_core(struct source *source)
{
	const struct source_options *options = &source->options;
	int status = core_open(&source->core, options->command, options->core, options->program,
			       options->sysroot);

	if (status != EXIT_OK)
		return status;
	core_target(source->core, options->command, &source->target);
	snprintf(source->title, sizeof(source->title), "%s", basename(options->core));
	return EXIT_OK;
}

static int open_tree(struct source *source)
{
	const char *tree = source->options.tree;
	struct utsname kernel;

	if (!tree && !uname(&kernel))
		snprintf(source->title, sizeof(source->title), "%.20s %.40s", kernel.sysname,
			 kernel.release);
	if (!tree)
		tree = TREE_KERNEL;
	if (!source->title[0])
		snprintf(source->title, sizeof(source->title), "%s", tree);
	if ((size_t)snprintf(source->tree, sizeof(source->tree), "%s", tree) >=
	    sizeof(source->tree))
		return util_fail(source->options.command, "%s: %s", tree, strerror(ENAMETOOLONG));
	return EXIT_OK;
}

static int open_kind(struct source *source)
{
	switch (source->options.kind) {
	case SOURCE_PROCESS:
		return open_process(source);
	case SOURCE_CORE:
		return open_core(source);
	case SOURCE_TREE:
		break;
	}
	return open_tree(source);
}

int source_open(struct source *source, const struct source_options *options)
{
	int status;

	memset(source, 0, sizeof(*source));
	source->options = *options;
	source->pidfd = -1;
	status = open_kind(source);
	util_make_line(source->title);
	return status;
}

void source_close(struct source *source)
{
	if (source->options.kind != SOURCE_TREE)
		target_close(&source->target);
	core_close(source->core);
	source->core = NULL;
	if (source->pidfd >= 0)
		close(source->pidfd);
	source->pidfd = -1;
}

int source_snapshot(struct source *source, struct snapshot *s)
{
	const struct source_options *options = &source->options;

	if (options->kind == SOURCE_TREE)
		return tree_snapshot(options->command, source->tree, s);
	if (source->root)
		return target_snapshot_root(&source->target, source->root, s);
	return target_snapshot(&source->target, options->library, s, &source->root);
}

bool source_resident(const struct source *source, uint64_t *bytes)
{
	switch (source->options.kind) {
	case SOURCE_PROCESS:
		return rss_of_process(source->options.pid, bytes);
	case SOURCE_CORE:
		*bytes = core_bytes(source->core);
		return true;
	case SOURCE_TREE:
		break;
	}
	return false;
}

bool source_gone(const struct source *source)
{
	const struct target *t = &source->target;
	char byte;

	if (source->options.kind != SOURCE_PROCESS)
		return false;
	if (kill(t->pid, 0) && errno == ESRCH)
		return true;
	/* one that has ended, and whose parent has not looked yet, has no memory */
	return t->nr_roots &&
	       reader_read(&t->remote.reader, t->root[0].address, &byte, 1) == -ESRCH;
}

static bool is_replaced(const struct source *source)
{
	uint64_t magic = 0;
	int ret = reader_read(&source->target.remote.reader, source->root->address, &magic,
			      sizeof(magic));

	return ret == -EFAULT || (!ret && magic != USLAB_ROOT_MAGIC);
}

const char *source_end(const struct source *source)
{
	if (source_gone(source))
		return "has ended";
	return source->options.kind == SOURCE_PROCESS && source->root && is_replaced(source)
		       ? "is another program now"
		       : NULL;
}

bool source_pause(const struct source *source, double seconds)
{
	/* one of -1 is waited for in vain */
	struct pollfd end = { .fd = source->pidfd, .events = POLLIN };

	return poll(&end, 1, (int)ceil(seconds * 1000)) <= 0;
}
