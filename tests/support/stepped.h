/* SPDX-License-Identifier: MIT */
/*
 * support/stepped.h - a signal after every single instruction of a piece of code
 *
 * The trap flag of x86-64 is set: so SIGTRAP comes between any two instructions, and its handler,
 * which runs without the flag, does what a signal handler of a program might do. Nothing is left to
 * luck: a place where a signal is not borne is met each time.
 *
 * A signal ends a restartable sequence, so hits miss, and after some of them a thread has no
 * registration any more (front/percpu.h): to step through them code has to run without rseq.
 */
#ifndef SUPPORT_STEPPED_H
#define SUPPORT_STEPPED_H

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "child.h"

#if defined(__x86_64__)
#define STEPPED_CAN 1
#else
#define STEPPED_CAN 0
#endif

#define STEPPED_FLAG 0x100ul

static void (*stepped_handler)(unsigned long step);
static volatile unsigned long stepped_steps;

static void stepped_on_trap(int sig)
{
	(void)sig;
	stepped_handler(stepped_steps++);
}

static inline void stepped_set(bool on)
{
#if STEPPED_CAN
	/* the flags are pushed below what a leaf function may use */
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andq %0, (%%rsp)\n\t"
			 "orq %1, (%%rsp)\n\t"
			 "popfq\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 :
			 : "r"(~STEPPED_FLAG), "r"(on ? STEPPED_FLAG : 0ul)
			 : "memory", "cc");
#else
	(void)on;
#endif
}

/* Runs body(arg), handler after each instruction of it. Returns how many there were. */
static inline unsigned long stepped_run(void (*body)(void *arg), void *arg,
					void (*handler)(unsigned long step))
{
	struct sigaction action = { .sa_handler = stepped_on_trap };

	stepped_handler = handler;
	stepped_steps = 0;
	CHILD_CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
	stepped_set(true);
	body(arg);
	stepped_set(false);
	return stepped_steps;
}

/* Under valgrind and sanitizers signals come when it suits the tool. */
static inline bool stepped_is_possible(void)
{
	return STEPPED_CAN && bare_process();
}

#endif /* SUPPORT_STEPPED_H */
