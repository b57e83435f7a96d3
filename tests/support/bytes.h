/* SPDX-License-Identifier: MIT */
/*
 * support/bytes.h - what memory is filled with
 */
#ifndef SUPPORT_BYTES_H
#define SUPPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Are the n bytes at p all of that value? Of none it is true. */
static inline bool all_bytes(const void *p, size_t n, unsigned char value)
{
	const unsigned char *byte = p;

	return n == 0 || (byte[0] == value && memcmp(byte, byte + 1, n - 1) == 0);
}

#endif /* SUPPORT_BYTES_H */
