/* SPDX-License-Identifier: MIT */
/*
 * os/process/die.h - the end of the process: one clear line on stderr, then abort
 *
 * Data:       none.
 * Invariants: nothing here allocates, locks or uses stdio; safe in a signal handler.
 * Locks:      none.
 * Flow:       called by api/cache_api.c, engine/mistake.c, malloc/cxx.c and lock.c; calls
 *             os/process/say.h and abort.
 */
#ifndef OS_DIE_H
#define OS_DIE_H

#include "base/assert.h"
#include "os/process/say.h"

/* os_say, then abort(). For a program's mistake (double free, foreign pointer). */
_Noreturn void os_die_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* OS_DIE_H */
