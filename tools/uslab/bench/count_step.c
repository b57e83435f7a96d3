/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/count_step.c - instructions per pair, by single steps
 *
 * Flow:       called by cmd_bench.c, and for the note on failures by count_valgrind.c and
 *             count_longest.c; calls plan.c, run.c and single_step.c. In: entries[]; out: their
 *             counts.stepped and counts.in_library.
 *
 * The worker is stepped (single_step.h) through a number of pairs; then once more through a larger
 * number. The difference is what the additional pairs took and nothing else.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/single_step.h"
#include "../util.h"

#define PAIRS_FEW 16
#define PAIRS_MORE 96	  /* beyond the few */
#define PAIRS_QUICK 16	  /* the same, in a hurry */
#define MAX_STEPS 2000000 /* a run that takes more has lost its way */

struct code {
	uint64_t start, end; /* the worker's own instructions */
};

/* Where the worker's own instructions lie, PLT included. */
static bool find_code(const struct tracee *t, const char *worker, struct code *code)
{
	char path[PATH_MAX], name[64], line[PATH_MAX + 128];
	unsigned long start, end;
	FILE *maps;
	int at;

	if (!realpath(worker, path))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)t->pid);
	maps = fopen(name, "re");
	if (!maps)
		return false;
	code->end = 0;
	while (fgets(line, sizeof(line), maps)) {
		at = 0; /* stays so for a mapping without x */
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %*1[r-]%*1[w-]x%*1[ps] %*s %*s %*s %n", &start, &end,
			   &at) == 2 &&
		    at && !strcmp(line + at, path)) {
			code->start = start;
			code->end = end;
		}
	}
	fclose(maps);
	return code->end;
}

/* Steps from mark to mark. */
static bool step_to_mark(struct tracee *t, const struct code *code, uint64_t *steps,
			 uint64_t *outside)
{
	*steps = *outside = 0;
	for (;;) {
		struct ptrace_syscall_info info;
		int signal;

		if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) <= 0)
			return false;
		signal = step_once(t);
		if (signal == SIGUSR1)
			return true;
		if (signal != SIGTRAP || ++*steps > MAX_STEPS)
			return false;
		*outside += info.instruction_pointer < code->start ||
			    info.instruction_pointer >= code->end;
	}
}

/* One worker, count pairs. */
static bool step_pairs(const struct session *s, const struct entry *e, uint64_t count,
		       uint64_t *steps, uint64_t *outside)
{
	struct tracee t = { .pid = util_fork() };
	struct code code;
	bool ok;

	if (t.pid < 0)
		return false;
	if (t.pid == 0) {
		struct entry_args args = { "count", count, 0 };
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		exec_worker(s, e, &args, NULL);
	}
	ok = step_run_to_mark(&t) && find_code(&t, e->worker_path, &code) &&
	     step_to_mark(&t, &code, steps, outside);
	step_kill(&t);
	return ok;
}

/* Instructions per additional pair, and those of them outside of the worker. */
static bool step_entry(const struct session *s, const struct entry *e, double *all, double *outside)
{
	uint64_t more = s->options.quick ? PAIRS_QUICK : PAIRS_MORE;
	uint64_t steps[2], out[2];

	if (!step_pairs(s, e, PAIRS_FEW, &steps[0], &out[0]) ||
	    !step_pairs(s, e, PAIRS_FEW + more, &steps[1], &out[1]) || steps[1] < steps[0] ||
	    out[1] < out[0])
		return false;
	*all = (double)(steps[1] - steps[0]) / (double)more;
	*outside = (double)(out[1] - out[0]) / (double)more;
	return true;
}

void count_note(struct session *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->count_note, sizeof(s->count_note), format, args);
	va_end(args);
}

void count_by_steps(struct session *s)
{
	struct entry loop;
	struct progress progress;
	double own, none;

	/* What the loop itself takes is measured as well, not assumed. */
	if (!plan_loop(s, &loop) || !step_entry(s, &loop, &own, &none)) {
		count_note(s, "single steps are not possible here (ptrace); not counted");
		return;
	}
	progress_start(&progress, COMMAND);
	for (size_t i = 0; i < s->nr; i++) {
		struct entry *e = &s->entries[i];
		struct counts *c = &e->counts;

		progress_show(&progress, "%s: single steps, %s", s->benchmark->name, e->who->name);
		if (step_entry(s, e, &c->stepped, &c->in_library))
			c->stepped -= own;
		else
			count_note(s, "%s cannot be single-stepped", e->who->name);
	}
	progress_end(&progress);
}
