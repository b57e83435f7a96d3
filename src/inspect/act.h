/* SPDX-License-Identifier: MIT */
/*
 * inspect/act.h - a tool's thread acts for any CPU of a made-up topology
 *
 * Data:       none of its own.
 * Invariants: see os/cpu/cpu.h.
 * Locks:      none.
 * Flow:       called by tools (uslab replay --cpus, uslab compare); calls os/cpu/cpu.h.
 */
#ifndef INSPECT_ACT_H
#define INSPECT_ACT_H

#include <stdbool.h>

struct act_topology {
	unsigned int cpus;
	unsigned int nodes;
	bool made_up; /* by USLAB_CONF=topology=CPUSxNODES */
};

/* The limits of that option. */
unsigned int act_max_cpus(void);
unsigned int act_max_nodes(void);

/* The machine that the library runs on. */
void act_topology(struct act_topology *topology);

/* From now on this thread is on that CPU, cpu < cpus. Made-up topologies only. */
void act_as_cpu(unsigned int cpu);

#endif /* INSPECT_ACT_H */
