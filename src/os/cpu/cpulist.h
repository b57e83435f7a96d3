/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/cpulist.h - the kernel's list format, "0-3,8,10-11"
 *
 * Data:       none: a reader of text, with the position kept by the caller.
 * Invariants: first <= last in every range; no allocation.
 * Locks:      none.
 * Flow:       called by cpu.c and nodes.c on the text of files in /sys/devices/system, and by
 *             os/memory/policy.c on options.
 */
#ifndef OS_CPULIST_H
#define OS_CPULIST_H

#include "base/compiler.h"

/*
 * Reads the next range of numbers and moves *text behind it. Returns 1 with *first and *last set,
 * 0 at the end (NUL or newline), -EINVAL for anything else (*text then stays where it was).
 */
int os_cpulist_next(const char **text, unsigned int *first, unsigned int *last);

/* Highest number and how many there are. 0, or -EINVAL for a malformed or empty list. */
int os_cpulist_measure(const char *text, unsigned int *highest, unsigned int *count);

#endif /* OS_CPULIST_H */
