/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_sites.h - tracked objects grouped by who allocated them: caller, stack, waste
 *
 * What alloc_traces of spec 6.4 and `uslab track` have in common; neither prints here. At most
 * TRACK_SITES_MAX groups are kept, whatever a process contains: further objects are only counted.
 */
#ifndef TOOLS_TRACK_SITES_H
#define TOOLS_TRACK_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "track/estimate.h"
#include "inspect/tracks.h"

#define TRACK_SITES_MAX (1u << 18)
#define TRACK_CPU_WORDS ((USLAB_MAX_CPUS + 63) / 64)

struct track_site {
	uint64_t caller;  /* return address into the program; 0: not known */
	uint32_t handle;  /* of the stack; 0: none */
	uint32_t waste;	  /* bytes per object that were not asked for; 0 unless grouped by it */
	uint64_t count;	  /* objects */
	uint64_t bytes;	  /* that were asked for */
	uint64_t age_min; /* milliseconds */
	uint64_t age_max;
	uint64_t age_sum;
	struct estimate_sum objects_sum; /* what count and bytes stand for */
	struct estimate_sum bytes_sum;
	struct estimate_sum old; /* objects at least old_age old, and their bytes */
	struct estimate_sum old_bytes;
	uint32_t pid_min; /* of threads */
	uint32_t pid_max;
	uint64_t nodes; /* bit n: some of the memory is of node n */
	uint64_t cpus[TRACK_CPU_WORDS];
};

struct track_sites {
	unsigned int nr;
	struct track_site *site; /* nr of them, in the order of their first objects, or sorted */
	uint64_t count;		 /* objects in all of them */
	double heaviest;	 /* what one object stands for at most; 0: there is none */
	uint64_t lost;		 /* objects beyond TRACK_SITES_MAX or without memory */

	/* may be set between open and the first object: */
	uint64_t old_age; /* milliseconds; see track_site.old */
	uint64_t since;	  /* objects that are older than that are passed over */
	bool by_caller;	  /* whatever the stack (alloc_calls of old kernels) */
	/* only objects that were sampled, each for as many as it stands for; else each for one */
	bool sampled;

	bool by_waste;
	unsigned int capacity; /* of site[] */
	uint32_t *slot;	       /* hash: number of a site + 1; 0: free */
	unsigned int nr_slots;
};

/*
 * by_waste: objects with different waste are different groups (alloc_traces); else it is ignored.
 */
void track_sites_open(struct track_sites *sites, bool by_waste);
void track_sites_close(struct track_sites *sites);

/* How many a sampled object stands for; 0: it was not sampled, or its record is damaged. */
double track_sites_weight(uint32_t sample);

/*
 * One object, by its track of now or of its life before; a caller of 0 is a group like any other.
 */
void track_sites_add(struct track_sites *sites, const struct track_record *record,
		     enum track_item item, uint64_t now);

/*
 * All live objects of a cache (UINT_MAX: of all) of the process of the snapshot. Returns how many
 * objects were looked at, or -errno of the reader.
 */
long track_sites_collect(struct track_sites *sites, struct snapshot *s, unsigned int cache,
			 enum track_item item);

/*
 * Most objects first, equal ones by caller, stack and waste; with by_caller in the order of
 * callers. Nothing can be added after that.
 */
void track_sites_sort(struct track_sites *sites);

#endif /* TOOLS_TRACK_SITES_H */
