/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/cmd_defrag.c - `uslab defrag`: has a running program move objects, so that memory
 * comes back
 *
 * Why:        docs/adr/0060.
 * Flow:       called by main.c; calls options.c, process/source.c and target.c for the process,
 *             command.c and command_messages.c for the commands. In: options; out: commands in the
 *             mailbox, step by step until there is no more to do, and a table of what came back:
 *             the difference of two snapshots.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/debug_job.h"
#include "options.h"
#include "pattern.h"
#include "util.h"

#define COMMAND "defrag"
#define BUDGET_US 10000

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
		return util_usage_error(COMMAND, "which process? Use -p PID");
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
			 "objects of no %scache of process %d (%s) move; the program has to call "
			 "uslab_cache_set_move()",
			 job->debug.named ? "such " : "", (int)job->debug.source.pid,
			 job->debug.target->program);
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

static int run_steps(struct defrag_job *job)
{
	struct command_request request = request_of(job);
	char argument[CONTROL_TEXT];
	struct control reply;
	int ret;

	command_new_sweep(argument);
	request.command = CONTROL_DEFRAG;
	request.argument = argument;
	request.value = job->budget_us;
	do {
		ret = command_send(job->debug.target, job->debug.root, &request, &reply);
		if (!ret && reply.result == -EOPNOTSUPP)
			return fail_thread(job);
		if (ret || reply.result)
			return command_report(job->debug.target, job->debug.root, &request, ret,
					      &reply);
		job->done++;
	} while (reply.more && job->done != job->steps);
	return EXIT_OK;
}

static void print_result(const struct defrag_job *job, double seconds)
{
	const struct snapshot *s = job->debug.before;
	unsigned long bytes = 0, all = 0;
	char text[UTIL_SIZE_TEXT];

	printf("%-21s %10s %10s %10s %10s\n", "Name", "Slabs", "Now", "Moved", "Refused");
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *before = &s->cache[i];
		const struct snapshot_cache *after;

		if (!is_meant(job, before))
			continue;
		after = pattern_same(job->debug.after, before);
		if (!after)
			continue;
		all += before->slab_bytes;
		bytes += after->defrag_bytes - before->defrag_bytes;
		printf("%-21s %10lu %10lu %10lu %10lu\n", before->name, before->slabs, after->slabs,
		       after->defrag_moved - before->defrag_moved,
		       after->defrag_refused - before->defrag_refused);
	}
	printf("%s of process %d (%s) given back", util_size(text, sizeof(text), bytes),
	       (int)job->debug.source.pid, job->debug.target->program);
	printf(", of %s, in %lu step%s and %.1f ms\n", util_size(text, sizeof(text), all),
	       job->done, job->done == 1 ? "" : "s", seconds * 1000);
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
	if (status == EXIT_OK)
		status = run_steps(job);
	start = debug_seconds() - start;
	if (status == EXIT_OK)
		status = debug_again(debug);
	if (status == EXIT_OK)
		print_result(job, start);
	return status;
}

int cmd_defrag(int argc, char **argv)
{
	struct defrag_job job = { .debug = { .source.command = COMMAND,
					     .wait_ms = COMMAND_WAIT_MS },
				  .budget_us = BUDGET_US,
				  .ratio = ULONG_MAX };
	int status = options_take(&options, &job, argc, argv);

	if (status >= 0)
		return status;
	status = debug_open(&job.debug, COMMAND);
	if (status == EXIT_OK)
		status = perform(&job);
	debug_close(&job.debug);
	return util_finish(COMMAND, status);
}
