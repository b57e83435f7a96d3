/* SPDX-License-Identifier: MIT */
/*
 * os/time/utc.h - date and time as other programs' logs have them
 *
 * Data:       none.
 * Invariants: no allocation, no lock, no time zone of libc; safe in a signal handler.
 * Locks:      none.
 * Flow:       called by debug/; calls clock_gettime (vDSO, no system call).
 */
#ifndef OS_UTC_H
#define OS_UTC_H

#include "base/compiler.h"

#define OS_UTC_BYTES sizeof("2026-11-22T21:07:35.123456Z") /* years of four digits */

/* ISO 8601 of so many seconds since 1970, negative ones before it, and us microseconds. */
void os_utc_text(char text[OS_UTC_BYTES], int64_t seconds, unsigned int us);
/* The same of now (CLOCK_REALTIME). */
void os_utc_now(char text[OS_UTC_BYTES]);

#endif /* OS_UTC_H */
