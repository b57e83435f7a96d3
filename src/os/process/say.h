/* SPDX-License-Identifier: MIT */
/*
 * os/process/say.h - text without stdio: formatted, written whole, one line on stderr
 *
 * Data:       whether there is a stderr.
 * Invariants: nothing here allocates, locks or uses stdio; safe in a signal handler.
 * Locks:      none.
 * Flow:       called by every floor; calls write(2).
 */
#ifndef OS_SAY_H
#define OS_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * printf subset for all of these: %s %d %u %x %p %lu %lx %zu %c %%, and between % and the letter a
 * width with flags 0 and -: %4d, %-9s, %02x, %016lx.
 */

/*
 * Is stderr open? The first call holds for good: if it is closed, what the program opens under its
 * number later is a file of its own.
 */
void os_look_at_stderr(void);
/* Was it open? What nobody has looked at yet is. */
bool os_has_stderr(void);

/* Writes one line "uslab: <text>\n" to stderr, if there is one. Context: any. */
void os_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Formats into buf (always ends with NUL); returns the length that the whole text has. */
size_t os_format(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same two with the arguments in a list. */
void os_say_list(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
size_t os_format_list(char *buf, size_t size, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Writes all of buf to a descriptor, going on after EINTR. Returns 0 or -errno. */
int os_write(int fd, const void *buf, size_t len);

#endif /* OS_SAY_H */
