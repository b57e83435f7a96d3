/* SPDX-License-Identifier: MIT */
/*
 * uslab/util.h - what the subcommands share: messages, exit codes, arguments, workers,
 * progress
 *
 * A subcommand is `int cmd_NAME(int argc, char **argv)` in tools/uslab/NAME/cmd_NAME.c (cmd_debug.c
 * is in command/), with argv[0] its own name; what it returns is the exit status. It prints results
 * on stdout, all else on stderr.
 */
#ifndef TOOLS_UTIL_H
#define TOOLS_UTIL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1, /* it was asked rightly and could not be done */
	EXIT_USAGE = 2,	 /* it was asked wrongly */
};

/* The subcommands; main.c calls them. */
int cmd_run(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_debug(int argc, char **argv);
int cmd_defrag(int argc, char **argv);
int cmd_track(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_fs(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* "uslab COMMAND: text" and where to read more, on stderr. Returns EXIT_USAGE. */
int util_usage_error(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "uslab COMMAND: text" on stderr. Returns EXIT_FAILED. */
int util_fail(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * A warning, on stderr; the command goes on. The same text is printed only once. For one thread.
 */
void util_warn(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What this thread says by util_fail() and util_warn() goes to that stream, a message a line and
 * without "uslab COMMAND: ", until it is NULL again. For parts of the command inside of a program.
 */
void util_collect(FILE *to);

/*
 * Texts of other processes and files may hold anything: each byte of what is no printable UTF-8,
 * lines apart, or turns the direction of text, becomes '?'. Messages are made so.
 */
void util_make_printable(char *text);
/* The same, in one line: '?' for newlines, too. */
void util_make_line(char *text);

/*
 * What to answer when getopt_long(), called with opterr = 0 and an option string that begins with
 * ":" or "+:", returned got: '?' (no such option) or ':' (its value is missing). EXIT_USAGE.
 */
int util_bad_option(const char *command, char **argv, int got);

/* "uslab VERSION" on stdout, for the --version of every subcommand. Returns the exit status. */
int util_version(void);

/* Flushes stdout; EXIT_FAILED with a message if anything printed there was lost, else status. */
int util_finish(const char *command, int status);

/* A decimal number in min..max and nothing else; false leaves *value alone. */
bool util_parse_number(const char *text, unsigned long min, unsigned long max,
		       unsigned long *value);

/* A process id. EXIT_OK, or EXIT_USAGE after a message. */
int util_parse_pid(const char *command, const char *text, pid_t *pid);

/*
 * Options of a made-up topology: cpus and *nodes 0 when not given; *nodes becomes 1 with cpus.
 * EXIT_OK, or EXIT_USAGE after a message.
 */
int util_check_topology(const char *command, unsigned long cpus, unsigned long *nodes, bool spread);

/*
 * fork(): the child is killed when the thread that made it ends, also by a signal that only this
 * process got. For workers, which nobody would wait for then. exec keeps that, but of a file with
 * capabilities or another user's rights.
 */
pid_t util_fork(void);

/* The last component of a path. */
const char *util_file_name(const char *path);

/* 1234567 -> "1.2 MiB" (binary units, for people; the table of info has its own scaling). */
const char *util_size(char *buf, size_t size, uint64_t bytes);
#define UTIL_SIZE_TEXT 24 /* bytes that buf needs */

/* One line on stderr that is rewritten in place, at most ten times a second; only on a terminal. */
struct progress {
	const char *command;
	bool on;
	uint64_t next_ns; /* CLOCK_MONOTONIC; not before this time */
};

/* Shows nothing yet. */
void progress_start(struct progress *p, const char *command);
/* Cheap enough to be called for every step of a loop. */
void progress_show(struct progress *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Wipes the line; to be called before anything else is printed. */
void progress_end(struct progress *p);

#endif /* TOOLS_UTIL_H */
