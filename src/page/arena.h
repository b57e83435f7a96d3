/* SPDX-License-Identifier: MIT */
/*
 * page/arena.h - the reserved range, committed chunk by chunk
 *
 * Why:        docs/adr/0001.
 * Data:       page_map (page/page.h); chunks of 4 MiB (one order-10 block) are committed upward.
 * Invariants: descriptors, class bytes and memory of pages below page_map.nr_pages are committed;
 *             not the memory of chunks that are left out, whose pages are of type NONE for ever.
 *             Checked by arena_check().
 * Locks:      RANK_ARENA for growth.
 * Flow:       called by buddy.c (growth, under a zone's lock, which covers fork), realtime.c,
 *             cache/init.c and malloc/info.c; calls os/memory/vm.c.
 *
 * Reserved, from low to high: dirty bits, descriptors, windows, class bytes, arena (see
 * <uslab/layout.h>); committed with the arena, but in steps of 64 MiB of it.
 * The arena is 4 times the machine's memory, at least 64 GiB, at most 1 TiB, halved until the
 * system agrees (down to 16 MiB); under RLIMIT_AS it takes at most half of what is left, and the
 * parts are mapped one by one without the holes between them. A limit that comes later is met by
 * arena_fit(). Where mappings come from below (os_room_upward()), the range lies far above them.
 */
#ifndef PAGE_ARENA_H
#define PAGE_ARENA_H

#include "page/page.h"

#define ARENA_CHUNK_ORDER 10

/* Reserves the range, commits window 0 to 2 and those of nr_cpu_ids CPUs. 0 or -ENOMEM. */
int arena_init(unsigned int nr_cpu_ids);

/*
 * From now on the bits of page/used.h are kept, also for pages that are allocated already: a part
 * of its own, 64 bytes for each page. Called before there are objects. 0 or -ENOMEM.
 */
int arena_keep_used(void);

/*
 * Commits the next chunk and gives it to the caller as one free block that is on no list
 * (type NONE, node as given, not dirty). NULL: range or memory exhausted.
 */
struct page *arena_grow(unsigned int node);

/*
 * RLIMIT_AS has changed: gives back addresses that were never used, so that the arena has half of
 * what the limit leaves (as at the start), or reserves them again. limit_is(page_map.limit) is
 * called before addresses go, and after they came; locks are held then. Context: a zone's lock, see
 * arena.c.
 */
void arena_fit(void (*limit_is)(unsigned long pages));

/*
 * Calls act for what describes the pages grown so far, and for the words of all CPUs of the caches
 * that the library makes itself, and of the first ones that a program makes, with the tables of the
 * hit paths.
 */
void arena_each_table(void (*act)(void *start, size_t size, void *arg), void *arg);

/* Bytes of the arena that were handed out so far, or left out. */
size_t arena_size(void);

void arena_check(void);

#endif /* PAGE_ARENA_H */
