/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/source.h - where the numbers come from: a process, a core file, a tree as
 * /sys/kernel/slab
 *
 * Each gives a struct snapshot. What a tree does not have (fronts, most totals) is 0 or empty
 * there. A core's target is for snapshots and tracks; commands go to processes only.
 */
#ifndef TOOLS_SOURCE_H
#define TOOLS_SOURCE_H

#include <stdbool.h>

#include "inspect/snapshot.h"
#include "process/target.h"

enum source_kind {
	SOURCE_PROCESS, /* uslab in a running process */
	SOURCE_CORE,	/* uslab in a core file */
	SOURCE_TREE, /* a directory with one directory per cache (spec 6.3): --kernel, --root DIR */
};

struct source_options {
	const char *command; /* for messages */
	enum source_kind kind;
	pid_t pid;
	const char *core;    /* file */
	const char *program; /* of the core; NULL: as the core says */
	const char *sysroot; /* folder of the files that the core names; NULL: the root */
	const char *library; /* NULL: the one with the largest arena */
	bool force;	     /* see struct target */
	const char *tree;    /* directory; NULL with SOURCE_TREE: the running kernel's */
};

struct source {
	struct source_options options;
	char title[64];	      /* "redis-server (1234)", "core.1234", "Linux 6.1.0", "DIR" */
	struct target target; /* process and core */
	const struct target_root *root; /* of the last snapshot; NULL before, and with a tree */
	struct core *core;		/* tools/uslab/process/core.h */
	char tree[4096];		/* with a tree: its folder */
	int pidfd; /* of a process; -1: there is none, or the kernel has none */
};

/*
 * One of the options that choose the source (options.h): *status is EXIT_OK, or EXIT_USAGE after a
 * message. false: it is another one. Of several processes the last one counts.
 */
bool source_take_option(struct source_options *options, int option, const char *value, int *status);

/* What goes with a core only. EXIT_OK, or EXIT_USAGE after a message. */
int source_check_core(const struct source_options *options);

/* EXIT_OK, or EXIT_FAILED after saying why not. */
int source_open(struct source *source, const struct source_options *options);
/* Only after source_open() has returned EXIT_OK. */
void source_close(struct source *source);

/* A new snapshot. EXIT_OK; EXIT_FAILED after a message (the process has ended, ...). */
int source_snapshot(struct source *source, struct snapshot *s);

/*
 * *bytes: the resident memory of the process, shared libraries and all; of a core what of its
 * memory is in the file. false: not known, or a tree.
 */
bool source_resident(const struct source *source, uint64_t *bytes);

/* Has the process ended since? Trees and cores never do. */
bool source_gone(const struct source *source);

/*
 * What became of the process, as the rest of a sentence: it has ended, or executes another program
 * than that of the last snapshot. NULL: neither, as far as can be seen.
 */
const char *source_end(const struct source *source);

/*
 * Waits for so long, or until a signal is handled or the process has ended; of kernels before 5.3
 * its end is seen only by source_gone(). false: it has ended.
 */
bool source_pause(const struct source *source, double seconds);

#endif /* TOOLS_SOURCE_H */
