/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/count_longest.c - instructions of the longest calls of the latency benchmark
 *
 * Flow:       called by cmd_bench.c; calls run.c, count_step.c for the note on failures, and
 *             single_step.c. In: entries[]; out: their counts.longest.
 *
 * The worker makes its passes at full speed and then the same calls once more, where it raises
 * SIGUSR1 before and after those that took longest in all passes. Only these are stepped: first
 * a pair of marks with nothing between them, which is what a pair of marks takes by itself.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "bench/single_step.h"
#include "../util.h"

#define LONGEST_CALLS 16
#define LONGEST_QUICK 2
#define MAX_STEPS 1000000 /* a call that takes more has lost its way */

/* Steps from here to the next mark; negative: there is none. */
static long steps_to_mark(struct tracee *t)
{
	for (long steps = 0; steps < MAX_STEPS; steps++) {
		int signal = step_once(t);

		if (signal == SIGUSR1)
			return steps;
		if (signal != SIGTRAP)
			return -1;
	}
	return -1;
}

static void start_worker(const struct session *s, const struct entry *e)
{
	struct entry_args args = { s->benchmark->modes[0], s->options.ops,
				   s->options.quick ? LONGEST_QUICK : LONGEST_CALLS };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	dup2(null, STDOUT_FILENO);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	exec_worker(s, e, &args, NULL);
}

/* The most that one of the marked calls takes; negative: not counted. */
static double count_entry(const struct session *s, const struct entry *e)
{
	struct tracee t = { .pid = util_fork() };
	long none, most = -1;

	if (t.pid < 0)
		return -1;
	if (t.pid == 0)
		start_worker(s, e);
	none = step_run_to_mark(&t) ? steps_to_mark(&t) : -1;
	while (none >= 0 && step_run_to_mark(&t)) {
		long steps = steps_to_mark(&t);

		if (steps < 0) {
			most = -1;
			break;
		}
		if (steps - none > most)
			most = steps - none;
	}
	step_kill(&t);
	return (double)most;
}

void count_longest(struct session *s)
{
	struct progress progress;

	progress_start(&progress, COMMAND);
	for (size_t i = 0; i < s->nr; i++) {
		struct entry *e = &s->entries[i];

		progress_show(&progress, "%s: single steps, %s", s->benchmark->name, e->who->name);
		e->counts.longest = count_entry(s, e);
		if (e->counts.longest < 0)
			count_note(s, "%s cannot be single-stepped", e->who->name);
	}
	progress_end(&progress);
}
