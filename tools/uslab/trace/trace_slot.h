/* SPDX-License-Identifier: MIT */
/*
 * uslab/trace/trace_slot.h - what made the kernel's slots larger than its objects
 *
 * An event says the size of an object (bytes_req) and of its slot (bytes_alloc), and not what lies
 * between them.
 */
#ifndef TOOLS_TRACE_SLOT_H
#define TOOLS_TRACE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

struct trace_slot {
	unsigned int align; /* of the cache; 0: that of words is enough */
	bool outside;	    /* the free pointer is behind the object: a constructor, or RCU */
	bool unknown;	    /* neither explains the slot, as of a kernel with debug flags */
};

/*
 * For objects and slots of so many bytes; slot 0: not said. What explains a slot is tried in this
 * order: the alignment that SLAB_HWCACHE_ALIGN gives, a free pointer, another alignment of at most
 * a cache line, both. A slot that is not larger than the object in words needs no explanation.
 */
struct trace_slot trace_slot_of(uint32_t size, uint32_t slot);

#endif /* TOOLS_TRACE_SLOT_H */
