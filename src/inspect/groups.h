/* SPDX-License-Identifier: MIT */
/*
 * inspect/groups.h - accounting groups (cache/group/group.h), from outside
 *
 * Data:       none of its own; reads the process of a snapshot that was opened, through its buffer.
 * Invariants: at most GROUPS_MAX groups are read, and the stocks and arrays of USLAB_MAX_CPUS CPUs;
 *             texts are bounded, and printable ASCII.
 * Locks:      none; numbers change while they are read.
 * Flow:       called by tools; reads through s->reader.
 */
#ifndef INSPECT_GROUPS_H
#define INSPECT_GROUPS_H

#include "cache/group/group.h"
#include "inspect/snapshot.h"

struct groups_group {
	uint32_t id;	 /* 1 .. GROUPS_MAX - 1 */
	uint32_t parent; /* its number; 0: none */
	uint64_t usage;	 /* bytes; as visited with what CPUs hold charged ahead */
	uint64_t peak;
	uint64_t limit; /* UINT64_MAX: none */
	uint64_t met;
	uint64_t failed;
	uint32_t threads;
	uint32_t groups; /* below it */
	bool dying;	 /* it was destroyed, and has objects, threads or groups */
	char name[USLAB_GROUP_NAME_MAX + 1];
};

/*
 * Calls visit for each group, in the order of their numbers. Returns how many, or -errno of the
 * reader.
 */
long groups_visit(struct snapshot *s, void (*visit)(const struct groups_group *group, void *arg),
		  void *arg);

/*
 * Calls visit for each stock and each charged array of a CPU that holds bytes of a group, and for
 * each cache of a group of which CPUs or depots hold objects, if the snapshot has its caches.
 */
long groups_visit_ahead(struct snapshot *s, void (*visit)(uint32_t id, uint64_t bytes, void *arg),
			void *arg);

#endif /* INSPECT_GROUPS_H */
