/* SPDX-License-Identifier: MIT */
/*
 * support/machine.h - a made-up machine with an arena, once in the life of a process
 */
#ifndef SUPPORT_MACHINE_H
#define SUPPORT_MACHINE_H

#include <stdlib.h>

#include "os/cpu/cpu.h"
#include "page/arena.h"
#include "page/buddy.h"

static inline void machine_init(unsigned int cpus, unsigned int nodes)
{
	os_cpu_init();
	if (os_topology_set(cpus, nodes) || arena_init(os_topology.nr_cpu_ids))
		abort();
	buddy_init(os_topology.nr_nodes);
}

#endif /* SUPPORT_MACHINE_H */
