/* SPDX-License-Identifier: MIT */
/*
 * os/process/die.c - the end of the process: one clear line on stderr, then abort
 *
 * Data:       none.
 * Invariants: as os/process/say.c.
 * Locks:      none.
 * Flow:       called by every floor; calls os/process/say.c, os/process/process.c.
 */
#include "os/process/die.h"
#include "os/process/process.h"

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
