/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/cmd_defrag.c - `uslab defrag`: has a running program move objects, so that memory
 * comes back
 *
 * Why:        docs/adr/0060.
 * Data:       interrupted.
 * Flow:       called by main.c; calls options.c, process/source.c and target.c for the process,
 *             command.c and command_messages.c for the commands. In: options; out: commands in the
 *             mailbox, step by step until there is no more to do, and a table of what came back:
 *             the difference of two snapshots.
 *
 * Interrupted it ends after the step that is under way, prints the table, and ends by that signal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/debug_job.h"
#include "options.h"
#include "pattern.h"
#include "util.h"

#define COMMAND "defrag"
#define BUDGET_US 10000
#define QUIET_SECONDS 2 /* what takes longer says how far it is */

static const char usage[] =
	"usage: uslab defrag -p PID [--cache PATTERN]... [--budget US] [--ratio PERCENT]\n"
	"Have a running program move objects of slabs that are nearly empty, so that their memory\n"
	"comes back. Caches can do that for which the program has a function that moves.";

static const char notes[] =
	"The library's own thread does it: the program has to be started with USLAB_CONF=defrag=...\n"
	"or control=.... Other threads of the program go on meanwhile.";

enum { OPTION_BUDGET = OPTION_OWN, OPTION_RATIO, OPTION_STEPS };

static const struct option_row rows[] = {
	ROW_PID,
	{ 'c', "cache", "PATTERN", "caches by name or id; * and ? as in a shell; may be repeated" },
	ROW_LIBRARY,
	{ OPTION_BUDGET, "budget", "US",
	  "microseconds that one step takes (10000); between two steps the caches are as ever" },
	{ OPTION_STEPS, "steps", "N", "no more steps than that" },
	{ OPTION_RATIO, "ratio", "PERCENT",
	  "first set how many objects of a slab may be in use, so that it is emptied (0 to 100)" },
	ROW_WAIT,
	ROW_FORCE,
	{ 0 },
};

struct defrag_job {
	struct debug_job debug; /* process, patterns, snapshots */
	unsigned long budget_us;
	unsigned long steps; /* 0: as many as it takes */
	unsigned long ratio; /* percent; ULONG_MAX: as it is */
	unsigned long done;  /* steps */
};

static volatile sig_atomic_t interrupted; /* the signal */

/* ---- arguments ------------------------------------------------------------------------------- */

static int set_option(void *arg, int option, const char *value)
{
	struct defrag_job *job = arg;
	unsigned long number;
	int status;

	if (source_take_option(&job->debug.source, option, value, &status))
		return status;
	switch (option) {
	case 'c':
		return debug_add_pattern(&job->debug, COMMAND, value);
	case OPTION_BUDGET:
		return options_number(COMMAND, "--budget", value, UINT_MAX, &job->budget_us);
	case OPTION_STEPS:
		return options_number(COMMAND, "--steps", value, UINT_MAX, &job->steps);
	case OPTION_RATIO:
		if (!util_parse_number(value, 0, 100, &job->ratio))
			return util_usage_error(COMMAND, "'%s' is no percentage of 0 to 100",
						value);
		return EXIT_OK;
	default: /* OPTION_WAIT */
		status = options_number(COMMAND, "--wait", value, 86400, &number);
		if (status == EXIT_OK)
			job->debug.wait_ms = (unsigned int)number * 1000;
		return status;
	}
}

static int check(void *arg, int argc, char **argv)
{
	struct defrag_job *job = arg;

	if (!job->debug.source.pid)
		return util_usage_error(COMMAND,
					"which process? Use -p PID ('uslab ps' lists them)");
	if (optind < argc)
		return util_usage_error(COMMAND, "unexpected argument '%s'", argv[optind]);
	job->debug.named = job->debug.nr_patterns > 0;
	if (!job->debug.named)
		job->debug.pattern[job->debug.nr_patterns++] = "*";
	return EXIT_OK;
}

