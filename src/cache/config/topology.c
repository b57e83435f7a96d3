/* SPDX-License-Identifier: MIT */
/*
 * cache/config/topology.c - made-up machines (USLAB_CONF=topology), and the policy of the process
 *
 * Data:       none; os_topology is os/cpu/cpu.h's.
 * Invariants: the option is read before any floor looks at the machine, the others only after.
 * Locks:      none: called while the library is made ready.
 * Flow:       called by init.c first of all, and by options.c when the options' turn comes; calls
 *             os/cpu/, os/memory/policy.c.
 *
 * For tools that act for the CPUs of that machine (os_act_as_cpu). Other programs run correctly,
 * and slower: there are no restartable sequences on made-up CPUs.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/internal.h"
#include "os/cpu/nodes.h"
#include "os/memory/policy.h"
#include "os/process/env.h"
#include "os/process/say.h"
#include "page/arena.h"
#include "page/numa.h"

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

/* The next of the numbers between colons; *text: behind it, and behind the colon. */
static bool next_distance(const char **text, uint8_t *distance)
{
	size_t len = strcspn(*text, ":");
	char number[4];
	size_t n;

	if (!len || len >= sizeof(number))
		return false;
	memcpy(number, *text, len);
	number[len] = '\0';
	if (!os_parse_size(number, &n) || n <= OS_NODE_LOCAL || n >= OS_NODE_FAR)
		return false;
	*distance = (uint8_t)n;
	*text += len + ((*text)[len] == ':');
	return true;
}

bool cache_set_distance(const char *name, const char *value)
{
	os_distances distances = { { 0 } };

	(void)name;
	if (!os_topology.made_up)
		return false;
	for (unsigned int b = 1; b < os_topology.nr_nodes; b++)
		for (unsigned int a = 0; a < b; a++) {
			if (!next_distance(&value, &distances[a][b]))
				return false;
			distances[b][a] = distances[a][b];
		}
	if (*value)
		return false;
	os_nodes_set_distances(os_topology.nr_nodes, distances);
	return true;
}

bool cache_set_node_memory(const char *name, const char *value)
{
	size_t bytes;

	(void)name;
	if (!os_topology.made_up || !os_parse_size(value, &bytes) ||
	    bytes < PAGE_SIZE << ARENA_CHUNK_ORDER || bytes > 1ul << 40)
		return false;
	numa_node_pages = ALIGN_DOWN(bytes >> PAGE_SHIFT, 1ul << ARENA_CHUNK_ORDER);
	return true;
}

bool cache_set_mempolicy(const char *value)
{
	struct os_policy policy;

	if (os_policy_parse(&policy, value))
		return false;
	os_policy_set_process(&policy);
	return true;
}

/* "nodes 0-3, 6" */
static void name_nodes(char *text, size_t size, uint64_t mask)
{
	const char *comma = "";
	size_t len = os_format(text, size, mask & (mask - 1) ? "nodes " : "node ");

	for (unsigned int first = 0, last; first < OS_MAX_NODES && len < size; first = last + 1) {
		last = first;
		if (!(mask & os_node_bit(first)))
			continue;
		while (last + 1 < OS_MAX_NODES && mask & os_node_bit(last + 1))
			last++;
		len += os_format(text + len, size - len, "%s%u", comma, first);
		if (last > first && len < size)
			len += os_format(text + len, size - len, "-%u", last);
		comma = ", ";
	}
}

bool cache_explain_mempolicy(char why[OS_ENV_WHY_BYTES], const char *value)
{
	struct os_policy policy;
	char nodes[OS_MAX_NODES * 4];

	switch (os_policy_parse(&policy, value)) {
	case -ENODEV:
		name_nodes(nodes, sizeof(nodes), os_nodes.memory);
		os_format(why, OS_ENV_WHY_BYTES, "this machine has memory on %s only", nodes);
		return true;
	case -EPERM:
		os_format(why, OS_ENV_WHY_BYTES,
			  "bind needs a kernel that says on which nodes pages are");
		return true;
	default:
		return false;
	}
}
