/* SPDX-License-Identifier: MIT */
/*
 * uslab/options.h - the command line of a subcommand: one table for its parser and its --help
 *
 * A subcommand has a table of rows; options that several of them have are rows here, so that they
 * are called the same and say the same everywhere. --help and --version belong to every table.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>

struct option_row {
	int option;	   /* its letter, or a number from OPTION_OWN on; 0: a line of text */
	const char *name;  /* the long one */
	const char *value; /* "PID"; "[OPTIONS]" if it may be left out; NULL: it takes none */
	const char *help;
};

/* Numbers of options without a letter; those of one command alone begin with OPTION_OWN. */
enum {
	OPTION_CORE = 256,
	OPTION_PROGRAM,
	OPTION_SYSROOT,
	OPTION_LIBRARY,
	OPTION_KERNEL,
	OPTION_ROOT,
	OPTION_FORCE,
	OPTION_WAIT,
	OPTION_CPUS,
	OPTION_NODES,
	OPTION_SPREAD,
	OPTION_NO_PROGRESS,
	OPTION_OWN,
};

/* clang-format off */

/* Whose caches: source_take_option() takes these. */
#define ROW_PID { 'p', "pid", "PID", "the process" }
#define ROW_CORE { OPTION_CORE, "core", "FILE", "a core file in place of a process" }
#define ROW_PROGRAM { OPTION_PROGRAM, "program", "FILE", \
	"the program that left the core, if that is not where it was" }
#define ROW_SYSROOT { OPTION_SYSROOT, "sysroot", "DIR", \
	"the folder in which the files lie that the core names" }
#define ROW_LIBRARY { OPTION_LIBRARY, "library", "NAME", \
	"of several copies of uslab in it, the one in a file named like this" }
#define ROW_KERNEL { OPTION_KERNEL, "kernel", NULL, \
	"the running kernel, from /sys/kernel/slab (needs root)" }
#define ROW_ROOT { OPTION_ROOT, "root", "DIR", "a tree like that one" }
#define ROW_FORCE { OPTION_FORCE, "force", NULL, \
	"change also a process that may be ended for it, by a seccomp filter of its own or by its " \
	"memory limit" }

#define ROW_WAIT { OPTION_WAIT, "wait", "S", \
	"seconds to wait for the program to take a command (10; 1 if it is stopped)" }

/* Traces, and machines that are made up. */
#define ROW_TOUCH { 't', "touch", "WHAT", \
	"write to new objects: none, line (the first 64 bytes, the default) or all" }
#define ROW_EVENTS { 'n', "events", "N", "stop after N memory events of each trace" }
#define ROW_CPUS { OPTION_CPUS, "cpus", "N", \
	"on a made-up machine with N CPUs: CPU c of the trace is CPU c modulo N of it" }
#define ROW_NODES { OPTION_NODES, "nodes", "M", "with M nodes of memory" }
#define ROW_SPREAD { OPTION_SPREAD, "spread", NULL, \
	"perform so many copies of a trace at once, each on CPUs of its own, that all N CPUs are " \
	"loaded" }
#define ROW_NO_PROGRESS { OPTION_NO_PROGRESS, "no-progress", NULL, \
	"show no progress on a terminal" }

/* clang-format on */

/* How a subcommand takes its options. */
struct option_table {
	const char *command;
	const char *usage;	       /* above the options in --help */
	const struct option_row *rows; /* the last one is all 0 */
	const char *notes;	       /* below them; NULL: nothing */
	void (*list)(void);	       /* prints more below the usage; NULL: nothing */
	bool stops;		       /* at the first argument that is no option */
	/* One option but for -h and -V; EXIT_OK, or the exit status after a message. */
	int (*set)(void *arg, int option, const char *value);
	/* The same for what follows, argv[optind], and all of it together; NULL: nothing. */
	int (*check)(void *arg, int argc, char **argv);
};

/*
 * Takes all of them, and has the rest checked. -1: go on; else the exit status: help or version was
 * all that was wanted, or something was wrong.
 */
int options_take(const struct option_table *table, void *arg, int argc, char **argv);

/*
 * Words of a text, of which lines begin in that column and end before the 80th; the first one
 * continues at the column at. Ends with a newline.
 */
void options_print_wrapped(int at, int column, const char *text);

/* The names that a value is one of: name(0), name(1), ... until NULL. */
typedef const char *options_names(unsigned int i);

/* Which one it is; -1 after a message that names all of them. */
int options_choose(const char *command, const char *what, const char *value, options_names *name);
/* "Title: a b c", for struct option_table.list. */
void options_print_names(const char *title, options_names *name);

/* A number from 1 to max as the value of that option. EXIT_OK, or EXIT_USAGE after a message. */
int options_number(const char *command, const char *option, const char *value, unsigned long max,
		   unsigned long *number);

#endif /* TOOLS_OPTIONS_H */
