/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/command_messages.c - messages on what became of a command
 *
 * Flow:       called by command.c, cmd_debug.c, cmd_defrag.c, debug_capacity.c, debug_profiling.c,
 *             info/info_change.c and track/; calls command.c, process/live.c, and process/target.c
 *             for texts on permissions. In: what command_send() returned and the struct control;
 *             out: text on stderr and an exit status.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "process/live.h"
#include "util.h"

/* The letter of /proc/PID/stat that says what the process does; 0: unknown. */
static char process_state(pid_t pid)
{
	char path[LIVE_PATH], text[256] = "";
	const char *end;
	FILE *file;

	file = fopen(live_path(path, pid, "stat"), "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

bool command_finds_stopped(pid_t pid)
{
	char state = process_state(pid);

	return state == 'T' || state == 't';
}

static int fail_timeout(struct target *t, const struct target_root *root,
			const struct command_request *request)
{
	double seconds = (request->wait_ms ? request->wait_ms : COMMAND_WAIT_MS) / 1000.0;
	struct uslab_root found = { .kick = 0 };
	const char *lacks = command_lacks_thread(t, root);
	static const char advice[] = " Started with USLAB_CONF=control=100 it polls by itself";

	if (command_finds_stopped(t->pid))
		return util_fail(t->command, "process %d (%s) is stopped and takes no command",
				 (int)t->pid, t->program);
	if (!reader_read(&t->remote.reader, root->address, &found, sizeof(found)) && found.kick)
		return util_fail(t->command,
				 "process %d (%s) did not call malloc within %g s; nothing was "
				 "changed%s%s",
				 (int)t->pid, t->program, seconds, lacks ? "; " : ".",
				 lacks ? lacks : advice);
	return util_fail(t->command,
			 "process %d (%s) did not reach the library's slow paths within %g s; "
			 "nothing was changed%s%s",
			 (int)t->pid, t->program, seconds, lacks ? "; " : ".",
			 lacks ? lacks : advice);
}

int command_fail_filtered(const struct target *t, const struct target_root *root)
{
	static const char calls[] =
		"membarrier, mmap, munmap, madvise, mprotect, futex and those in uslab-debug(1)";
	enum filtered filtered = command_filtered(t, root);

	if (filtered < FILTERED_UNKNOWN)
		return util_fail(
			t->command,
			"whether process %d (%s) has a seccomp filter, which may end it for "
			"a command, cannot be read: too few file descriptors (ulimit -n), "
			"memory or permissions. Try again, or use --force",
			(int)t->pid, t->program);
	if (filtered == FILTERED_ENDS)
		return util_fail(t->command,
				 "process %d (%s) has a seccomp filter that ends it for one of the "
				 "system calls that a command takes: %s. Start it under one that "
				 "allows or merely denies them",
				 (int)t->pid, t->program, calls);
	return util_fail(
		t->command,
		"process %d (%s) has a seccomp filter that %s, and that may end it for "
		"system calls that a command takes: %s. If it allows or merely denies "
		"them, use --force",
		(int)t->pid, t->program,
		filtered == FILTERED_UNKNOWN
			? "it may have added after its start (how many it had then is "
			  "not known, as with kernels before 5.9, or where it could make no "
			  "child: ulimit -u, or a container's limit of processes)"
			: "it added after its start",
		calls);
}

/* The name of a command's caches in messages. */
static const char *name_of(const struct command_request *request)
{
	if (request->pattern)
		return request->pattern;
	return request->nr_patterns == 1 ? request->patterns[0] : "one of these";
}

static int fail_send(struct target *t, const struct target_root *root,
		     const struct command_request *request, int error)
{
	char text[256];

	switch (error) {
	case -ETIMEDOUT:
		return fail_timeout(t, root, request);
	case -EINTR:
		return util_fail(t->command,
				 "interrupted before process %d (%s) took the command; nothing was "
				 "changed",
				 (int)t->pid, t->program);
	case -ESRCH:
		return util_fail(t->command,
				 "process %d (%s) has ended, or is another program by now",
				 (int)t->pid, t->program);
	case -ECANCELED:
		return command_fail_filtered(t, root);
	case -EBUSY:
		return util_fail(t->command,
				 "process %d (%s) is still busy with a command of another tool",
				 (int)t->pid, t->program);
	case -EINPROGRESS:
		return util_fail(t->command,
				 "process %d (%s) is carrying it out, has not finished, and goes "
				 "on: see 'uslab info -p %d' later",
				 (int)t->pid, t->program, (int)t->pid);
	case -EPERM:
	case -EACCES:
		target_permission_text(text, sizeof(text), "/proc/sys/kernel/yama/ptrace_scope");
		return util_fail(t->command, "no permission to write to process %d: %s",
				 (int)t->pid, text);
	case -EOPNOTSUPP:
		return util_fail(t->command, "the uslab in process %d (%s) takes no commands",
				 (int)t->pid, t->program);
	case -EPROTO:
	case -EFAULT:
		return util_fail(t->command,
				 "process %d (%s) changed meanwhile (a new program?); try again",
				 (int)t->pid, t->program);
	case -ENAMETOOLONG:
		return util_fail(t->command, "'%s' is longer than %d bytes", name_of(request),
				 CONTROL_PATTERNS - 2);
	default:
		return util_fail(t->command, "cannot write to process %d: %s", (int)t->pid,
				 strerror(-error));
	}
}

/* The reason why a cache refused. */
static const char *result_text(int32_t result)
{
	switch (result) {
	case -E2BIG:
		return "its objects with their red zones and tracks fit no slab";
	case -EOPNOTSUPP:
		return "it cannot do that";
	case -EINVAL:
		return "not for a cache in its state";
	case -EBUSY:
		return "one of its CPUs cannot be reached (without membarrier(2)); nothing was "
		       "changed";
	default:
		return strerror(result < 0 && result > INT32_MIN ? -result : result);
	}
}

int command_report(struct target *t, const struct target_root *root,
		   const struct command_request *request, int error, const struct control *reply)
{
	if (error)
		return fail_send(t, root, request, error);
	if (!reply->matched && *name_of(request))
		return util_fail(t->command, "process %d (%s) has no cache '%s'", (int)t->pid,
				 t->program, name_of(request));
	if (reply->result) {
		const char *name = reply->failed_name[0] ? reply->failed_name : name_of(request);
		char more[48] = "";

		if (reply->failed > 1)
			snprintf(more, sizeof(more), " and %u more", reply->failed - 1);
		return util_fail(t->command, "cache %s%s: %s", name, more,
				 result_text(reply->result));
	}
	return EXIT_OK;
}

int command_perform(struct target *t, const struct target_root *root,
		    const struct command_request *request, struct control *reply)
{
	int ret = command_send(t, root, request, reply);

	return command_report(t, root, request, ret, reply);
}

int command_prepare(struct target *t, const struct target_root *root, unsigned int wait_ms,
		    bool *made)
{
	const struct command_request request = {
		.command = CONTROL_NOTHING,
		.pattern = "",
		.wait_ms = wait_ms,
	};
	struct control reply;

	*made = command_makes_caches(t, root);
	return *made ? command_perform(t, root, &request, &reply) : EXIT_OK;
}
