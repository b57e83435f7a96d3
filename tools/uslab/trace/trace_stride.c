/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_stride.c - what made the kernel's strides larger than its objects
 *
 * Flow:       called by trace_ops.c and replay/replay_stage.c. In: two sizes; out: struct
 *             trace_stride.
 *
 * The rules are those by which SLUB lays out an object without debug flags (spec 4.4, 5.3). Two of
 * them may explain one stride: an object of 184 bytes takes 192 with an alignment, and with a free
 * pointer. The alignment of SLAB_HWCACHE_ALIGN goes first, since it is what most caches with
 * strides of whole lines have; others are rare, so they come last.
 */
#include "trace/trace_stride.h"

#define WORD 8u
#define LINE 64u	      /* of the cache */
#define MAX_STRIDE (4u << 20) /* no slab holds a larger one */

static uint64_t align_up(uint64_t value, unsigned int align)
{
	return (value + align - 1) / align * align;
}

/* Of SLAB_HWCACHE_ALIGN: a line, or the part of it that an object needs. */
static unsigned int line_align(uint32_t size)
{
	unsigned int align = LINE;

	while (align > WORD && size <= align / 2)
		align /= 2;
	return align;
}

/* The largest alignment beyond words that makes a stride of size bytes; 0: none. */
static unsigned int find_align(uint64_t size, uint32_t stride)
{
	for (unsigned int align = LINE; align > WORD; align /= 2)
		if (align_up(size, align) == stride)
			return align;
	return 0;
}

struct trace_stride trace_stride_of(uint32_t size, uint32_t stride)
{
	uint64_t words = align_up(size, WORD);
	struct trace_stride s = { 0 };

	if (stride <= words)
		return s;
	if (stride > MAX_STRIDE) {
		s.unknown = true;
		return s;
	}
	if (align_up(size, line_align(size)) == stride)
		s.align = line_align(size);
	else if (words + WORD == stride)
		s.outside = true;
	else
		s.align = find_align(size, stride);
	if (s.align || s.outside)
		return s;
	s.align = find_align(words + WORD, stride);
	s.outside = s.align != 0;
	s.unknown = !s.outside;
	return s;
}
