/* SPDX-License-Identifier: MIT */
/*
 * inspect/act.c - a tool's thread acts for any CPU of a made-up topology
 *
 * Data:       none of its own.
 * Invariants: see os/cpu/cpu.h.
 * Locks:      none.
 * Flow:       see act.h; calls os/cpu/cpu.c.
 */
#include "inspect/act.h"

#include "os/cpu/cpu.h"
#include <uslab/layout.h>

unsigned int act_max_cpus(void)
{
	return USLAB_MAX_CPUS;
}

unsigned int act_max_nodes(void)
{
	return OS_MAX_NODES;
}

void act_topology(struct act_topology *topology)
{
	*topology = (struct act_topology){ .cpus = os_topology.nr_cpus,
					   .nodes = os_topology.nr_nodes,
					   .made_up = os_topology.made_up };
}

void act_as_cpu(unsigned int cpu)
{
	os_act_as_cpu(cpu);
}
