/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_stack.h - the part of this thread's own stack that is known to be there
 *
 * Data:       struct range.
 * Invariants: what is known stays readable for as long as this thread runs.
 * Locks:      none: one word per thread, so that a signal handler never sees half of it.
 * Flow:       called by os/unwind/unwind.c; calls os/memory/readable.c.
 */
#ifndef OS_UNWIND_STACK_H
#define OS_UNWIND_STACK_H

#include "base/compiler.h"

#define STACK_PAGE 4096ul /* or a part of the system's */

/* Whole pages. */
struct range {
	uintptr_t start;
	uintptr_t end;
};

/* Empty as long as nothing is known. */
struct range unwind_stack_known(void);

/*
 * The range is readable just now. It is known from now on if it is of the stack
 * that the thread began on.
 */
void unwind_stack_remember(struct range range);

#endif /* OS_UNWIND_STACK_H */
