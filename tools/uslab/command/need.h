/* SPDX-License-Identifier: MIT */
/*
 * uslab/command/need.h - the memory that debug flags may take of a process, and whether there is
 * so much
 */
#ifndef TOOLS_NEED_H
#define TOOLS_NEED_H

#include "inspect/debug_size.h"
#include "process/headroom.h"
#include "process/target.h"

/* Of some caches together; all 0 at first. */
struct need {
	uint64_t bytes;
	uint64_t freed; /* of these, for freed blocks of whole pages */
	unsigned long objects;
	unsigned int caches;
	uint64_t back;			 /* for objects that leave debug slabs */
	bool stacks;			 /* call stacks are to be stored */
	bool asked[SNAPSHOT_MAX_CACHES]; /* rows whose flags change */
	uint64_t pending; /* for what was switched on before, of other caches; by need_compare() */
	/* of caches over a heap, which share its blocks: the most that one of them may take */
	struct debug_size heap;
};

/* Row number index of the snapshot is to have exactly these debug flags. */
void need_add(struct need *need, struct snapshot *s, unsigned int index, slab_flags_t flags);

/* How many bytes that are, without what is pending. */
uint64_t need_bytes(const struct need *need);

enum need_fits { NEED_FITS, NEED_IS_MUCH, NEED_TOO_MUCH };

/*
 * Has the process so much? Much is more than a quarter of the headroom: objects that will be more,
 * and the rest of the program, want some as well. *headroom is valid then.
 */
enum need_fits need_compare(struct need *need, const struct target *t, struct snapshot *s,
			    struct headroom *headroom);

/*
 * The same before a command. EXIT_OK, after a warning if it is much, or too much and target.force
 * is set, or if call stacks may not fit, or what objects take that leave debug slabs; EXIT_FAILED
 * after a message if it is too much. how: "with FZPU"; instead: what else
 * to do, as the beginning of a sentence that ends with --force.
 */
int need_check(struct need *need, const struct target *t, struct snapshot *s, const char *how,
	       const char *instead);

#endif /* TOOLS_NEED_H */
