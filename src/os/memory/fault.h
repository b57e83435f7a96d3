/* SPDX-License-Identifier: MIT */
/*
 * os/memory/fault.h - accesses to memory that may not be accessed (SIGSEGV), before
 * the program gets them
 *
 * Data:       our function, and the program's action for the signal.
 * Invariants: what is not ours reaches the program's handler, or the default action, as if we were
 *             not there: with the same arguments and the signal mask that it asked for, on the
 *             alternate stack if there is one.
 * Locks:      none.
 * Flow:       called by debug/kfence/kfence_fault.c; calls sigaction(2).
 *
 * A program that sets a handler later takes ours away, until os_fault_install() is called again:
 * then the program's comes behind ours. Handlers that call the one before them get to the one
 * that was there before both.
 */
#ifndef OS_FAULT_H
#define OS_FAULT_H

#include "base/compiler.h"

struct os_fault {
	char *address;
	uintptr_t pc; /* of the instruction; 0: unknown */
	bool write;   /* false: a read, or unknown */
	bool fetch;   /* the instruction itself: somebody jumped there */
	/* fetch: what lies on top of the stack, where a call came from; 0: unknown */
	uintptr_t returns_to;
};

/*
 * true: the access may be tried again. false: the program's handler, or the default action.
 * Runs in a signal handler.
 */
typedef bool (*os_fault_function)(const struct os_fault *fault);

/* fn is called for faults by protection from now on; always the same function. 0 or -errno. */
int os_fault_install(os_fault_function fn);

#endif /* OS_FAULT_H */
