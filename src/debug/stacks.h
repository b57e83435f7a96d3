/* SPDX-License-Identifier: MIT */
/*
 * debug/stacks.h - stores each distinct call stack once, by a number (the kernel's stack depot)
 *
 * Data:       records in chunks of 64 KiB that are never freed or moved, found by hash; a handle is
 *             the record's place: chunk = handle / 4096, byte = handle % 4096 * 16 in it.
 * Invariants: a record never changes once its handle was returned; handle 0 is no stack.
 * Locks:      RANK_STACKS to add a record; to find one needs none.
 * Flow:       called by object.c, cache/control/dump.c, cache/fork.c, kfence.c and report_text.c;
 *             calls page/meta.c.
 */
#ifndef DEBUG_STACKS_H
#define DEBUG_STACKS_H

#include "base/compiler.h"

struct lock;

#define STACKS_DEPTH 16 /* frames that are kept */
#define STACKS_CHUNK (64ul << 10)
#define STACKS_CHUNKS 1024
#define STACKS_UNIT 16 /* bytes */
#define STACKS_BUCKETS 16384

struct stack_record {
	uint32_t next; /* handle of the next one in this bucket */
	uint32_t hash;
	uint32_t nr; /* frames, 1 .. STACKS_DEPTH */
	uint32_t reserved;
	uint64_t pc[]; /* return addresses, innermost first */
};

struct stacks {
	uint64_t chunk[STACKS_CHUNKS]; /* addresses; 0: none so far */
	uint32_t nr_stacks;
	uint32_t lost; /* stacks not stored, since memory or the depot was full */
	uint32_t bucket[STACKS_BUCKETS];
};

/* Made by the first stacks_save(); NULL before. Read by tools from outside. */
extern struct stacks *stacks_depot;

/*
 * The handle of this stack; 0: no memory. nr is cut to STACKS_DEPTH. Any
 * context but signal handlers.
 */
uint32_t stacks_save(const uintptr_t *pcs, unsigned int nr);

/* Its frames; 0 for handle 0 or one that was never returned. */
unsigned int stacks_fetch(uint32_t handle, const uint64_t **pcs);

void stacks_each_lock(void (*act)(struct lock *l));

#endif /* DEBUG_STACKS_H */
