/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/debug_capacity.c - `uslab debug --capacity`: how many objects CPUs' arrays hold
 *
 * Why:        docs/adr/0055.
 * Flow:       called by cmd_debug.c; calls command.c and command_messages.c for the command. In: a
 *             job; out: one command in the mailbox, and a table of what it changed: the difference
 *             of two snapshots.
 *
 * What a front cannot take is known before, by its name, so that a pattern changes all of its
 * caches that have arrays, or none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/debug_job.h"
#include "pattern.h"
#include "util.h"

#define COMMAND DEBUG_COMMAND

static const struct front_limits {
	const char *front;
	unsigned int min, max; /* 0, 0: no arrays */
} limits[] = {
	{ "array", 0, USLAB_SHEAF_CAPACITY },
	{ "queues", 1, CONTROL_CAPACITY_MAX },
	{ "sheaves", 1, CONTROL_CAPACITY_MAX },
	{ "sheaves:6.18", 1, CONTROL_CAPACITY_MAX },
	{ "cpuslab", 0, 0 },
	{ "none", 0, 0 },
	/* one that this tool does not know: the process decides */
	{ NULL, 0, UINT_MAX },
};

static const struct front_limits *limits_of(const struct snapshot_cache *c)
{
	const struct front_limits *l = limits;

	while (l->front && strcmp(l->front, c->front))
		l++;
	return l;
}

/* Rows that are no caches have none. */
static bool has_arrays(const struct snapshot_cache *c)
{
	return c->id && limits_of(c)->max;
}

static bool is_meant(const struct debug_job *job, const struct snapshot_cache *c)
{
	return debug_is_chosen(job, job->before, c) && has_arrays(c);
}

/* EXIT_OK, or a message: nothing can be changed, or a front cannot take that many. */
static int check_caches(const struct debug_job *job)
{
	const struct snapshot *s = job->before;
	unsigned int meant = 0;

	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];
		const struct front_limits *l = limits_of(c);

		if (!is_meant(job, c))
			continue;
		meant++;
		if (job->capacity != CONTROL_CAPACITY_BY_SIZE &&
		    (job->capacity < l->min || job->capacity > l->max))
			return util_fail(COMMAND,
					 "cache %s: an array of front %s holds 1 to %u objects%s; "
					 "nothing was changed",
					 c->name, c->front, l->max,
					 l->min ? "" : " (0: no arrays)");
	}
	return meant ? EXIT_OK
		     : util_fail(COMMAND,
				 "no such cache of process %d (%s) has arrays (front array, "
				 "queues or sheaves, see uslab info)",
				 (int)job->source.pid, job->target->program);
}

/* Caches without arrays among the others refuse, which is no error. */
static int send_some(struct debug_job *job, const char *argument, const char *const *pattern,
		     unsigned int nr)
{
	struct command_request request = {
		.command = CONTROL_SET,
		.argument = argument,
		.patterns = pattern,
		.nr_patterns = nr,
		.wait_ms = job->wait_ms,
	};
	struct control reply;
	int ret = command_send(job->target, job->root, &request, &reply);

	if (!ret && reply.matched && reply.result == -EOPNOTSUPP)
		return EXIT_OK;
	return command_report(job->target, job->root, &request, ret, &reply);
}

static int send_all(struct debug_job *job)
{
	char argument[CONTROL_TEXT];
	int status = EXIT_OK;
	unsigned int nr;

	snprintf(argument, sizeof(argument), "sheaf_capacity=%lu", job->capacity);
	for (unsigned int i = 0; i < job->nr_patterns && status == EXIT_OK; i += nr) {
		nr = command_fits(job->pattern + i, job->nr_patterns - i, false);
		status = send_some(job, argument, job->pattern + i, nr);
	}
	return status;
}

/* ---- what it changed ---- */

/* Caches to which the same happened share a line. */
struct change {
	unsigned int from, to;
	const struct snapshot_cache *first;
	unsigned int count;
};

static void add_change(struct change *all, unsigned int *nr, const struct change *change,
		       bool verbose)
{
	unsigned int i = verbose ? *nr : 0;

	while (i < *nr && (all[i].from != change->from || all[i].to != change->to))
		i++;
	if (i == *nr)
		all[(*nr)++] = *change;
	all[i].count++;
}

/* done: the command was carried out for those without a change, too. */
static unsigned int find_changes(const struct debug_job *job, bool done, struct change *all)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < job->before->nr_caches; i++) {
		const struct snapshot_cache *before = &job->before->cache[i];
		const struct snapshot_cache *after;

		if (!is_meant(job, before))
			continue;
		after = pattern_same(job->after, before);
		if (after && (done || before->capacity != after->capacity))
			add_change(all, &nr,
				   &(struct change){ before->capacity, after->capacity, before, 0 },
				   job->verbose);
	}
	return nr;
}

/* A cache with aliases is one cache: what its name gets, they get. */
static void print_change(const struct change *change)
{
	unsigned int refcount = change->first->refcount;

	if (change->count == 1)
		printf("%-21s ", change->first->name);
	else
		printf("%u caches%*s ", change->count, change->count < 10 ? 13 : 12, "");
	if (change->from == change->to)
		printf("%u, as before", change->to);
	else
		printf("%u -> %u", change->from, change->to);
	if (change->count == 1 && refcount > 1)
		printf("  (and its %u alias%s)", refcount - 1, refcount == 2 ? "" : "es");
	putchar('\n');
}

static void print_changes(const struct debug_job *job, bool done, struct change *all,
			  double seconds)
{
	unsigned int nr = find_changes(job, done, all);
	unsigned int changed = 0;

	if (!done && !nr)
		return;
	for (unsigned int i = 0; i < nr; i++) {
		print_change(&all[i]);
		if (all[i].from != all[i].to)
			changed += all[i].count;
	}
	printf("%u cache%s of process %d (%s) changed", changed, changed == 1 ? "" : "s",
	       (int)job->source.pid, job->target->program);
	if (!done)
		fputs(", and no more", stdout);
	else if (changed)
		printf(" in %.1f ms", seconds * 1000);
	putchar('\n');
}

int debug_set_capacity(struct debug_job *job)
{
	struct change *all = calloc(SNAPSHOT_MAX_CACHES, sizeof(*all));
	double start = debug_seconds();
	int status;
	bool done;

	if (!all)
		return util_fail(COMMAND, "out of memory");
	status = debug_check_patterns(job);
	if (status == EXIT_OK)
		status = check_caches(job);
	if (status != EXIT_OK) {
		free(all);
		return status;
	}
	done = send_all(job) == EXIT_OK;
	start = debug_seconds() - start;
	/* what was changed before something failed is shown as well */
	status = debug_again(job);
	if (status == EXIT_OK)
		print_changes(job, done, all, start);
	free(all);
	return done ? status : EXIT_FAILED;
}
