/* SPDX-License-Identifier: MIT */
/*
 * uslab/process/target.h - a running process, and where uslab is in it
 *
 * Data: the mapped files of the process that have an uslab_root. There can be more than one: a
 * program linked with libuslab.so and started with libuslab_malloc.so has two.
 */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include <limits.h>

#include "process/file_set.h"
#include "process/remote.h"
#include "inspect/snapshot.h"

#define TARGET_MAX_ROOTS 8
#define TARGET_NAME_BYTES 32

struct target_root {
	uint64_t address;
	char object[PATH_MAX]; /* file it was found in, as the process sees it */
	bool left_out;	       /* of a core: it is not in that, so the file's is read */
};

struct target {
	const char *command; /* for messages */
	const char *core;    /* the file, if it is the process of a core file (core.h); else NULL */
	pid_t pid;
	/* commands also to a process with a filter of system calls (command.h); false at first */
	bool force;
	char program[TARGET_NAME_BYTES];
	struct remote remote;
	unsigned int symbol_reads; /* left, of objects whose file cannot be opened: symbol.h */
	unsigned int nr_roots;
	struct target_root root[TARGET_MAX_ROOTS];
};

/*
 * Finds uslab in process pid, and says nothing. without, if not NULL: files that have none; those
 * found to be so are added. 0, -ENOPKG: it has none, -ENODATA: it has no memory (it has ended, or
 * belongs to the kernel), or why it cannot be looked into. target_close() in any case.
 */
int target_find(struct target *t, const char *command, pid_t pid, struct file_set *without);
/* The same, in words: EXIT_OK, or EXIT_FAILED after saying why not, closed then. */
int target_open(struct target *t, const char *command, pid_t pid);
/* Also of the target of a core (core_target()). */
void target_close(struct target *t);

/*
 * A snapshot of the library whose file name contains library; NULL: of the one with the largest
 * arena, with a warning if there are several. *root is set to the one taken. Returns the same.
 */
int target_snapshot(struct target *t, const char *library, struct snapshot *s,
		    const struct target_root **root);

/*
 * Of that root, without a word. 0; -EAGAIN: loaded, and not used yet; -EPROTONOSUPPORT: its data
 * are of another version, see s->root; others: it cannot be read, or has changed meanwhile.
 */
int target_take(struct target *t, const struct target_root *root, struct snapshot *s);

/* The same, in words: EXIT_OK or EXIT_FAILED. */
int target_snapshot_root(struct target *t, const struct target_root *root, struct snapshot *s);

/* The name of a process in /proc/PID/comm, printable; "" if there is none. */
void target_read_name(pid_t pid, char name[TARGET_NAME_BYTES]);

/* The message about a process that may not be read; yama is the path of ptrace_scope. */
void target_permission_text(char *buf, size_t size, const char *yama);

#endif /* TOOLS_TARGET_H */
