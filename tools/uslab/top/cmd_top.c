/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/cmd_top.c - `uslab top`: the caches of a running process or of the kernel, all the time
 *
 * Flow:       called by main.c; calls options.c, process/source.c for snapshots, top_rows.c,
 *             top_screen.c and top_keys.c in a loop; symbols/resolve.c to close it. In: options and
 *             keys; out: the screen, or with --once lines on stdout, by top_columns.c.
 *
 * Read top.h first: samples, rows, screen, keys. top_rows.c and top_columns.c know neither terminal
 * nor process.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbols/resolve.h"
#include "top/top.h"
#include "options.h"
#include "util.h"

#define COMMAND "top"

static const char usage[] =
	"usage: uslab top -p PID [OPTION]...\n"
	"       uslab top --kernel [OPTION]...\n"
	"Watch the slab caches of a running process that uses uslab, or of the kernel.";

static const char notes[] =
	"Keys: h shows them. They sort, filter, show one cache and its call sites, and switch\n"
	"debugging and tracking of the running process on and off, shrink and validate.\n"
	"\n"
	"Columns: objects that the program holds, bytes of one, bytes of all, bytes of all slabs,\n"
	"of these without live objects, and how the bytes held grow, over the last three intervals.\n"
	"A narrow screen shows those that fit.";

static const struct option_row rows[] = {
	ROW_PID,
	ROW_LIBRARY,
	ROW_KERNEL,
	ROW_ROOT,
	{ 'd', "interval", "S", "seconds between two updates (default 1; 0.1 .. 3600)" },
	{ 's', "sort", "ORDER", "bytes, objects, growth, waste or name (default bytes)" },
	{ 'b', "batch", NULL,
	  "print lines instead of a screen; without -n until the process ends" },
	{ 'n', "count", "N", "update N times, then end" },
	ROW_FORCE,
	{ 0 },
};

struct arguments {
	struct top *top;
	struct source_options source;
	bool source_given;
	bool batch;
	unsigned long count; /* of updates */
};

static int parse_interval(struct top *top, const char *text)
{
	char *end;

	top->interval = strtod(text, &end);
	if (end == text || *end || !(top->interval >= 0.1 && top->interval <= 3600))
		return util_usage_error(COMMAND, "'%s' is no interval of 0.1 .. 3600 seconds",
					text);
	return EXIT_OK;
}

static int parse_order(struct top *top, const char *text)
{
	static const char *const orders[] = { "bytes", "objects", "growth", "waste", "name" };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (!strcmp(text, orders[i])) {
			top->order = (enum top_order)i;
			return EXIT_OK;
		}
	return util_usage_error(COMMAND, "no order '%s': bytes, objects, growth, waste or name",
				text);
}

/* A source may be given once. */
static int take_source(struct arguments *arguments)
{
	if (arguments->source_given)
		return util_usage_error(COMMAND, "one of -p, --kernel and --root, once");
	arguments->source_given = true;
	return EXIT_OK;
}

static int set_option(void *arg, int option, const char *value)
{
	struct arguments *arguments = arg;
	int status = EXIT_OK;

	if (option == 'p' || option == OPTION_KERNEL || option == OPTION_ROOT)
		status = take_source(arguments);
	if (status != EXIT_OK || source_take_option(&arguments->source, option, value, &status))
		return status;
	switch (option) {
	case 'd':
		return parse_interval(arguments->top, value);
	case 's':
		return parse_order(arguments->top, value);
	case 'b':
		arguments->batch = true;
		return EXIT_OK;
	default:
		if (util_parse_number(value, 1, ULONG_MAX, &arguments->count))
			return EXIT_OK;
		return util_usage_error(COMMAND, "'%s' is no count", value);
	}
}

static int check(void *arg, int argc, char **argv)
{
	const struct arguments *arguments = arg;

	if (optind < argc)
		return util_usage_error(COMMAND, "unexpected argument '%s'", argv[optind]);
	if (!arguments->source_given)
		return util_usage_error(
			COMMAND, "which process? Use -p PID ('uslab ps' lists them), or --kernel");
	return EXIT_OK;
}

static const struct option_table options = { .command = COMMAND,
					     .usage = usage,
					     .rows = rows,
					     .notes = notes,
					     .set = set_option,
					     .check = check };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One update. The first must succeed; later ones that fail mean that the process has ended. */
