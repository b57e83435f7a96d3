/* SPDX-License-Identifier: MIT */
/*
 * os/die.c - the last words: one clear line on stderr, then abort
 *
 * Data:       none.
 * Invariants: as os/say.c.
 * Locks:      none.
 * Flow:       called from every floor; calls os/say.c, os/process.c.
 */
#include "os/die.h"
#include "os/process.h"

void os_die_fmt(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	os_say_list(fmt, args);
	va_end(args);
	os_abort();
}

void os_die(const char *file, int line, const char *what)
{
	os_die_fmt("%s:%d: assertion failed: %s", file, line, what);
}
