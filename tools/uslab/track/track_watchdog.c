/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_watchdog.c - a process that switches tracking off if this tool is killed
 *
 * Data:       a pipe between both.
 * Flow:       called by cmd_track.c and track_switch.c; calls track_switch.c and process/source.c
 *             in the child. In: indexes of caches, through the pipe; out: commands to the process.
 *
 * The child waits at a pipe that is closed when this tool ends. What is about to be switched on is
 * written there first, so that nothing stays on however early the tool is killed; when the tool has
 * switched all of it off it writes that there is nothing to do. A tool that could not switch it off
 * does not write that: the program may have been idle or stopped. The child is in a session of its
 * own: signals to the terminal's processes, or to all of a job, do not reach it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "track/track.h"
#include "util.h"

#define TRIES 60u /* each as long as a command waits */
#define NOTHING_TO_DO UINT32_MAX

struct note {
	uint32_t cache; /* index, or NOTHING_TO_DO */
	uint32_t sampled;
};

/* ---- the process ----------------------------------------------------------------------------- */

static void leave_the_terminal(void)
{
	static const int signals[] = { SIGINT, SIGHUP, SIGQUIT, SIGPIPE };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	/* who reads this command's output waits for its end */
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
		dup2(null, fd);
}

/* Reads until the other end is gone. false: nothing is to be done. */
static bool await_end(int fd, struct tracking *t, bool switched[TRACK_MAX_CACHES])
{
	struct note note;
	ssize_t n;

	for (;;) {
		n = read(fd, &note, sizeof(note));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(note))
			return true;
		if (note.cache >= t->nr_caches)
			return false;
		switched[note.cache] = true;
		t->cache[note.cache].sampled = note.sampled;
	}
}

_Noreturn static void watchdog(struct tracking *t, int fd)
{
	bool switched[TRACK_MAX_CACHES] = { false };

	leave_the_terminal();
	if (!await_end(fd, t, switched))
		_exit(EXIT_OK);
	for (unsigned int i = 0; i < TRIES && !source_end(&t->source); i++) {
		for (unsigned int k = 0; k < t->nr_caches; k++)
			t->cache[k].switched = switched[k];
		if (source_snapshot(&t->source, t->snapshot) == EXIT_OK &&
		    track_switch_off(t, false) == EXIT_OK)
			break;
		sleep(1);
	}
	_exit(EXIT_OK);
}

/* ---- this process ---------------------------------------------------------------------------- */

static void warn_alone(const struct tracking *t)
{
	util_warn(t->options->command,
		  "no second process could be started (%s): if this one is killed, tracking stays "
		  "on",
		  strerror(errno));
}

void track_watchdog_start(struct tracking *t)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC)) {
		warn_alone(t);
		return;
	}
	child = fork();
	if (!child) {
		close(ends[1]);
		watchdog(t, ends[0]);
	}
	if (child < 0) {
		warn_alone(t);
		close(ends[1]);
	} else {
		t->watchdog = child;
		t->watchdog_fd = ends[1];
	}
	close(ends[0]);
}

static void send_note(const struct tracking *t, struct note note)
{
	ssize_t n;

	do {
		n = t->watchdog ? write(t->watchdog_fd, &note, sizeof(note)) : 0;
	} while (n < 0 && errno == EINTR);
}

void track_watchdog_note(const struct tracking *t, unsigned int cache)
{
	send_note(t, (struct note){ cache, t->cache[cache].sampled });
}

void track_watchdog_end(struct tracking *t)
{
	if (!t->watchdog)
		return;
	send_note(t, (struct note){ NOTHING_TO_DO, 0 });
	close(t->watchdog_fd);
	while (waitpid(t->watchdog, NULL, 0) < 0 && errno == EINTR)
		;
	t->watchdog = 0;
}

bool track_watchdog_leave(struct tracking *t)
{
	if (!t->watchdog)
		return false;
	close(t->watchdog_fd);
	t->watchdog = 0;
	return true;
}
