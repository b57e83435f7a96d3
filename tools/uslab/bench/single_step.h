/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/single_step.h - another process runs under ptrace, one instruction at a time
 *
 * That counts what the CPU really executes, on any machine: hardware counters are missing in most
 * virtual ones, and valgrind, which can count, knows no rseq. The process asks to be traced
 * (PTRACE_TRACEME), starts its program, and raises SIGUSR1 at marks, which it never gets to see.
 */
#ifndef TOOLS_SINGLE_STEP_H
#define TOOLS_SINGLE_STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tracee {
	pid_t pid;
	bool started;	  /* private, like all below but status */
	int signal;	  /* that the process has yet to handle, or 0 */
	uint64_t rseq_cs; /* address of the field in the process, 0: no rseq there */
	int status;	  /* as waitpid() gave it last */
};

/* Lets it run up to the next mark. False: it is gone. */
bool step_run_to_mark(struct tracee *t);

/*
 * One instruction. The signal that stopped it then: SIGTRAP; SIGUSR1 at a mark; any other one,
 * which it handles when it runs on; -1: gone.
 */
int step_once(struct tracee *t);

/* Ends it, wherever it is. */
void step_kill(const struct tracee *t);

#endif /* TOOLS_SINGLE_STEP_H */
