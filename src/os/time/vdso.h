/* SPDX-License-Identifier: MIT */
/*
 * os/time/vdso.h - functions that the kernel maps into every process
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none; no allocation; safe in a signal handler; errno is preserved.
 * Flow:       called by os/time/clock.c.
 */
#ifndef OS_VDSO_H
#define OS_VDSO_H

#include "base/compiler.h"

/* The address of that function; NULL: there is none, or no vDSO at all (valgrind, vdso=0). */
cold void *os_vdso_find(const char *name);

#endif /* OS_VDSO_H */
