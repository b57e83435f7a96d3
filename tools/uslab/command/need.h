/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/need.h - the memory that debug flags may take of a process, and whether there is
 * so much
 */
#ifndef TOOLS_NEED_H
#define TOOLS_NEED_H

#include "inspect/debug_size.h"
#include "process/room.h"
#include "process/target.h"

/* Of some caches together; all 0 at first. */
struct need {
	uint64_t bytes;
	uint64_t freed; /* of these, for freed blocks of whole pages */
	unsigned long objects;
	unsigned int caches;
	/* of caches over a heap, which share its blocks: the most that one of them may take */
	struct debug_size heap;
};

/* Row number index of the snapshot is to have exactly these debug flags. */
void need_add(struct need *need, struct snapshot *s, unsigned int index, slab_flags_t flags);

/* How many bytes that are. */
uint64_t need_bytes(const struct need *need);

enum need_fits { NEED_FITS, NEED_IS_MUCH, NEED_TOO_MUCH };

/*
 * Has the process so much? Much is more than a quarter of the room: objects that will be more, and
 * the rest of the program, want some as well. *room is valid then.
 */
enum need_fits need_compare(const struct need *need, const struct target *t,
			    const struct snapshot *s, struct room *room);

/*
 * The same before a command. EXIT_OK, also with target.force, and after a warning if it is much;
 * EXIT_FAILED after a message if it is too much. how: "with FZPU"; instead: what else
 * to do, as the beginning of a sentence that ends with --force.
 */
int need_check(const struct need *need, const struct target *t, const struct snapshot *s,
	       const char *how, const char *instead);

#endif /* TOOLS_NEED_H */
