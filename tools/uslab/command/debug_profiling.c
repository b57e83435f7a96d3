/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/debug_profiling.c - `uslab debug --mem-profiling`: allocation profiling, off and on
 *
 * Flow:       called by cmd_debug.c; calls command.c and command_messages.c for the command,
 *             cmd_debug.c for a snapshot after it, inspect/allocinfo.c for call sites. In: a job;
 *             out: a command in the mailbox, and what came of it.
 *
 * Only tags that the compiler put into the program are counted. A program without any would look
 * as one that allocates nothing, so there it is an error, and nothing stays switched on.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/debug_job.h"
#include "inspect/allocinfo.h"
#include "util.h"

static const char *refused(long result)
{
	switch (result) {
	case -EPERM:
		return "it was started with mem_profiling=never";
	case -EOVERFLOW:
		return "profiling was switched on as often as it can be, 65535 times";
	default:
		return strerror((int)-result);
	}
}

/* It is of the whole process. */
static int send(struct debug_job *job, bool on)
{
	const struct command_request request = {
		.command = CONTROL_PROFILE,
		.pattern = "",
		.value = on,
		.wait_ms = job->wait_ms,
	};
	struct control reply;
	int ret = command_send(job->target, job->root, &request, &reply);

	if (ret)
		return command_report(job->target, job->root, &request, ret, &reply);
	if (reply.result)
		return util_fail(DEBUG_COMMAND, "process %d (%s): %s", (int)job->source.pid,
				 job->target->program, refused(reply.result));
	return EXIT_OK;
}

/* Plug-ins may come with tags later: where it was on before, it stays on for these. */
static int fail_without_sites(struct debug_job *job, bool was_on)
{
	if (!was_on && send(job, false) != EXIT_OK)
		return EXIT_FAILED;
	return util_fail(DEBUG_COMMAND,
			 "process %d (%s) has no call sites that can be counted: nothing in it is "
			 "compiled with -DUSLAB_MEM_ALLOC_PROFILING. Profiling %s. To see which "
			 "lines hold memory in any program: uslab track -p %d",
			 (int)job->source.pid, job->target->program,
			 was_on ? "stays on, as it was" : "is off again", (int)job->source.pid);
}

int debug_switch_profiling(struct debug_job *job)
{
	struct allocinfo before, after;
	int status;

	allocinfo_read(job->before, &before); /* where nothing was read it was off */
	status = send(job, job->profiling);
	if (status == EXIT_OK && job->profiling) {
		status = debug_again(job);
		if (status == EXIT_OK && allocinfo_read(job->after, &after) && !after.sites)
			status = fail_without_sites(job, before.on);
	}
	if (status == EXIT_OK)
		printf("allocation profiling of process %d (%s) is %s\n", (int)job->source.pid,
		       job->target->program, job->profiling ? "on" : "off");
	return status;
}
