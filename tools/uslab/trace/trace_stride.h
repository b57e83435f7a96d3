/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_stride.h - what made the kernel's strides larger than its objects
 *
 * An event says the size of an object (bytes_req) and its stride (bytes_alloc), and not why it is
 * larger.
 */
#ifndef TOOLS_TRACE_STRIDE_H
#define TOOLS_TRACE_STRIDE_H

#include <stdbool.h>
#include <stdint.h>

struct trace_stride {
	unsigned int align; /* of the cache; 0: that of words is enough */
	bool outside;	    /* the free pointer is behind the object: a constructor, or RCU */
	bool unknown;	    /* neither explains the stride, as of a kernel with debug flags */
};

/*
 * For objects and strides of so many bytes; stride 0: not said. What explains a stride is tried in
 * this order: the alignment that SLAB_HWCACHE_ALIGN gives, a free pointer, another alignment of at
 * most a cache line, both. One that is not larger than the object in words needs no explanation.
 */
struct trace_stride trace_stride_of(uint32_t size, uint32_t stride);

#endif /* TOOLS_TRACE_STRIDE_H */
