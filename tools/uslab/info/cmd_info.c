/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/cmd_info.c - `uslab info`: slabinfo for processes, cores and kernels
 *
 * Flow:       called by main.c; calls info_options.c, then, for each process, core or tree,
 *             process/source.c and info_rows.c, then the file that prints the mode: info_print.c,
 *             info_totals.c, info_numa.c, info_report.c, info_address.c, info_json.c,
 *             info_metrics.c, info_memory.c, info_allocinfo.c, info_groups.c or info_change.c.
 *
 * Once, or again and again with --interval: snapshots of all of them, then what the mode prints.
 *
 * Read info.h first, then this file, info_rows.c and info_print.c; the others are one mode each.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "info/info.h"
#include "util.h"

#define CLEAR_SCREEN "\033[H\033[2J\033[3J"

/* ---- one subject, one mode ------------------------------------------------------------------- */

static int list_aliases(const struct info *info, const struct snapshot *s)
{
	struct info_alias *aliases = calloc(s->nr_caches + s->nr_aliases + 1, sizeof(*aliases));

	if (!aliases)
		return util_fail(INFO_COMMAND, "out of memory");
	info_print_aliases(aliases, info_aliases(s, &info->options, aliases), &info->options);
	free(aliases);
	return EXIT_OK;
}

static int list_caches(const struct info *info, struct info_subject *subject)
{
	struct info_row only;

	if (info_only_row(subject->s, &info->options, &only))
		return info_print_report(subject, &only);
	info_print_list(subject->rows, subject->nr_rows, &info->options);
	if (info->options.activity_columns || info->options.order == INFO_BY_ACTIVITY)
		info_warn_activity(subject);
	info_warn_unmatched(info, subject);
	return EXIT_OK;
}

static int show_each(const struct info *info, struct info_subject *subject)
{
	int status = EXIT_OK;

	info_warn_unmatched(info, subject);
	for (unsigned int i = 0; i < subject->nr_rows && status == EXIT_OK; i++) {
		const struct info_row *row = &subject->rows[i];

		if (info->mode == INFO_NUMA)
			info_print_numa(subject->s, row, !i);
		else if (info->mode == INFO_OPS)
			info_print_ops(subject, row);
		else if (info->mode == INFO_TRACKING)
			status = info_print_tracking(subject, row);
		else
			status = info_print_report(subject, row);
	}
	/* no kernel tells them in its tree */
	if (info->mode == INFO_NUMA && subject->source.options.kind != SOURCE_TREE)
		info_print_machine_nodes(subject->s);
	return status;
}

static int show_subject(const struct info *info, struct info_subject *subject)
{
	switch (info->mode) {
	case INFO_ADDRESS:
		return info_print_address(subject, info->address);
	case INFO_ALLOCINFO:
		return info_print_allocinfo(info, subject);
	case INFO_GROUPS:
		return info_print_groups(info, subject);
	case INFO_ALIASES:
		info_warn_unmatched(info, subject);
		return list_aliases(info, subject->s);
	case INFO_MEMORY:
		info_warn_unmatched(info, subject);
		return info_print_memory(subject, &info->options);
	case INFO_XTOTALS:
		info_print_xtotals(subject, &info->options);
		return EXIT_OK;
	case INFO_TOTALS:
		info_print_totals(subject, &info->options);
		return EXIT_OK;
	case INFO_VALIDATE:
	case INFO_SHRINK:
	case INFO_DEBUG:
		return info_change(info, subject);
	case INFO_LIST:
		return list_caches(info, subject);
	default:
		return show_each(info, subject);
	}
}

/* ---- subjects -------------------------------------------------------------------------------- */

static void close_subject(struct info_subject *subject)
{
	if (subject->open)
		source_close(&subject->source);
	resolve_warn(subject->resolve, INFO_COMMAND);
	if (subject->resolve)
		resolve_close(subject->resolve);
	free(subject->s);
	free(subject->rows);
	free(subject->resident);
	memset(subject, 0, sizeof(*subject));
}

static int open_subject(struct info_subject *subject, const struct source_options *options)
{
	int status;

	subject->s = calloc(1, sizeof(*subject->s));
	subject->rows = calloc(SNAPSHOT_MAX_CACHES, sizeof(*subject->rows));
	if (!subject->s || !subject->rows)
		return util_fail(INFO_COMMAND, "out of memory");
	status = source_open(&subject->source, options);
	subject->open = status == EXIT_OK;
	return status;
}

/* Does what is shown have resident memory in it? */
static bool shows_memory(const struct info *info, const struct info_subject *subject)
{
	switch (info->mode) {
	case INFO_MEMORY:
	case INFO_JSON:
	case INFO_OPENMETRICS:
	case INFO_PROMETHEUS:
	case INFO_REPORT:
		return true;
	case INFO_TOTALS: /* of the process, where no pattern leaves that out */
	case INFO_XTOTALS:
		return !info->options.pattern && subject->source.options.kind != SOURCE_TREE;
	case INFO_LIST: /* a report, where that is all */
		return subject->nr_rows <= 1;
	default:
		return false;
	}
}

