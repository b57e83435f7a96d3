/* SPDX-License-Identifier: MIT */
/*
 * fuzz/contents.h - what the program writes into its objects, and a constructor into free ones
 */
#ifndef FUZZ_CONTENTS_H
#define FUZZ_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/mix.h"
#include "bytes.h"

#define CONSTRUCTED 0x77 /* eight of them */

/* Another byte for each object: who has memory of two finds out. */
static inline unsigned char pattern(const void *obj)
{
	return (unsigned char)(mix_multiply((uintptr_t)obj) >> 56);
}

static inline void fill(void *obj, size_t size)
{
	memset(obj, pattern(obj), size);
}

/* Nobody else wrote into it. */
static inline void check_filled(const void *obj, size_t size)
{
	CHECK(all_bytes(obj, size, pattern(obj)));
}

static inline void ctor(void *obj)
{
	memset(obj, CONSTRUCTED, 8);
}

static inline void check_constructed(const void *obj)
{
	CHECK(all_bytes(obj, 8, CONSTRUCTED));
}

#endif /* FUZZ_CONTENTS_H */
