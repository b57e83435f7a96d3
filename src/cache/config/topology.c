/* SPDX-License-Identifier: MIT */
/*
 * cache/config/topology.c - USLAB_CONF=topology=CPUSxNODES: the library runs on a made-up machine
 *
 * Data:       none; os_topology is os/cpu/cpu.h's.
 * Invariants: the option is read before any floor looks at the machine, the others only after.
 * Locks:      none: called while the library is made ready.
 * Flow:       called by init.c first of all, and by options.c when the option's turn comes.
 *
 * For tools that act for the CPUs of that machine (os_act_as_cpu). Other programs run correctly,
 * and slower: there are no restartable sequences on made-up CPUs.
 */
#include <string.h>

#include "cache/internal.h"
#include "os/cpu/cpu.h"
#include "os/process/env.h"

#define KEY "topology"

/* "64x4" */
static bool parse(const char *value, size_t *cpus, size_t *nodes)
{
	const char *x = strchr(value, 'x');
	char number[8];

	if (!x || (size_t)(x - value) >= sizeof(number))
		return false;
	memcpy(number, value, (size_t)(x - value));
	number[x - value] = '\0';
	return os_parse_size(number, cpus) && os_parse_size(x + 1, nodes) && *cpus <= UINT32_MAX &&
	       *nodes <= UINT32_MAX;
}

/* Mistakes are left to cache_topology_is(), so that they are printed once. */
static bool set(const char *key, const char *value, void *arg)
{
	size_t cpus;
	size_t nodes;

	(void)arg;
	if (!strcmp(key, KEY) && parse(value, &cpus, &nodes))
		os_topology_set((unsigned int)cpus, (unsigned int)nodes);
	return true;
}

void cache_make_topology(void)
{
	const char *conf = os_env("USLAB_CONF");

	if (conf && strstr(conf, KEY "="))
		os_env_pairs("USLAB_CONF", &(struct os_env_reader){ .set = set });
}

bool cache_topology_is(const char *value)
{
	size_t cpus;
	size_t nodes;

	return parse(value, &cpus, &nodes) && os_topology.made_up &&
	       os_topology.nr_cpu_ids == cpus && os_topology.nr_nodes == nodes;
}
