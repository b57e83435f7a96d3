/* SPDX-License-Identifier: MIT */
/*
 * os/unwind.h - the call stack of this thread
 *
 * Data:       a table of unwind rules by code address, filled as they are needed, shared by all threads.
 * Invariants: no allocation, no lock; safe in a signal handler. Never reads outside of this thread's
 *             stack, whatever frames look like.
 * Locks:      none: entries of the table are written and read with a sequence count.
 * Flow:       called by debug/; calls _dl_find_object(3) of libc.
 *
 * Frames are followed by the unwind tables that every x86-64 program has (.eh_frame), and by frame
 * pointers where there are none.
 */
#ifndef OS_UNWIND_H
#define OS_UNWIND_H

#include "base/compiler.h"

/*
 * Return addresses of this thread, innermost first, from the frame that returns to caller outwards, so
 * that the allocator's own frames are left out. Where caller is not on the stack the answer is caller
 * alone; caller NULL: everything from the caller of this function. Returns how many, 1 .. max.
 */
unsigned int os_unwind(const void *caller, uintptr_t *pcs, unsigned int max);

#endif /* OS_UNWIND_H */
