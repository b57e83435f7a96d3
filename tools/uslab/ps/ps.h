/* SPDX-License-Identifier: MIT */
/*
 * uslab/ps/ps.h - the parts of `uslab ps`: a row for each copy of uslab in a process
 */
#ifndef TOOLS_PS_H
#define TOOLS_PS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <uslab/slab.h>

#include "process/target.h"

#define PS_COMMAND "ps"

enum ps_state {
	PS_READ,
	PS_UNUSED,     /* loaded, and nobody has called it */
	PS_OTHER_DATA, /* of a version that this command cannot read */
	PS_UNREADABLE, /* it changed while it was being read, or memory is short */
	PS_NO_ANSWER,  /* reading it takes too long: whether it uses uslab is not known */
	NR_PS_STATES
};

struct ps_row {
	pid_t pid;
	char program[TARGET_NAME_BYTES];
	char object[PATH_MAX]; /* file that has uslab in it, as the process sees it; printable */
	char version[16];      /* of that copy; printable */
	uint32_t data_version;
	enum ps_state state;
	bool resident_known;
	uint64_t resident; /* bytes, of the whole process */

	/* with PS_READ alone; bytes */
	uint64_t objects;
	uint64_t held; /* by the program */
	uint64_t space;
	uint64_t reports;
	slab_flags_t debug_flags; /* those that any cache has */
	bool sampled;		  /* users of some allocations are stored */
};

struct ps_table {
	struct ps_row *rows; /* by PID */
	size_t count, room;
	unsigned int closed; /* processes that may not be looked into */
	unsigned int silent; /* that do not answer */
	size_t left;	     /* not looked at, as too many do not */
};

/* ---- ps_rows.c ---- */

/* Looks at all processes but this one. EXIT_OK, or EXIT_FAILED after saying why not. */
int ps_take(struct ps_table *table);
/* The one with most memory first. */
void ps_sort_by_space(struct ps_table *table);
void ps_free(struct ps_table *table);

/* ---- ps_print.c ---- */

/* The key of a state in JSON; NULL behind the last one. */
const char *ps_state_key(unsigned int state);

/* bytes: sizes in bytes, not scaled. */
void ps_print_table(FILE *out, const struct ps_table *table, bool bytes);
/* 0 or -ENOMEM. */
int ps_print_json(FILE *out, const struct ps_table *table);

#endif /* TOOLS_PS_H */
