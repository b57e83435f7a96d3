/* SPDX-License-Identifier: MIT */
/*
 * os/process/constant.h - what lies in read-only memory of the program
 *
 * Data:       none.
 * Invariants: what is constant stays so until the process ends: the program is never unloaded,
 *             shared libraries may be, and do not count.
 * Locks:      none; safe in a signal handler.
 * Flow:       called by api/string_api.c.
 */
#ifndef OS_CONSTANT_H
#define OS_CONSTANT_H

#include "base/compiler.h"

/*
 * Does p point into a segment of the program that was started which nobody may write to? false also
 * where the system does not say where the program lies.
 */
bool os_is_constant(const void *p);

#endif /* OS_CONSTANT_H */
