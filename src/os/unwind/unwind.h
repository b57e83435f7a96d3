/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind.h - the call stack of this thread
 *
 * Why:        docs/adr/0013.
 * Data:       a table of unwind rules by code address, filled as they are needed, shared by all
 *             threads; for each thread the part of its stack that is known to be there.
 * Invariants: no allocation, no lock; safe in a signal handler. Never reads outside of this
 *             thread's stack, whatever frames look like.
 * Locks:      none: an entry of either is one word.
 * Flow:       called by cache/debug/failslab.c and debug/; calls os/unwind/unwind_cfi.c,
 *             os/memory/readable.c.
 *
 * Frames are followed by the unwind tables that every x86-64 program has (.eh_frame), also through
 * signal handlers and from alternate stacks; by frame pointers where there are none (code made at
 * run time, other CPUs, a libc without _dl_find_object(3)).
 */
#ifndef OS_UNWIND_H
#define OS_UNWIND_H

#include "base/compiler.h"

/*
 * Return addresses of this thread, innermost first, from the frame that returns to caller
 * outwards, so that the allocator's own frames are left out. Where caller is not on the stack
 * the answer is caller alone; caller NULL: everything from the caller of this function. Returns
 * how many, 1 .. max. What a signal interrupted is given one byte on, so that it can be looked
 * up as a call: address - 1.
 */
unsigned int os_unwind(const void *caller, uintptr_t *pcs, unsigned int max);

#endif /* OS_UNWIND_H */
