/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_run.c - the loop: snapshots of what is tracked, tables, and the time
 * between them
 *
 * Data:       stopped: the signal that ends it; written by the handler.
 * Flow:       called by cmd_track.c, and for pauses by track_choose.c; calls track_table.c, the
 *             printers track_print.c, track_json.c and track_pprof.c, symbols/resolve.c,
 *             command/command.c to renew the sampling, and inspect/snapshot.c. In: struct tracking;
 *             out: tables on stdout, files.
 *
 * Snapshots are taken between two tables as well, so that there is something to show if the process
 * ends: tracked objects, and names of call sites, since files are found through /proc. A snapshot
 * only reads, and does not stop the process. They take at most a twentieth of the time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command/command.h"
#include "track/track.h"
#include "util.h"

#define COMMAND "track"
#define LIVE_FRAMES 3u
#define HEADLINES 5   /* lines of the screen that are no rows */
#define MAX_SLEEP 0.2 /* seconds without a check for signals */
#define RENEW_SECONDS 0.2
#define REFRESH_SECONDS 0.5 /* between two snapshots, or more where they take long */
#define REFRESH_SHARE 20
#define CLEAR "\033[H\033[2J"

static volatile sig_atomic_t stopped; /* the signal that ends it */

static void stop(int signal)
{
	stopped = signal;
}

void track_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };
	struct sigaction action = { .sa_handler = stop };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

bool track_stopped(void)
{
	return stopped != 0;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int fail_errno(const struct tracking *t, const char *what, int error)
{
	if (error == -ESRCH)
		return util_fail(COMMAND, "%s has ended", t->source.title);
	return util_fail(COMMAND, "%s: %s", what, strerror(-error));
}

int track_open_folded(struct tracking *t)
{
	const char *path = t->options->folded;

	if (path)
		t->folded = strcmp(path, "-") != 0 ? fopen(path, "we") : stdout;
	return path && !t->folded ? fail_errno(t, path, -errno) : EXIT_OK;
}

void track_close_folded(struct tracking *t)
{
	if (t->folded && t->folded != stdout)
		fclose(t->folded);
	t->folded = NULL;
}

static int write_folded(struct tracking *t)
{
	const char *path = t->options->folded;
	int error = 0;

	errno = 0;
	track_print_folded(t->folded, t, t->options->order == TRACK_BY_OBJECTS);
	if (fflush(t->folded) || ferror(t->folded))
		error = errno ? errno : EIO;
	if (t->folded != stdout && fclose(t->folded) && !error)
		error = errno;
	t->folded = NULL;
	return error ? util_fail(COMMAND, "cannot write '%s': %s", path, strerror(error)) : EXIT_OK;
}

/* Rows that fit on a terminal of this height, with headlines and stacks. */
static unsigned long rows_that_fit(const struct tracking *t)
{
	struct winsize size;
	unsigned long rows;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row <= HEADLINES)
		return t->options->top;
	rows = (size.ws_row - HEADLINES) / (LIVE_FRAMES + 1);
	return rows < t->options->top ? (rows ? rows : 1) : t->options->top;
}

static int print_table(struct tracking *t, bool live)
{
	bool screen = live && isatty(STDOUT_FILENO);
	int ret = 0;

	if (t->options->json) {
		ret = track_print_json(stdout, t);
	} else {
		if (screen)
			fputs(CLEAR, stdout);
		track_print(stdout, t, screen ? rows_that_fit(t) : t->options->top,
			    live ? LIVE_FRAMES : STACKS_DEPTH);
		if (live && !screen)
			putchar('\n');
	}
	if (ret)
		return fail_errno(t, "JSON", ret);
	return util_finish(COMMAND, EXIT_OK);
}

/* Of a process that has ended. A table without rows would read as if it had held nothing. */
static bool saw_nothing(const struct tracking *t)
{
	return !t->table.nr && !t->table.at_least && t->table.seconds < REFRESH_SECONDS;
}

