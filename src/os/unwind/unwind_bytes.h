/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_bytes.h - a cursor over the bytes of unwind tables
 *
 * Data:       struct bytes.
 * Invariants: at <= end; nothing beyond the end is read, and cut says that it was asked for, or
 *             that what is read as copies is no longer there.
 * Locks:      none.
 * Flow:       used by unwind_table.h.
 */
#ifndef OS_UNWIND_BYTES_H
#define OS_UNWIND_BYTES_H

#include <string.h>

#include "os/memory/readable.h"

struct bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool cut; /* something was asked for beyond the end */
	/* NULL: the bytes stay. Else copies are read, and it is set where there are none */
	bool *gone;
};

/* false: it is not there. */
static inline bool read_bytes(const struct bytes *b, void *to, size_t size)
{
	if (likely(!b->gone)) {
		memcpy(to, b->at, size);
		return true;
	}
	if (os_readable_copy(to, b->at, size))
		return true;
	*b->gone = true;
	return false;
}

static inline uint64_t take(struct bytes *b, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(b->end - b->at) < size || !read_bytes(b, &value, size)) {
		b->cut = true;
		b->at = b->end;
		return 0;
	}
	b->at += size;
	return value;
}

static inline uint64_t take_leb(struct bytes *b, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take(b, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !b->cut);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return value;
}

static inline unsigned int take_uleb(struct bytes *b)
{
	return (unsigned int)take_leb(b, false);
}

static inline int take_sleb(struct bytes *b)
{
	return (int)take_leb(b, true);
}

/* A part of the given length, which is passed over. */
static inline struct bytes take_block(struct bytes *b, uint64_t length)
{
	struct bytes block = { b->at, b->at, false, b->gone };

	if (length > (uint64_t)(b->end - b->at)) {
		b->cut = true;
		length = 0;
	}
	b->at += length;
	block.end = b->at;
	return block;
}

#endif /* OS_UNWIND_BYTES_H */
