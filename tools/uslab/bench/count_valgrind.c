/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/count_valgrind.c - instructions per pair, by callgrind
 *
 * Flow:       called by cmd_bench.c; calls plan.c, run.c and count_step.c. In: entries[]; out:
 *             their counts.callgrind.
 *
 * A second count over many more pairs, which has rare work in it (a refill, a flush). Valgrind
 * registers no rseq: uslab's figure here is that of the path without.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util.h"

#define PAIRS 100000
#define WARM_UP 256 /* more that the worker does: COUNT_WARM_UP of bench/harness.h */
#define LOG_FD 3    /* where valgrind writes, apart from the worker's own output */

/* Reads valgrind's messages. Returns the instructions it collected, or -1. */
static double read_collected(int fd)
{
	FILE *log = fdopen(fd, "r");
	double collected = -1;
	char line[512];

	if (!log) {
		close(fd);
		return -1;
	}
	while (fgets(line, sizeof(line), log)) {
		char *at = strstr(line, "Collected :");

		if (at)
			collected = strtod(at + strlen("Collected :"), NULL);
	}
	fclose(log);
	return collected;
}

/* All instructions inside of the loops of a worker that does PAIRS pairs; -1: it failed. */
static double collect(const struct session *s, const struct entry *e)
{
	static const char *const tool[] = { "valgrind",
					    "--tool=callgrind",
					    "--toggle-collect=*_pairs",
					    "--callgrind-out-file=/dev/null",
					    "--log-fd=3",
					    NULL };
	struct entry_args args = { "count", PAIRS, 0 };
	int fds[2], status;
	double collected;
	pid_t pid;

	if (pipe(fds))
		return -1;
	pid = util_fork();
	if (pid == 0) {
		if (fds[1] != LOG_FD) {
			dup2(fds[1], LOG_FD);
			close(fds[1]);
		}
		if (fds[0] != LOG_FD)
			close(fds[0]);
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		exec_worker(s, e, &args, tool);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -1;
	}
	collected = read_collected(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? collected : -1;
}

static bool have_valgrind(void)
{
	return system("command -v valgrind >/dev/null 2>&1") == 0;
}

void count_by_valgrind(struct session *s)
{
	struct entry loop;
	struct progress progress;
	double own;

	if (!have_valgrind()) {
		count_note(s, "valgrind is not installed: no counts by callgrind");
		return;
	}
	own = plan_loop(s, &loop) ? collect(s, &loop) : -1;
	if (own < 0) {
		count_note(s, "callgrind cannot run the worker");
		return;
	}
	progress_start(&progress, COMMAND);
	for (size_t i = 0; i < s->nr; i++) {
		struct entry *e = &s->entries[i];
		double all;

		progress_show(&progress, "%s: callgrind, %s", s->benchmark->name, e->who->name);
		all = collect(s, e);
		if (all >= 0)
			e->counts.callgrind = (all - own) / (PAIRS + WARM_UP);
		else
			count_note(s, "callgrind cannot run %s", e->who->name);
	}
	progress_end(&progress);
}
