/* SPDX-License-Identifier: MIT */
/*
 * page/thp.h - which memory asks for transparent huge pages
 *
 * Why:        docs/adr/0086.
 * Data:       the policy; set once, at start.
 * Invariants: all mappings of large blocks are advised alike, so that neighbours are one mapping;
 *             but where the system refuses that (too many mappings), or could not move a part of
 *             one, which was mapped anew (os/memory/vm.c): both are ignored.
 * Locks:      none.
 * Flow:       called by cache/init.c at start, arena.c and large.c; calls os/memory/vm.c.
 *
 * Tables and windows have small pages whatever is set here: they are sparse.
 */
#ifndef PAGE_THP_H
#define PAGE_THP_H

#include <stddef.h>

enum thp_policy {
	THP_SYSTEM, /* as the system is set, but for the first 64 MiB of the arena: small pages */
	THP_LARGE,  /* large blocks ask for them, the arena as above */
	THP_ALL,    /* all of the arena as well */
	THP_NEVER,  /* neither has them */
};

/* After arena_init(), before the arena is used. */
void thp_set(enum thp_policy policy);

/* A new mapping of a large block. */
void thp_advise_large(void *p, size_t size);

/* A part of the arena's range of addresses. */
void thp_advise_arena(void *start, size_t size);

#endif /* PAGE_THP_H */
