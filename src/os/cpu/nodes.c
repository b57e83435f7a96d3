/* SPDX-License-Identifier: MIT */
/*
 * os/cpu/nodes.c - which nodes have memory, and which is nearest to which (spec 0.3)
 *
 * Why:        docs/adr/0062.
 * Data:       os_nodes.
 * Invariants: os/cpu/nodes.h has them; checked by os_nodes_check().
 * Locks:      none; the library's init comes here before there is a second user.
 * Flow:       see nodes.h.
 */
#include "os/cpu/nodes.h"

#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "os/cpu/cpulist.h"
#include "os/process/file.h"
#include "os/process/say.h"

#define PATH_BYTES 256
#define TEXT_BYTES 4097 /* sysfs prints at most a page */

BUILD_ASSERT(OS_MAX_NODES <= 64); /* a mask is one word */

struct os_nodes os_nodes = { .memory = 1 };

static uint64_t all_of(unsigned int nr_nodes)
{
	return ~0ull >> (OS_MAX_NODES - nr_nodes);
}

/* Is a nearer to `from` than b? */
static bool is_nearer(os_distances distances, unsigned int from, unsigned int a, unsigned int b)
{
	if ((a == from) != (b == from))
		return a == from;
	if (distances[from][a] != distances[from][b])
		return distances[from][a] < distances[from][b];
	return a > b;
}

static void sort(struct os_nodes *nodes, unsigned int nr_nodes, os_distances distances)
{
	for (unsigned int from = 0; from < nr_nodes; from++) {
		uint8_t *order = nodes->order[from];

		for (unsigned int node = 0; node < nr_nodes; node++) {
			unsigned int i = node;

			for (; i && is_nearer(distances, from, node, order[i - 1]); i--)
				order[i] = order[i - 1];
			order[i] = (uint8_t)node;
		}
	}
}

/* The difference of the numbers. */
static void make_up(os_distances distances, unsigned int nr_nodes)
{
	for (unsigned int a = 0; a < nr_nodes; a++)
		for (unsigned int b = 0; b < nr_nodes; b++)
			distances[a][b] = (uint8_t)(OS_NODE_LOCAL + (a > b ? a - b : b - a));
}

void os_nodes_make_up(unsigned int nr_nodes)
{
	os_distances distances;

	os_nodes.memory = all_of(nr_nodes);
	if (nr_nodes == 1)
		return;
	make_up(distances, nr_nodes);
	sort(&os_nodes, nr_nodes, distances);
}

void os_nodes_set_distances(unsigned int nr_nodes, os_distances distances)
{
	sort(&os_nodes, nr_nodes, distances);
}

unsigned int os_nodes_nearest(uint64_t mask, unsigned int node)
{
	const uint8_t *order = os_nodes.order[node];

	for (unsigned int i = 0; mask && i < os_topology.nr_nodes; i++)
		if (mask & os_node_bit(order[i]))
			return order[i];
	return node;
}

/* Reads sys/node/name. */
static bool read_text(char text[TEXT_BYTES], const char *sys, const char *name)
{
	char path[PATH_BYTES];

	return os_format(path, sizeof(path), "%s/node/%s", sys, name) < sizeof(path) &&
	       os_read_text(path, text, TEXT_BYTES) > 0;
}

/* Nodes in a list. 0: it is none, or names one that is too high. */
static uint64_t mask_of_list(const char *list, unsigned int nr_nodes)
{
	unsigned int first;
	unsigned int last;
	uint64_t mask = 0;
	int ret = 0;

	while ((ret = os_cpulist_next(&list, &first, &last)) > 0) {
		if (last >= nr_nodes)
			return 0;
		for (; first <= last; first++)
			mask |= os_node_bit(first);
	}
	return ret ? 0 : mask;
}

/* The same of a file; 0: it cannot be read. */
static uint64_t read_mask(const char *sys, const char *name, unsigned int nr_nodes)
{
	char text[TEXT_BYTES];

	return read_text(text, sys, name) ? mask_of_list(text, nr_nodes) : 0;
}

