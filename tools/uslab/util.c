/* SPDX-License-Identifier: MIT */
/*
 * uslab/util.c - messages, exit codes, arguments, workers and progress, for all subcommands
 *
 * Data:       printed[] in printed_before(): hashes of the warnings that were printed; collected,
 *             of each thread.
 * Locks:      none: for one thread, but for messages that are collected.
 * Flow:       called by every folder. Messages go to stderr, after what was printed on stdout.
 */
#define _GNU_SOURCE
#include "util.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_INTERVAL_NS 100000000u

static _Thread_local FILE *collected; /* messages go there; NULL: to stderr */

void util_collect(FILE *to)
{
	collected = to;
}

/*
 * U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: what turns the direction of text, so
 * that a terminal shows another one than there is.
 */
static bool turns_direction(const unsigned char *c)
{
	if (c[0] == 0xd8)
		return c[1] == 0x9c;
	if (c[0] != 0xe2)
		return false;
	if (c[1] == 0x80)
		return c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xaa && c[2] <= 0xae);
	return c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
}

/*
 * Bytes of the character of UTF-8 that begins there with a byte above 0x7f; 0: none does that may
 * be shown. U+0080 to U+009F control terminals, whichever way they are written.
 */
static size_t wide_character(const char *text)
{
	static const struct {
		unsigned char first, second_min, second_max, len;
	} forms[] = {
		{ 0xf4, 0x80, 0x8f, 4 }, { 0xf1, 0x80, 0xbf, 4 }, { 0xf0, 0x90, 0xbf, 4 },
		{ 0xee, 0x80, 0xbf, 3 }, { 0xed, 0x80, 0x9f, 3 }, { 0xe1, 0x80, 0xbf, 3 },
		{ 0xe0, 0xa0, 0xbf, 3 }, { 0xc3, 0x80, 0xbf, 2 }, { 0xc2, 0xa0, 0xbf, 2 },
	};
	const unsigned char *c = (const unsigned char *)text;
	size_t form = 0;

	while (form < sizeof(forms) / sizeof(forms[0]) && c[0] < forms[form].first)
		form++;
	if (form == sizeof(forms) / sizeof(forms[0]) || c[0] > 0xf4 ||
	    c[1] < forms[form].second_min || c[1] > forms[form].second_max)
		return 0;
	for (size_t i = 2; i < forms[form].len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return turns_direction(c) ? 0 : forms[form].len;
}

void util_make_printable(char *text)
{
	while (*text) {
		size_t len = *text & 0x80 ? wide_character(text) : 1;

		if (!len || (unsigned char)*text < ' ' || *text == 0x7f) {
			*text = *text == '\n' ? '\n' : '?';
			len = 1;
		}
		text += len;
	}
}

void util_make_line(char *text)
{
	util_make_printable(text);
	while ((text = strchr(text, '\n')))
		*text = '?';
}

/* text: NULL if there was no memory for it. */
static void print_message(const char *command, char *text)
{
	if (text)
		util_make_printable(text);
	if (collected) {
		fprintf(collected, "%s\n", text ? text : "out of memory");
		return;
	}
	fflush(stdout);
	fprintf(stderr, "uslab%s%s: %s\n", command ? " " : "", command ? command : "",
		text ? text : "out of memory");
}

static void message(const char *command, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	print_message(command, text);
	free(text);
}

int util_usage_error(const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(command, format, args);
	va_end(args);
	if (command)
		fprintf(stderr, "Try 'uslab %s --help'.\n", command);
	else
		fputs("Try 'uslab --help'.\n", stderr);
	return EXIT_USAGE;
}

int util_fail(const char *command, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	message(command, format, args);
	va_end(args);
	return EXIT_FAILED;
}

/* Was this printed before? Warnings are few; those beyond the table are printed each time. */
static bool printed_before(const char *text)
{
	static uint64_t printed[64];
	static unsigned int nr_printed;
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	for (unsigned int i = 0; i < nr_printed; i++)
		if (printed[i] == hash)
			return true;
	if (nr_printed < sizeof(printed) / sizeof(printed[0]))
		printed[nr_printed++] = hash;
	return false;
}

void util_warn(const char *command, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text || collected || !printed_before(text))
		print_message(command, text);
	free(text);
}

int util_bad_option(const char *command, char **argv, int got)
{
	/* Of a long option only the argument itself tells the name; of a short one only optopt. */
	const char *last = argv[optind - 1];
	bool is_long = strncmp(last, "--", 2) == 0;

	if (got == ':' && is_long)
		return util_usage_error(command, "option '%s' needs a value", last);
	if (got == ':')
		return util_usage_error(command, "option '-%c' needs a value", optopt);
	/* "--help=x": getopt_long sets optopt to the option's short form. */
	if (is_long && optopt)
		return util_usage_error(command, "option '%.*s' takes no value",
					(int)strcspn(last, "="), last);
	if (is_long)
		return util_usage_error(command, "unknown or ambiguous option '%s'", last);
	return util_usage_error(command, "unknown option '-%c'", optopt);
}

int util_version(void)
{
	puts("uslab " USLAB_VERSION_TEXT);
	return util_finish(NULL, EXIT_OK);
}

int util_finish(const char *command, int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	/* The reader of our output has closed it: no message. */
	if (errno == EPIPE)
		return EXIT_FAILED;
	if (!errno) /* it was an earlier piece that failed, and what is left was written */
		return util_fail(command, "cannot write all of the output");
	return util_fail(command, "cannot write the output: %s", strerror(errno));
}

bool util_parse_number(const char *text, unsigned long min, unsigned long max, unsigned long *value)
{
	unsigned long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *end || number < min || number > max)
		return false;
	*value = number;
	return true;
}

int util_parse_pid(const char *command, const char *text, pid_t *pid)
{
	unsigned long number;

	if (!util_parse_number(text, 1, INT_MAX, &number))
		return util_usage_error(command, "'%s' is no process id", text);
	*pid = (pid_t)number;
	return EXIT_OK;
}

int util_check_topology(const char *command, unsigned long cpus, unsigned long *nodes, bool spread)
{
	if (!cpus && *nodes)
		return util_usage_error(command, "--nodes needs --cpus");
	if (!cpus && spread)
		return util_usage_error(command, "--spread needs --cpus");
	if (*nodes > cpus)
		return util_usage_error(command, "--nodes %lu: more nodes than the %lu CPUs",
					*nodes, cpus);
	if (cpus && !*nodes)
		*nodes = 1;
	return EXIT_OK;
}

pid_t util_fork(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent) /* it ended before that */
		_exit(127);
	return 0;
}

const char *util_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *util_size(char *buf, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	/* 1023.95 would print as 1024.0 of the smaller unit. */
	while (value >= 1023.95 && unit < (int)sizeof(units) - 2) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, size, "%llu B", (unsigned long long)bytes);
	else
		snprintf(buf, size, "%.1f %ciB", value, units[unit]);
	return buf;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_start(struct progress *p, const char *command)
{
	p->command = command;
	p->on = isatty(STDERR_FILENO) == 1;
	p->next_ns = 0;
}

void progress_show(struct progress *p, const char *format, ...)
{
	va_list args;
	uint64_t now;

	if (!p->on)
		return;
	now = now_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + PROGRESS_INTERVAL_NS;
	fprintf(stderr, "\ruslab %s: ", p->command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	/* Clear to the end of the line: the last text may have been longer. */
	fputs("\033[K", stderr);
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->on && p->next_ns)
		fputs("\r\033[K", stderr);
	p->on = false;
}
