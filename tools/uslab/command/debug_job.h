/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/debug_job.h - what `uslab debug` is asked to do, and what its parts and
 * `uslab defrag` share
 */
#ifndef TOOLS_DEBUG_JOB_H
#define TOOLS_DEBUG_JOB_H

#include "command/command.h"
#include "process/source.h"

#define DEBUG_COMMAND "debug"
#define DEBUG_MAX_PATTERNS 64

struct debug_job {
	struct source_options source;
	const char *debug_flags; /* NULL: another action */
	int action;		 /* OPTION_STATUS, ...; 0: debug flags */
	unsigned long capacity;	 /* objects, or CONTROL_CAPACITY_BY_SIZE */
	unsigned int wait_ms;
	bool named; /* some --cache was given */
	bool verbose;
	bool profiling; /* to be on */
	bool is_open;	/* target */
	unsigned int nr_patterns;
	const char *pattern[DEBUG_MAX_PATTERNS];

	struct target *target;
	const struct target_root *root;
	struct snapshot *before;
	struct snapshot *after;
};

/* ---- cmd_debug.c ---- */

/* Target and snapshots. EXIT_OK, or EXIT_FAILED with a message; debug_close() has to follow. */
int debug_open(struct debug_job *job, const char *command);
void debug_close(struct debug_job *job);
/* One more of --cache. EXIT_OK, or EXIT_USAGE with a message. */
int debug_add_pattern(struct debug_job *job, const char *command, const char *pattern);

/* Do the patterns name it? */
bool debug_is_chosen(const struct debug_job *job, const struct snapshot *s,
		     const struct snapshot_cache *c);
/* EXIT_OK, or EXIT_FAILED with a message: a pattern matches no cache, and nothing is to be done. */
int debug_check_patterns(const struct debug_job *job);
/* The snapshot after. EXIT_OK, or EXIT_FAILED with a message. */
int debug_again(struct debug_job *job);
double debug_seconds(void);

/* ---- debug_capacity.c ---- */

/* --capacity. Exit status; what was changed is printed, and what went wrong said. */
int debug_set_capacity(struct debug_job *job);

/* ---- debug_profiling.c ---- */

/* --mem-profiling. Exit status; what it is now is printed, and what went wrong said. */
int debug_switch_profiling(struct debug_job *job);

#endif /* TOOLS_DEBUG_JOB_H */