/* A number, and blanks before it; OS_NODE_FAR if it is larger. */
static bool next_number(const char **text, uint8_t *number)
{
	unsigned int n = 0;
	const char *p = *text;

	while (*p == ' ' || *p == '\t')
		p++;
	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		n = MIN(n * 10 + (unsigned int)(*p - '0'), OS_NODE_FAR);
	*text = p;
	*number = (uint8_t)n;
	return true;
}

/* The distances of one node, "10 20 20" for the nodes that are online. false: no such file. */
static bool read_row(const char *sys, unsigned int node, uint64_t online, uint8_t *row)
{
	char text[TEXT_BYTES];
	char name[32];
	const char *next = text;

	os_format(name, sizeof(name), "node%u/distance", node);
	if (!read_text(text, sys, name))
		return false;
	for (; online; online &= online - 1)
		if (!next_number(&next, &row[__builtin_ctzll(online)]))
			return false;
	return true;
}

static void read_distances(os_distances distances, unsigned int nr_nodes, const char *sys)
{
	uint64_t online = read_mask(sys, "online", nr_nodes);

	memset(distances, OS_NODE_FAR, sizeof(os_distances));
	for (unsigned int node = 0; node < nr_nodes; node++) {
		if (!(online & os_node_bit(node)))
			continue;
		if (!read_row(sys, node, online, distances[node])) {
			make_up(distances, nr_nodes);
			return;
		}
	}
	if (!online)
		make_up(distances, nr_nodes);
}

/* Tables and files that a machine of one node has no stack for. */
static cold void read_several(struct os_nodes *nodes, unsigned int nr_nodes, const char *sys)
{
	os_distances distances;

	nodes->memory = read_mask(sys, "has_memory", nr_nodes);
	if (!nodes->memory)
		nodes->memory = read_mask(sys, "online", nr_nodes);
	if (!nodes->memory)
		nodes->memory = all_of(nr_nodes);
	read_distances(distances, nr_nodes, sys);
	sort(nodes, nr_nodes, distances);
}

void os_nodes_read(struct os_nodes *nodes, unsigned int nr_nodes, const char *sys)
{
	nodes->memory = all_of(nr_nodes);
	if (nr_nodes > 1)
		read_several(nodes, nr_nodes, sys);
}

static cold uint64_t allowed_nodes(unsigned int nr_nodes, const char *status)
{
	static const char name[] = "\nMems_allowed_list:\t";
	char text[TEXT_BYTES];
	const char *list = NULL;

	if (os_read_text(status, text, sizeof(text)) > 0)
		list = strstr(text, name);
	return list ? mask_of_list(list + sizeof(name) - 1, nr_nodes) : 0;
}

void os_nodes_confine(struct os_nodes *nodes, unsigned int nr_nodes, const char *status)
{
	uint64_t both = nr_nodes > 1 ? nodes->memory & allowed_nodes(nr_nodes, status) : 0;

	if (both)
		nodes->memory = both;
}

void os_nodes_adopt(const struct os_nodes *nodes, struct topology *t)
{
	for (unsigned int cpu = 0; t->nr_nodes > 1 && cpu < t->nr_cpu_ids; cpu++) {
		const uint8_t *near = nodes->order[t->node_of[cpu]];

		while (!(nodes->memory & os_node_bit(*near)))
			near++;
		t->node_of[cpu] = *near;
	}
}

void os_nodes_check(void)
{
	unsigned int nr_nodes = os_topology.nr_nodes;

	CHECK(os_nodes.memory && !(os_nodes.memory & ~all_of(nr_nodes)));
	for (unsigned int from = 0; nr_nodes > 1 && from < nr_nodes; from++) {
		uint64_t seen = 0;

		CHECK(os_nodes.order[from][0] == from);
		for (unsigned int i = 0; i < nr_nodes; i++)
			seen |= os_node_bit(os_nodes.order[from][i]);
		CHECK(seen == all_of(nr_nodes));
	}
}
