/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/nodes.h - which nodes have memory, and which is nearest to which (spec 0.3)
 *
 * Why:        docs/adr/0062.
 * Data:       struct os_nodes: a mask, and for each node all nodes by their distance.
 * Invariants: order[n] is a permutation of the nodes below os_topology.nr_nodes that begins with n;
 *             of nodes equally far the higher one comes first. memory is not empty. With one node
 *             all of it is as at load time. Checked by os_nodes_check().
 * Locks:      none; const as soon as the topology is (os/cpu/cpu.h).
 * Flow:       called by os/cpu/cpu.c, os/memory/policy.c, cache/config/topology.c, engine/,
 *             front/queues.c and page/run.c; calls os/cpu/cpulist.h and os/process/file.h.
 */
#ifndef OS_NODES_H
#define OS_NODES_H

#include "os/cpu/cpu.h"

#define OS_NODE_LOCAL 10u  /* distance of a node from itself, as the firmware's tables have it */
#define OS_NODE_REMOTE 20u /* from one that is not said */
#define OS_NODE_FAR 255u   /* the largest */

struct os_nodes {
	uint64_t memory; /* bit n: node n has some that this process may have */
	uint8_t order[OS_MAX_NODES][OS_MAX_NODES];
};

/* By node and node. */
typedef uint8_t os_distances[OS_MAX_NODES][OS_MAX_NODES];

extern struct os_nodes os_nodes;

static inline uint64_t os_node_bit(unsigned int node)
{
	return 1ull << node;
}

/* The one of the mask that is nearest to a node; that node if the mask is empty. */
unsigned int os_nodes_nearest(uint64_t mask, unsigned int node);

/* That node; of one without memory the nearest that has some. */
static inline unsigned int os_nodes_with_memory(unsigned int node)
{
	bool has = os_nodes.memory & os_node_bit(node);

	return likely(has) ? node : os_nodes_nearest(os_nodes.memory, node);
}

/* All nodes of a made-up machine: they have memory, and are as far apart as their numbers. */
void os_nodes_make_up(unsigned int nr_nodes);
/* The same with distances; only those of two different nodes are looked at. */
void os_nodes_set_distances(unsigned int nr_nodes, os_distances distances);

/*
 * Reads memory and distances from a folder laid out like /sys/devices/system. What cannot be read
 * is as on a made-up machine.
 */
void os_nodes_read(struct os_nodes *nodes, unsigned int nr_nodes, const char *sys);
/*
 * Leaves out memory that the process may not have: a line of status, laid out like
 * /proc/self/status, says what its cpuset allows. Later changes of that are not seen.
 */
void os_nodes_confine(struct os_nodes *nodes, unsigned int nr_nodes, const char *status);
/* Gives CPUs of a node without memory the nearest node that has some (spec 0.4: local). */
void os_nodes_adopt(const struct os_nodes *nodes, struct topology *t);

void os_nodes_check(void);

#endif /* OS_NODES_H */
