/* SPDX-License-Identifier: MIT */
/*
 * os/instrument/valgrind.h - RUNNING_ON_VALGRIND, also where valgrind's headers are not there
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used by os/memory/readable.c, os/process/filter.c, malloc/malloc.c, malloc/align.c
 *             and malloc/resize.c: for system calls that valgrind does not know, or finds fault
 *             with, and for functions that it does not replace beside those that it does.
 */
#ifndef OS_VALGRIND_H
#define OS_VALGRIND_H

#if __has_include(<valgrind/valgrind.h>) && !defined(USLAB_NO_TOOL_HEADERS)
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#endif /* OS_VALGRIND_H */