static int snapshot_subject(const struct info *info, struct info_subject *subject)
{
	struct info_options options = info->options;
	int status = source_snapshot(&subject->source, subject->s);

	if (status != EXIT_OK)
		return status;
	/* of each cache slabinfo says that there is one node only */
	if (info->mode == INFO_NUMA && subject->s->totals.nodes < 2)
		options.with_empty = true;
	subject->nr_rows = info_rows(subject->s, &options, subject->rows);
	return shows_memory(info, subject) ? info_take_memory(subject) : EXIT_OK;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int show_all(const struct info *info, struct info_subject *subjects, unsigned int count,
		    const char *time)
{
	int status = EXIT_OK;
	bool first = true;

	if (info->mode == INFO_OPENMETRICS || info->mode == INFO_PROMETHEUS)
		return info_print_metrics(info, subjects, count);
	if (info->mode == INFO_JSON)
		return info_print_json(stdout, subjects, count, time)
			       ? util_fail(INFO_COMMAND, "out of memory")
			       : EXIT_OK;
	if (time && !info->wanted[INFO_JSON])
		puts(time);
	for (unsigned int i = 0; i < count; i++) {
		if (!subjects[i].open)
			continue;
		if (count > 1 && !info->wanted[INFO_JSON])
			printf("%s%s:\n", first ? "" : "\n", subjects[i].source.title);
		first = false;
		if (show_subject(info, &subjects[i]) != EXIT_OK)
			status = EXIT_FAILED;
	}
	return status;
}

static bool any_open(const struct info_subject *subjects, unsigned int count)
{
	bool any = false;

	for (unsigned int i = 0; i < count; i++)
		any |= subjects[i].open;
	return any;
}

static void close_ended(struct info_subject *subjects, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (subjects[i].open && source_gone(&subjects[i].source)) {
			util_warn(INFO_COMMAND, "%s has ended", subjects[i].source.title);
			close_subject(&subjects[i]);
		}
}

/*
 * Those that cannot be read are closed, after it was said why, and the others go on. EXIT_FAILED if
 * there were any; one that ended after the first round is no failure.
 */
static int snapshot_round(const struct info *info, struct info_subject *subjects,
			  unsigned int count, bool first)
{
	int status = EXIT_OK;

	for (unsigned int i = 0; i < count; i++) {
		if (!subjects[i].open || snapshot_subject(info, &subjects[i]) == EXIT_OK)
			continue;
		if (first || !source_gone(&subjects[i].source))
			status = EXIT_FAILED;
		close_subject(&subjects[i]);
	}
	return status;
}

/* "2026-03-01T12:00:00.250+0100": the local time, for logs that are laid side by side. */
static const char *time_text(char *buf, size_t size)
{
	char seconds[32] = "", zone[8] = "";
	struct timespec now;
	struct tm local;

	clock_gettime(CLOCK_REALTIME, &now);
	if (localtime_r(&now.tv_sec, &local)) {
		strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &local);
		strftime(zone, sizeof(zone), "%z", &local);
	}
	snprintf(buf, size, "%s.%03ld%s", seconds, now.tv_nsec / 1000000, zone);
	return buf;
}

static void wait_for(double seconds)
{
	struct timespec time = { .tv_sec = (time_t)seconds };

	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	while (nanosleep(&time, &time))
		;
}

static int show_rounds(const struct info *info, struct info_subject *subjects, unsigned int count)
{
	bool terminal = isatty(STDOUT_FILENO);
	unsigned long round = 0;
	int status = EXIT_OK;
	char time[64];

	if (terminal && info->interval > 0)
		fputs(CLEAR_SCREEN, stdout);
	for (;;) {
		if (snapshot_round(info, subjects, count, !round) != EXIT_OK)
			status = EXIT_FAILED;
		if (!any_open(subjects, count))
			return status;
		if (show_all(info, subjects, count,
			     info->interval > 0 ? time_text(time, sizeof(time)) : NULL) != EXIT_OK)
			return EXIT_FAILED;
		if (info->interval <= 0 || ++round == info->rounds)
			return status;
		if (fflush(stdout)) /* nobody reads it any more */
			return util_fail(INFO_COMMAND, "cannot write the output: %s",
					 strerror(errno));
		wait_for(info->interval);
		close_ended(subjects, count);
		if (!any_open(subjects, count))
			return status;
		fputs(terminal ? CLEAR_SCREEN : "\n", stdout);
	}
}

/* Of several that are asked for those that are there are shown; each other one is named. */
static int open_and_show(const struct info *info)
{
	unsigned int count = info->nr_pids ? info->nr_pids : 1;
	struct info_subject *subjects = calloc(count, sizeof(*subjects));
	int status = EXIT_OK;

	if (!subjects)
		return util_fail(INFO_COMMAND, "out of memory");
	for (unsigned int i = 0; i < count; i++) {
		struct source_options options = info->source;

		options.pid = info->pids[i];
		if (open_subject(&subjects[i], &options) != EXIT_OK)
			status = EXIT_FAILED;
	}
	if (any_open(subjects, count) && show_rounds(info, subjects, count) != EXIT_OK)
		status = EXIT_FAILED;
	for (unsigned int i = 0; i < count; i++)
		close_subject(&subjects[i]);
	free(subjects);
	return status;
}

int cmd_info(int argc, char **argv)
{
	struct info info = { .mode = INFO_LIST };
	int status = info_parse(&info, argc, argv);

	if (status < 0) {
		status = open_and_show(&info);
		status = status == EXIT_OK ? util_finish(INFO_COMMAND, status) : status;
	}
	if (info.options.pattern)
		regfree(&info.pattern);
	return status;
}