static const struct option_table options = { .command = COMMAND,
					     .usage = usage,
					     .rows = rows,
					     .notes = notes,
					     .set = set_option,
					     .check = check };

/* ---- signals --------------------------------------------------------------------------------- */

static void stop(int signal)
{
	interrupted = signal;
}

/* One that is ignored stays so. */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM };
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
	struct sigaction before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static void end_by_signal(void)
{
	signal(interrupted, SIG_DFL);
	raise(interrupted);
}

/* ---- the process ----------------------------------------------------------------------------- */

static bool is_meant(const struct defrag_job *job, const struct snapshot_cache *c)
{
	return c->movable && debug_is_chosen(&job->debug, job->debug.before, c);
}

static int check_caches(const struct defrag_job *job)
{
	const struct snapshot *s = job->debug.before;
	unsigned int i = 0;

	while (i < s->nr_caches && !is_meant(job, &s->cache[i]))
		i++;
	if (i < s->nr_caches)
		return EXIT_OK;
	return util_fail(COMMAND,
			 "process %d (%s) has no cache%s whose objects can be moved: the program "
			 "has to call uslab_cache_set_move() for it",
			 (int)job->debug.source.pid, job->debug.target->program,
			 job->debug.named ? " of that name" : "");
}

/* New objects of these come from debug slabs, and no object leaves one. */
static void warn_debugged(const struct defrag_job *job)
{
	const struct snapshot *s = job->debug.before;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (is_meant(job, &s->cache[i]) && s->cache[i].flags & DEBUG_SLAB_FLAGS)
			util_warn(COMMAND,
				  "cache %s has debug flags and is left alone; to switch them off: "
				  "uslab debug -p %d --cache '%s' -",
				  s->cache[i].name, (int)job->debug.source.pid, s->cache[i].name);
}

static struct command_request request_of(const struct defrag_job *job)
{
	return (struct command_request){ .patterns = job->debug.pattern,
					 .nr_patterns = job->debug.nr_patterns,
					 .wait_ms = job->debug.wait_ms };
}

/* Of the patterns, caches whose objects do not move refuse it, which is no error. */
static int set_ratio(struct defrag_job *job)
{
	struct command_request request = request_of(job);
	char argument[CONTROL_TEXT];
	struct control reply;
	int ret;

	snprintf(argument, sizeof(argument), "defrag_used_ratio=%lu", job->ratio);
	request.command = CONTROL_SET;
	request.argument = argument;
	ret = command_send(job->debug.target, job->debug.root, &request, &reply);
	if (!ret && reply.matched && reply.result == -EOPNOTSUPP)
		return EXIT_OK;
	return command_report(job->debug.target, job->debug.root, &request, ret, &reply);
}

static int fail_thread(const struct defrag_job *job)
{
	const char *lacks = command_lacks_thread(job->debug.target, job->debug.root);

	return util_fail(COMMAND, "process %d (%s) has no thread for it; %s",
			 (int)job->debug.source.pid, job->debug.target->program,
			 lacks ? lacks : "start it with USLAB_CONF=defrag=30 or control=100");
}

/* The first seconds show nothing. */
static void show_progress(struct progress *progress, const struct defrag_job *job, uint64_t bytes,
			  double start)
{
	double seconds = debug_seconds() - start;
	char text[UTIL_SIZE_TEXT];

	if (seconds >= QUIET_SECONDS)
		progress_show(progress, "%lu step%s in %.0f s, %s of slabs emptied", job->done,
			      job->done == 1 ? "" : "s", seconds,
			      util_size(text, sizeof(text), bytes));
}

/* Until all is done, or a signal comes: then what was done counts. */
static int send_steps(struct defrag_job *job, const struct command_request *request,
		      struct progress *progress)
{
	double start = debug_seconds();
	struct control reply;
	uint64_t bytes = 0;
	int ret;

