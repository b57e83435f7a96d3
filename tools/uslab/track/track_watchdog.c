/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_watchdog.c - a process that switches off what this one switched on,
 * should this one be killed
 *
 * It waits at a pipe that ends with this process. What is about to be switched on is written there
 * before, so that nothing stays on for want of a moment; at an orderly end it is told that there is
 * nothing to do. It is in a session of its own: what is meant for the terminal's processes, or for
 * all of a job, does not reach it.
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

_Noreturn static void guard(struct tracking *t, int fd)
{
	bool switched[TRACK_MAX_CACHES] = { false };

	leave_the_terminal();
	if (!await_end(fd, t, switched))
		_exit(EXIT_OK);
	for (unsigned int i = 0; i < TRIES && !source_gone(&t->source); i++) {
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

void track_guard_start(struct tracking *t)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	t->guard = fork();
	if (!t->guard) {
		close(ends[1]);
		guard(t, ends[0]);
	}
	close(ends[0]);
	t->guard_fd = ends[1];
	if (t->guard < 0)
		track_guard_end(t);
}

static void tell(const struct tracking *t, struct note note)
{
	ssize_t n;

	do {
		n = t->guard > 0 ? write(t->guard_fd, &note, sizeof(note)) : 0;
	} while (n < 0 && errno == EINTR);
}

void track_guard_note(const struct tracking *t, unsigned int cache)
{
	tell(t, (struct note){ cache, t->cache[cache].sampled });
}

void track_guard_end(struct tracking *t)
{
	if (!t->guard)
		return;
	tell(t, (struct note){ NOTHING_TO_DO, 0 });
	close(t->guard_fd);
	while (t->guard > 0 && waitpid(t->guard, NULL, 0) < 0 && errno == EINTR)
		;
	t->guard = 0;
}
