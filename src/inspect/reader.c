/* SPDX-License-Identifier: MIT */
/*
 * inspect/reader.c - the memory of this process
 *
 * Data:       none.
 * Invariants: see reader.h.
 * Locks:      none.
 * Flow:       called through reader_local.
 */
#include "inspect/reader.h"

#include <errno.h>

/*
 * Other threads change what is copied here, by design: whole words are read at a time, so that
 * pointers and counters are not torn, and without checks of the sanitizers. A volatile access keeps
 * the compiler from turning the loop into a call of memcpy, which they intercept.
 */
__attribute__((no_sanitize("thread", "address", "undefined"))) static int
local_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const char *from = (const char *)(uintptr_t)addr;
	char *to = buf;
	size_t i = 0;

	(void)ctx;
	if (!addr)
		return -EFAULT;
	if (!((addr | (uintptr_t)buf) & (sizeof(long) - 1)))
		for (; i + sizeof(long) <= len; i += sizeof(long))
			*(long *)(to + i) = *(const volatile long *)(from + i);
	for (; i < len; i++)
		to[i] = *(const volatile char *)(from + i);
	return 0;
}

const struct reader reader_local = { .read = local_read };
