/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/single_step.c - another process runs under ptrace, one instruction at a time
 *
 * Flow:       called by count_step.c, count_longest.c and compare/compare_job.c. In: a child that
 *             asked to be traced; out: one stop after the other.
 *
 * Restartable sequences need care. A stop under ptrace counts as an interruption, so the kernel
 * would send a stepped thread from the first instruction of its sequence back to the start, for
 * ever. Therefore, whenever the thread has armed a sequence (struct rseq.rseq_cs is set), the
 * tracer disarms it before the next step. The sequence then runs through as plain code, with the
 * same instructions; it stays correct when this thread is alone and bound to one CPU.
 */
#define _GNU_SOURCE
#include "bench/single_step.h"

#include <errno.h>
#include <linux/rseq.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/wait.h>

/* Waits for the next stop. Returns its signal, or -1 if the process is gone. */
static int wait_stop(struct tracee *t)
{
	while (waitpid(t->pid, &t->status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFSTOPPED(t->status) ? WSTOPSIG(t->status) : -1;
}

static void find_rseq(struct tracee *t)
{
	struct ptrace_rseq_configuration c = { 0 };

	t->rseq_cs = 0;
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->pid, sizeof(c), &c) == sizeof(c) &&
	    c.rseq_abi_pointer)
		t->rseq_cs = c.rseq_abi_pointer + offsetof(struct rseq, rseq_cs);
}

bool step_run_to_mark(struct tracee *t)
{
	bool at_exec = !t->started;
	int signal;

	t->started = true;
	for (;;) {
		if (!at_exec && ptrace(PTRACE_CONT, t->pid, NULL, t->signal))
			return false;
		signal = wait_stop(t);
		if (signal < 0 || signal == SIGUSR1)
			break;
		t->signal = signal == SIGTRAP ? 0 : signal;
		at_exec = false;
	}
	t->signal = 0;
	if (signal == SIGUSR1 && !t->rseq_cs)
		find_rseq(t);
	return signal == SIGUSR1;
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

int step_once(struct tracee *t)
{
	int signal;

	if (!disarm(t) || ptrace(PTRACE_SINGLESTEP, t->pid, NULL, t->signal))
		return -1;
	signal = wait_stop(t);
	t->signal = signal == SIGTRAP || signal == SIGUSR1 || signal < 0 ? 0 : signal;
	return signal;
}

void step_kill(const struct tracee *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
}