	do {
		ret = command_send(job->debug.target, job->debug.root, request, &reply);
		if (interrupted && ret == -EINTR)
			return EXIT_OK;
		if (ret || reply.result)
			progress_end(progress);
		if (!ret && reply.result == -EOPNOTSUPP)
			return fail_thread(job);
		if (ret || reply.result)
			return command_report(job->debug.target, job->debug.root, request, ret,
					      &reply);
		job->done++;
		bytes += reply.value;
		show_progress(progress, job, bytes, start);
	} while (reply.more && job->done != job->steps && !interrupted);
	return EXIT_OK;
}

static int run_steps(struct defrag_job *job)
{
	struct command_request request = request_of(job);
	char argument[CONTROL_TEXT];
	struct progress progress;
	int status;

	command_new_sweep(argument);
	request.command = CONTROL_DEFRAG;
	request.argument = argument;
	request.value = job->budget_us;
	progress_start(&progress, COMMAND);
	status = send_steps(job, &request, &progress);
	progress_end(&progress);
	return status;
}

/*
 * What slabs take less than before. The counters of the process count each slab that was emptied,
 * also one that was filled with objects of others before.
 */
static unsigned long less(unsigned long before, unsigned long after)
{
	return before > after ? before - after : 0;
}

static void print_cache(const struct snapshot_cache *before, const struct snapshot_cache *after)
{
	char text[UTIL_SIZE_TEXT];

	printf("%-21s %10lu %10lu %10lu %10lu %10s\n", before->name, before->slabs, after->slabs,
	       after->defrag_moved - before->defrag_moved,
	       after->defrag_refused - before->defrag_refused,
	       util_size(text, sizeof(text), less(before->slab_bytes, after->slab_bytes)));
}

static void print_result(const struct defrag_job *job, double seconds)
{
	const struct snapshot *s = job->debug.before;
	unsigned long before_bytes = 0, after_bytes = 0;
	char text[UTIL_SIZE_TEXT];

	printf("%-21s %10s %10s %10s %10s %10s\n", "Name", "Slabs", "Now", "Moved", "Refused",
	       "Back");
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *before = &s->cache[i];
		const struct snapshot_cache *after;

		if (!is_meant(job, before))
			continue;
		after = pattern_same(job->debug.after, before);
		if (!after)
			continue;
		before_bytes += before->slab_bytes;
		after_bytes += after->slab_bytes;
		print_cache(before, after);
	}
	printf("%s of process %d (%s) given back",
	       util_size(text, sizeof(text), less(before_bytes, after_bytes)),
	       (int)job->debug.source.pid, job->debug.target->program);
	printf(", of %s, in %lu step%s and %.1f ms%s\n",
	       util_size(text, sizeof(text), before_bytes), job->done, job->done == 1 ? "" : "s",
	       seconds * 1000, interrupted ? "; interrupted" : "");
}

static int perform(struct defrag_job *job)
{
	struct debug_job *debug = &job->debug;
	const struct source_options *source = &debug->source;
	int status = target_snapshot(debug->target, source->library, debug->before, &debug->root);
	double start = debug_seconds();

	if (status == EXIT_OK)
		status = debug_check_patterns(debug);
	if (status == EXIT_OK)
		status = check_caches(job);
	if (status == EXIT_OK && job->ratio != ULONG_MAX)
		status = set_ratio(job);
	if (status == EXIT_OK) {
		warn_debugged(job);
		catch_signals();
		status = run_steps(job);
	}
	start = debug_seconds() - start;
	if (status == EXIT_OK)
		status = debug_again(debug);
	if (status == EXIT_OK)
		print_result(job, start);
	return status;
}

int cmd_defrag(int argc, char **argv)
{
	struct defrag_job job = { .debug = { .source.command = COMMAND },
				  .budget_us = BUDGET_US,
				  .ratio = ULONG_MAX };
	int status = options_take(&options, &job, argc, argv);

	if (status >= 0)
		return status;
	status = debug_open(&job.debug, COMMAND);
	if (status == EXIT_OK)
		status = perform(&job);
	debug_close(&job.debug);
	status = util_finish(COMMAND, status);
	if (interrupted)
		end_by_signal();
	return status;
}
