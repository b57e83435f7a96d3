/* SPDX-License-Identifier: MIT */
/*
 * base/assert.h - three grades of assertion
 *
 * Data:       none.
 * Invariants: none.
 * Locks:      none.
 * Flow:       used everywhere; a failure ends in os_die() (os/process/die.c), the one upward name.
 *
 * CHECK       always on; for metadata that a program's mistake can reach
 * ASSERT      debug builds; cheap
 * ASSERT_SLOW debug builds; walks
 * Disabled assertions still compile their expression.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#include "base/compiler.h"

_Noreturn void os_die(const char *file, int line, const char *what);

#ifdef USLAB_DEBUG_BUILD
#define ASSERT_ENABLED 1
#else
#define ASSERT_ENABLED 0
#endif

#define CHECK(expr)                                        \
	do {                                               \
		if (unlikely(!(expr)))                     \
			os_die(__FILE__, __LINE__, #expr); \
	} while (0)

#define ASSERT(expr)                                       \
	do {                                               \
		if (ASSERT_ENABLED && unlikely(!(expr)))   \
			os_die(__FILE__, __LINE__, #expr); \
	} while (0)

#define ASSERT_SLOW(expr) ASSERT(expr)

#endif /* BASE_ASSERT_H */