/* The only table, or what was asked for in place of it. */
static int print_once(struct tracking *t)
{
	const struct track_options *options = t->options;
	bool table = options->json || !(options->folded && !strcmp(options->folded, "-"));
	int status = EXIT_OK;
	int ret;

	if (options->pprof) {
		ret = track_write_pprof(options->pprof, t);
		if (ret)
			status = fail_errno(t, options->pprof, ret);
	}
	if (options->folded && write_folded(t) != EXIT_OK)
		status = EXIT_FAILED;
	if (table && print_table(t, false) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Looks up names now, since they are cached and cannot be found after the end of the process. */
static void name_sites(struct tracking *t)
{
	const struct track_options *options = t->options;
	unsigned int rows = t->table.nr;

	if (!options->folded && !options->pprof && options->top < rows)
		rows = (unsigned int)options->top;
	for (unsigned int i = 0; i < rows; i++)
		for (unsigned int f = 0; f < t->table.row[i].nr; f++)
			resolve_address(t->resolve, t->table.row[i].pc[f]);
	resolve_warn(t->resolve, COMMAND);
}

/* 0 or -errno, without a message; then the table is as it was. */
static int refresh(struct tracking *t)
{
	double start = now_seconds(), took;
	bool first;
	int ret = snapshot_take(t->snapshot, &t->source.target.remote.reader,
				t->source.root->address);

	if (!ret)
		ret = track_table_make(t);
	if (ret)
		return ret;
	first = t->refreshed == 0;
	t->refreshed = start;
	if (t->options->source.kind == SOURCE_PROCESS)
		track_warn_ended(t);
	name_sites(t);
	/* the first one reads symbols, which are kept: it says nothing about the others */
	took = first ? 0 : (now_seconds() - start) * REFRESH_SHARE;
	t->next_refresh = now_seconds() + (took > REFRESH_SECONDS ? took : REFRESH_SECONDS);
	return 0;
}

/* Prints why there is nothing to show. */
static int fail_refresh(struct tracking *t, int error)
{
	int status = error == -ENOMEM ? EXIT_OK : source_snapshot(&t->source, t->snapshot);

	return status == EXIT_OK ? fail_errno(t, t->source.title, error) : status;
}

/*
 * There is a table of before. EXIT_FAILED: the process is what it was, and can no longer be read
 * (it has changed its user, say).
 */
static int warn_as_of(const struct tracking *t, int error)
{
	const char *ended = source_end(&t->source);
	double as_of = t->table.seconds;
	double end = as_of + now_seconds() - t->refreshed;

	if (!ended)
		return util_fail(
			COMMAND,
			"%s can no longer be read, after %.1f s: %s; the figures are as of "
			"%.1f s",
			t->source.title, end, strerror(-error), as_of);
	if (saw_nothing(t))
		return util_fail(COMMAND, "%s %s, after %.1f s, before anything was seen",
				 t->source.title, ended, end);
	util_warn(COMMAND, "%s %s, after %.1f s; the figures are as of %.1f s", t->source.title,
		  ended, end, as_of);
	return EXIT_OK;
}

/* Also a signal that comes between the question and the sleep does. */
bool track_sleep(const struct tracking *t, double seconds)
{
	double end = now_seconds() + seconds;

	for (; !stopped && seconds > 0; seconds = end - now_seconds())
		if (!source_pause(&t->source, seconds < MAX_SLEEP ? seconds : MAX_SLEEP))
			return false;
	return !stopped;
}

/* What was not sampled has no row, and the numbers of others know nothing of it. */
static void warn_missing(struct tracking *t)
{
	static bool said;

	if (t->sampler.broken && !said)
		util_warn(COMMAND,
			  "sampling was interrupted (another tool ended it, or this one was "
			  "stopped for too long): what was allocated then is not counted");
	said |= t->sampler.broken;
}

/* Renews the sampling and refreshes the table. Ends early with a signal, or with the process. */
static void pause_for(struct tracking *t, double seconds)
{
	double end = now_seconds() + seconds;

	for (double left = seconds; !stopped && left > 0; left = end - now_seconds()) {
		command_sampler_renew(&t->sampler); /* nothing, where nothing is sampled */
		if (now_seconds() >= t->next_refresh && refresh(t))
			break;
		if (!track_sleep(t, left < RENEW_SECONDS ? left : RENEW_SECONDS))
			break;
	}
	warn_missing(t);
}

/* ---- one table, or one after the other ------------------------------------------------------- */

int track_run_once(struct tracking *t)
{
	int status = EXIT_OK;
	int ret;

	if (t->options->source.kind == SOURCE_PROCESS && t->start)
		pause_for(t, t->options->interval);
	ret = refresh(t);
	if (ret && (ret == -ENOMEM || t->refreshed == 0))
		return fail_refresh(t, ret);
	if (ret)
		status = warn_as_of(t, ret);
	if (ret && saw_nothing(t))
		return status;
	return print_once(t) == EXIT_OK ? status : EXIT_FAILED;
}

/* The end of the process is no failure. What was not shown yet is shown. */
static int end_live(struct tracking *t, int error, double shown)
{
	const char *ended = source_end(&t->source);
	int status;

	if (error != -ENOMEM && t->refreshed > shown) {
		status = warn_as_of(t, error);
		if (saw_nothing(t))
			return status;
		return print_table(t, true) == EXIT_OK ? status : EXIT_FAILED;
	}
	if (error == -ENOMEM || !ended)
		return fail_refresh(t, error);
	util_warn(COMMAND, "%s %s", t->source.title, ended);
	return EXIT_OK;
}

int track_run_live(struct tracking *t)
{
	int status = EXIT_OK;
	double shown = 0;

	while (status == EXIT_OK && !stopped) {
		int ret;

		pause_for(t, t->options->interval);
		ret = refresh(t);
		if (ret)
			return end_live(t, ret, shown);
		shown = t->refreshed;
		status = print_table(t, true);
	}
	return status;
}
