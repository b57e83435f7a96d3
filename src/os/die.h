/* SPDX-License-Identifier: MIT */
/*
 * os/die.h - the last words: one clear line on stderr, then abort
 *
 * Data:       none.
 * Invariants: nothing here allocates, locks or uses stdio; safe in a signal handler.
 * Locks:      none.
 * Flow:       called from every floor; calls write(2) and abort.
 */
#ifndef OS_DIE_H
#define OS_DIE_H

#include "base/assert.h"

/* printf subset for os_say and os_die_fmt: %s %d %u %x %p %lu %lx %zu %c %%; no widths. */

/* Writes one line "uslab: <text>\n" to stderr. Context: any. */
void os_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* os_say, then abort(). For a program's mistake (double free, foreign pointer). */
_Noreturn void os_die_fmt(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Formats into buf (always ends with NUL); returns the length that the whole text has. */
size_t os_format(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes all of buf to a descriptor, going on after EINTR. Returns 0 or -errno. */
int os_write(int fd, const void *buf, size_t len);

#endif /* OS_DIE_H */