static int update(struct top *top)
{
	int status;

	if (top->table->samples && source_gone(&top->source)) {
		top->ended = true;
		return EXIT_OK;
	}
	status = source_snapshot(&top->source, top->snapshot);
	if (status == EXIT_OK)
		top_add_sample(top->table, top->snapshot, now());
	else if (top->table->samples && source_gone(&top->source))
		top->ended = true;
	else
		return status;
	return EXIT_OK;
}

static void show_ended(struct top *top)
{
	snprintf(top->message, sizeof(top->message),
		 "%s has ended; this is the last sample. q quits", top->source.title);
}

static void print_rows(const struct top *top)
{
	char title[256], text[512];
	struct top_layout layout;

	top_summary_text(top, title, sizeof(title), text, sizeof(text));
	printf("%s\n%s\n", title, text);
	top_make_layout(&layout, top->table, top->order, UINT_MAX);
	top_header_text(text, sizeof(text), &layout);
	printf("%s\n", text);
	for (unsigned int i = 0; i < top->table->count; i++) {
		top_row_text(text, sizeof(text), &top->table->row[i], &layout);
		printf("%s\n", text);
	}
	printf("\n");
}

static int run_batch(struct top *top, unsigned long count)
{
	for (unsigned long i = 0; i < count && !top->ended; i++) {
		int status = EXIT_OK;

		if (i) {
			usleep((useconds_t)(top->interval * 1e6));
			status = update(top);
		}
		if (status != EXIT_OK)
			return status;
		if (top->ended)
			break;
		top_make_rows(top->table, top->snapshot, top);
		print_rows(top);
		if (util_finish(COMMAND, EXIT_OK) != EXIT_OK) /* nobody reads it any more */
			return EXIT_FAILED;
	}
	if (top->ended)
		util_warn(COMMAND, "%s has ended", top->source.title);
	return EXIT_OK;
}

/* Until a key says so, or count updates are done. */
static int run_screen(struct top *top, unsigned long count)
{
	double next = now() + top->interval;
	int status = EXIT_OK;
	int key = -1;

	do {
		double again = top_key_expire(top);
		double wait;

		top_make_rows(top->table, top->snapshot, top);
		if (top->ended)
			show_ended(top);
		top_screen_draw(top);
		wait = top->ended ? 3600 : next - now();
		if (again >= 0 && again < wait)
			wait = again;
		key = wait > 0 ? top_screen_key((int)(wait * 1000)) : -1;
		if (key < 0 && now() >= next) {
			if (!top->paused && !top->ended)
				status = update(top);
			next = now() + top->interval;
			count--;
		}
	} while (status == EXIT_OK && count && (key < 0 || top_key(top, key)));
	return status;
}

/* What was said while there was the screen, which showed nothing of it. */
static void repeat(char *lines)
{
	char *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		util_warn(COMMAND, "%s", line);
}

static int show_screen(struct top *top, unsigned long count)
{
	char *text = NULL;
	size_t size = 0;
	FILE *collected;
	int status;

	if (top_screen_start())
		return util_fail(COMMAND, "the terminal '%s' cannot show it; -b prints lines",
				 getenv("TERM") ? getenv("TERM") : "");
	collected = open_memstream(&text, &size);
	util_collect(collected);
	status = run_screen(top, count);
	top_screen_end();
	util_collect(NULL);
	if (collected && !fclose(collected))
		repeat(text);
	free(text);
	return status;
}

static int run(struct top *top, const struct arguments *arguments)
{
	int status = update(top);

	if (status != EXIT_OK)
		return status;
	if (arguments->batch)
		return run_batch(top, arguments->count);
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return util_usage_error(COMMAND, "this is no terminal; -b prints lines");
	return show_screen(top, arguments->count);
}

int cmd_top(int argc, char **argv)
{
	struct arguments arguments = { .source.command = COMMAND, .count = ULONG_MAX };
	struct top *top = calloc(1, sizeof(*top));
	int status;

	if (!top)
		return util_fail(COMMAND, "out of memory");
	top->interval = 1;
	arguments.top = top;
	status = options_take(&options, &arguments, argc, argv);
	if (status < 0) {
		top->snapshot = calloc(1, sizeof(*top->snapshot));
		top->table = calloc(1, sizeof(*top->table));
		status = top->snapshot && top->table ? source_open(&top->source, &arguments.source)
						     : util_fail(COMMAND, "out of memory");
		if (status == EXIT_OK) {
			status = run(top, &arguments);
			resolve_warn(top->resolve, COMMAND);
			resolve_close(top->resolve);
			source_close(&top->source);
		}
		status = status == EXIT_OK ? util_finish(COMMAND, status) : status;
	}
	free(top->table);
	free(top->snapshot);
	free(top);
	return status;
}
