/* SPDX-License-Identifier: MIT */
/*
 * os/memory/readable.h - memory that may not be there, or go away while it is read
 *
 * Data:       os_filtered, const from os_filter_init() on.
 * Invariants: no allocation; errno is preserved.
 * Locks:      none; safe in a signal handler.
 * Flow:       called by fault.c, debug/report/symbol_names.c and os/; calls rt_sigprocmask(2),
 *             process_vm_readv(2) or, with a filter of system calls from the start, pread(2).
 */
#ifndef OS_READABLE_H
#define OS_READABLE_H

#include "base/compiler.h"

/* There was a filter of system calls at the start, or maybe one: see os/process/filter.h. */
extern bool os_filtered;

/* Can the page be read just now? The address is aligned to 8. */
bool os_readable_page(uintptr_t address);

/* A copy of size bytes. false: not all of them are there. */
bool os_readable_copy(void *to, const void *from, size_t size);

#endif /* OS_READABLE_H */
