/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/cpu.h - the topology as a value: CPUs, nodes, which of them runs this thread
 *
 * Data:       struct topology, filled once by os_cpu_init(); a made-up one can replace it.
 * Invariants: 1 <= nr_cpus <= nr_cpu_ids <= nr_windows <= USLAB_MAX_CPUS; 1 <= nr_nodes <=
 *             OS_MAX_NODES; node_of[] < nr_nodes; folded or made up: os_rseq_on is false. Checked
 *             by os_cpu_check(). All of this also holds before os_cpu_init(): one CPU, one node.
 * Locks:      none; const after init (made-up topologies are set before any cache exists).
 * Flow:       called by every floor above; reads /sys/devices/system/{cpu,node} with open/read
 *             only (no stdio, no malloc) and falls back to /proc/self/status and
 *             sched_getaffinity (containers, chroots).
 */
#ifndef OS_CPU_H
#define OS_CPU_H

#include "base/compiler.h"

#define OS_MAX_NODES 64

struct os_cpumask;

struct topology {
	unsigned int nr_cpu_ids; /* highest possible CPU number + 1; numbers may have holes */
	unsigned int nr_cpus;	 /* present CPUs: what SLUB's order formula calls n */
	unsigned int nr_nodes;	 /* highest node number + 1 */
	/* nr_cpu_ids, at least the machine's: CPU numbers that rseq shows */
	unsigned int nr_windows;
	bool made_up;	       /* set by os_topology_set() */
	bool folded;	       /* more CPU numbers than fit: they share, modulo nr_cpu_ids */
	uint8_t node_of[1536]; /* by CPU number */
};

extern struct topology os_topology;

/* Reads the machine. Idempotent, called by the library's init; keeps a made-up topology. */
void os_cpu_init(void);

/*
 * Reads a machine from a folder laid out like /sys/devices/system, or without one from a file like
 * /proc/self/status (what os_cpu_init() does); without that either the kernel itself is asked.
 * allowed: on which of its CPUs the process may run, NULL: not known. If those are all possible
 * ones, they are present, and the list of these is not read; if the folder has fewer, it is not
 * that of this machine, and nothing of its CPUs is taken from it.
 */
void os_topology_read(struct topology *t, const char *sys, const char *status,
		      const struct os_cpumask *allowed);

/*
 * Replaces the topology (replay --cpus/--nodes): CPUs spread over the nodes in blocks, at least one
 * for each. Turns os_rseq_on off. Before any cache exists. 0/-EINVAL.
 */
int os_topology_set(unsigned int cpus, unsigned int nodes);

/*
 * The CPU that this thread acts for: the real one, or the one set by os_act_as_cpu(). Always below
 * nr_cpu_ids; may be out of date at once, so what is a CPU's has a lock or is exchanged.
 */
unsigned int os_current_cpu(void);
/* Made-up topologies only: this thread acts for that CPU from now on. */
void os_act_as_cpu(unsigned int cpu);

/*
 * CPUs whose numbers are congruent modulo this, a power of two, are one lane: what each lane has
 * for itself does not grow with the machine.
 */
#define OS_LANES 8u
static inline unsigned int os_current_lane(void)
{
	return os_current_cpu() % OS_LANES;
}

static inline unsigned int os_cpu_to_node(unsigned int cpu)
{
	return os_topology.node_of[cpu];
}

static inline unsigned int os_current_node(void)
{
	return os_topology.nr_nodes > 1 ? os_cpu_to_node(os_current_cpu()) : 0;
}

void os_cpu_check(void);

#endif /* OS_CPU_H */
