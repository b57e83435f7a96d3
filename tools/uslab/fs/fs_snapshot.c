/* SPDX-License-Identifier: MIT */
/*
 * uslab/fs/fs_snapshot.c - the snapshot that all requests within a tenth of a second share
 *
 * Data:       struct fs: the snapshot, when it was taken and how long that took.
 * Locks:      none: one thread serves all requests.
 * Flow:       called by cmd_fs.c, fs_serve.c, fs_copy.c, fs_attr.c and fs_tree.c before they look
 *             at the process; calls process/source.c, fs_names.c, symbols/resolve.c and clock.c.
 *             In: a request to be up to date; out: a snapshot and the names of its folders.
 *
 * A snapshot of a large process takes its time; then it serves for longer, so that at most a
 * quarter of the time is spent on them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "fs/fs.h"
#include "util.h"

#define FRESH_COSTS 4 /* a snapshot serves for so many times as long as it took */

int fs_refresh(struct fs *fs)
{
	uint64_t now = clock_ns();
	uint64_t fresh = FRESH_COSTS * fs->took_ns;

	if (fs->gone)
		return -EIO;
	if (fresh < FS_FRESH_NS)
		fresh = FS_FRESH_NS;
	if (fs->taken_ns && (fs->read_only || now - fs->taken_ns < fresh))
		return 0;
	fs->gone = fs->serial && source_gone(&fs->source);
	if (fs->gone || source_snapshot(&fs->source, fs->s) != EXIT_OK) {
		fs->taken_ns = 0;
		fs->gone = source_gone(&fs->source);
		return -EIO;
	}
	fs->took_ns = clock_ns() - now;
	fs->taken_ns = now;
	fs->serial++;
	fs_names_make(fs->names, fs->s);
	return 0;
}

static int open_source(struct fs *fs, const struct source_options *options)
{
	int status = source_open(&fs->source, options);

	if (status != EXIT_OK)
		return status;
	if (fs_refresh(fs) == 0)
		return EXIT_OK;
	source_close(&fs->source);
	return EXIT_FAILED;
}

static void free_memory(struct fs *fs)
{
	free(fs->s);
	free(fs->names);
	free(fs->cpus);
}

int fs_open(struct fs *fs, const struct source_options *options)
{
	int status;

	memset(fs, 0, sizeof(*fs));
	fs->s = calloc(1, sizeof(*fs->s));
	fs->names = calloc(1, sizeof(*fs->names));
	fs->cpus = calloc(USLAB_MAX_CPUS, sizeof(*fs->cpus));
	fs->read_only = options->kind != SOURCE_PROCESS;
	fs->mounted = time(NULL);
	fs->uid = getuid();
	fs->gid = getgid();
	if (fs->s && fs->names && fs->cpus)
		status = open_source(fs, options);
	else
		status = util_fail(FS_COMMAND, "out of memory");
	if (status != EXIT_OK)
		free_memory(fs);
	return status;
}

void fs_close(struct fs *fs)
{
	if (fs->resolve)
		resolve_close(fs->resolve);
	source_close(&fs->source);
	free_memory(fs);
}

struct resolve *fs_resolve(struct fs *fs)
{
	const struct source_options *options = &fs->source.options;

	if (!fs->resolve)
		fs->resolve =
			options->kind == SOURCE_CORE
				? resolve_core(options->core, options->program, options->sysroot)
				: resolve_process(options->pid);
	return fs->resolve;
}
