/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/count_step.c - instructions per pair, by single steps
 *
 * The worker runs under ptrace and is stepped, one instruction at a time, through a number of
 * pairs; then once more through a larger number. The difference is what the additional pairs took
 * and nothing else. That counts what the CPU really executed, on any machine: hardware counters
 * are missing in most virtual ones, and valgrind, which can count, knows no rseq.
 *
 * Restartable sequences need one more thought. A stop under ptrace counts as an interruption, so
 * the kernel would send a stepped thread from the first instruction of its sequence back to the
 * start, for ever. Therefore, whenever the thread has armed a sequence (struct rseq.rseq_cs is
 * set), the tracer disarms it before the next step. The sequence then runs through as plain code,
 * with the same instructions; it stays correct because this thread is alone and bound to one CPU.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util.h"

#define PAIRS_FEW 16
#define PAIRS_MORE 96	  /* beyond the few */
#define PAIRS_QUICK 16	  /* the same, in a hurry */
#define MAX_STEPS 2000000 /* a run that takes more has lost its way */

struct tracee {
	pid_t pid;
	uint64_t rseq_cs;	       /* address of the field in the worker, 0: no rseq there */
	uint64_t code_start, code_end; /* the worker's own instructions */
};

/* Waits for the next stop. Returns its signal, or -1 if the worker is gone. */
static int wait_stop(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFSTOPPED(status) ? WSTOPSIG(status) : -1;
}

/* Lets it run up to the next SIGUSR1, which the worker never gets to see. */
static bool run_to_mark(pid_t pid)
{
	int signal = wait_stop(pid); /* the exec */

	while (signal >= 0 && signal != SIGUSR1) {
		if (ptrace(PTRACE_CONT, pid, NULL, signal == SIGTRAP ? 0 : signal))
			return false;
		signal = wait_stop(pid);
	}
	return signal == SIGUSR1;
}

static void find_rseq(struct tracee *t)
{
	struct ptrace_rseq_configuration c = { 0 };

	t->rseq_cs = 0;
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->pid, sizeof(c), &c) == sizeof(c) &&
	    c.rseq_abi_pointer)
		t->rseq_cs = c.rseq_abi_pointer + offsetof(struct rseq, rseq_cs);
}

/* Where the worker's own instructions lie, PLT included. */
static bool find_code(struct tracee *t, const char *worker)
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
	t->code_end = 0;
	while (fgets(line, sizeof(line), maps)) {
		at = 0; /* stays so for a mapping without x */
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx %*1[r-]%*1[w-]x%*1[ps] %*s %*s %*s %n", &start, &end,
			   &at) == 2 &&
		    at && !strcmp(line + at, path)) {
			t->code_start = start;
			t->code_end = end;
		}
	}
	fclose(maps);
	return t->code_end;
}

/* Takes the pending sequence, if any, out of the kernel's sight. */
static bool disarm(const struct tracee *t)
{
	if (!t->rseq_cs)
		return true;
	errno = 0;
	if (!ptrace(PTRACE_PEEKDATA, t->pid, t->rseq_cs, NULL))
		return !errno;
	return !ptrace(PTRACE_POKEDATA, t->pid, t->rseq_cs, NULL);
}

/* Steps from mark to mark. */
static bool step_to_mark(const struct tracee *t, uint64_t *steps, uint64_t *outside)
{
	*steps = *outside = 0;
	for (;;) {
		struct ptrace_syscall_info info;
		int signal;

		if (!disarm(t) ||
		    ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) <= 0 ||
		    ptrace(PTRACE_SINGLESTEP, t->pid, NULL, NULL))
			return false;
		signal = wait_stop(t->pid);
		if (signal == SIGUSR1)
			return true;
		if (signal != SIGTRAP || ++*steps > MAX_STEPS)
			return false;
		*outside += info.instruction_pointer < t->code_start ||
			    info.instruction_pointer >= t->code_end;
	}
}

/* One worker, count pairs. */
static bool step_pairs(const struct session *s, const struct entry *e, uint64_t count,
		       uint64_t *steps, uint64_t *outside)
{
	struct tracee t = { .pid = fork() };
	bool ok;

	if (t.pid < 0)
		return false;
	if (t.pid == 0) {
		struct entry_args args = { "count", count };
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		exec_worker(s, e, &args, NULL);
	}
	ok = run_to_mark(t.pid);
	if (ok) {
		find_rseq(&t);
		ok = find_code(&t, e->worker_path) && step_to_mark(&t, steps, outside);
	}
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
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
