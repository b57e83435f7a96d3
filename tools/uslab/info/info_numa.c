/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_numa.c - slabs by node (spec 8.8), and all that is counted of nodes
 *
 * Flow:       called by cmd_info.c and info_report.c; calls inspect/text.c. In: a row; out: its
 *             slabs by node, as text.
 */
#include <stdio.h>

#include "info/info.h"
#include "inspect/text.h"

static void print_heading(const struct snapshot *s, const char *title)
{
	printf("\n%-21s:", title);
	for (unsigned int node = 0; node < s->totals.nodes; node++)
		printf(" %4u", node);
	printf("\n----------------------");
	for (unsigned int node = 0; node < s->totals.nodes; node++)
		printf("-----");
	putchar('\n');
}

static void print_numbers(const struct snapshot *s, const char *title,
			  const struct snapshot_cache *c, bool partial)
{
	char text[24];

	printf("%-21s ", title);
	for (unsigned int node = 0; node < s->totals.nodes; node++) {
		text_scale(text, sizeof(text),
			   partial ? c->node[node].partial : c->node[node].slabs);
		printf(" %4s", text);
	}
	putchar('\n');
}

/* One node only: there is nothing to break down. */
static bool has_nodes(const struct snapshot *s, const struct info_row *row)
{
	if (s->totals.nodes < 2)
		printf("\n%s: No NUMA information available.\n", row->name);
	return s->totals.nodes > 1;
}

void info_print_numa(const struct snapshot *s, const struct info_row *row, bool first)
{
	if (!has_nodes(s, row))
		return;
	if (first)
		print_heading(s, "Slab");
	print_numbers(s, row->name, row->cache, false);
}

void info_print_nodes(const struct snapshot *s, const struct info_row *row)
{
	if (!has_nodes(s, row))
		return;
	print_heading(s, "NUMA nodes");
	print_numbers(s, "All slabs", row->cache, false);
	print_numbers(s, "Partial slabs", row->cache, true);
}

/* As numastat(8) has it: a line for each number, a column for each node. */
void info_print_machine_nodes(const struct snapshot *s)
{
	if (s->totals.nodes < 2)
		return;
	printf("\n%-16s", "Node");
	for (unsigned int node = 0; node < s->totals.nodes; node++)
		printf(" %11u", node);
	putchar('\n');
#define NODE_FIELD(member, key, help)                               \
	printf("%-16s", key);                                       \
	for (unsigned int node = 0; node < s->totals.nodes; node++) \
		printf(" %11lu", s->node[node].member);             \
	putchar('\n');
#include "inspect/fields.def"
}
