/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_activity.c - what the event counters say: the lines of -D, the end of a report
 * (spec 8.3, 8.4)
 *
 * Flow:       called by cmd_info.c, info_print.c and info_report.c; calls util.c. In: rows, or one
 *             cache; out: text.
 */
#include <stdio.h>
#include <string.h>

#include "info/info.h"
#include "util.h"

#define RULE "--------------------------------------------------"

/* 0 of nothing, unlike the columns of the table. */
static unsigned long percent(unsigned long part, unsigned long whole)
{
	return whole ? part * 100 / whole : 0;
}

static unsigned long allocs(const struct snapshot_cache *c)
{
	return c->stat[ALLOC_FASTPATH] + c->stat[ALLOC_SLOWPATH];
}

static unsigned long frees(const struct snapshot_cache *c)
{
	return c->stat[FREE_FASTPATH] + c->stat[FREE_SLOWPATH];
}

void info_print_activity(const struct info_row *rows, unsigned int count)
{
	if (count)
		puts("Name                   Objects      Alloc       Free   %Fast Fallb O CmpX   UL");
	for (unsigned int i = 0; i < count; i++) {
		const struct snapshot_cache *c = rows[i].cache;

		printf("%-21s %8lu %10lu %10lu %3lu %3lu %5lu %1u %4lu %4lu\n", rows[i].name,
		       c->objects, allocs(c), frees(c), percent(c->stat[ALLOC_FASTPATH], allocs(c)),
		       percent(c->stat[FREE_FASTPATH], frees(c)), c->stat[ORDER_FALLBACK], c->order,
		       c->stat[CMPXCHG_DOUBLE_FAIL], c->stat[CMPXCHG_DOUBLE_CPU_FAIL]);
	}
}

static bool counts_anything(const struct snapshot *s)
{
	for (unsigned int i = 0; i < s->nr_caches; i++)
		for (unsigned int j = 0; j < NR_ENGINE_STATS; j++)
			if (s->cache[i].stat[j])
				return true;
	return false;
}

void info_warn_activity(const struct info_subject *subject)
{
	const char *title = subject->source.title;
	bool arrays = false;

	if (subject->source.options.kind == SOURCE_TREE || !subject->nr_rows)
		return;
	if (!counts_anything(subject->s)) {
		util_warn(INFO_COMMAND,
			  "%s was not started with USLAB_CONF=stats: it counts no allocations and "
			  "frees",
			  title);
		return;
	}
	for (unsigned int i = 0; i < subject->nr_rows; i++)
		arrays |= !strcmp(subject->rows[i].cache->front, "array");
	if (arrays)
		util_warn(
			INFO_COMMAND,
			"%s: allocations and frees that hit a CPU's array (the front array) are not "
			"counted",
			title);
}

static void print_counters(const struct snapshot_cache *c)
{
	const unsigned long *n = c->stat;
	const struct {
		const char *name;
		unsigned long alloc, free;
	} rows[] = {
		{ "Fastpath", n[ALLOC_FASTPATH], n[FREE_FASTPATH] },
		{ "Slowpath", n[ALLOC_SLOWPATH], n[FREE_SLOWPATH] },
		{ "Page Alloc", n[ALLOC_SLAB], n[FREE_SLAB] },
		{ "Add partial", n[DEACTIVATE_TO_HEAD] + n[DEACTIVATE_TO_TAIL],
		  n[FREE_ADD_PARTIAL] },
		{ "Remove partial", n[ALLOC_FROM_PARTIAL], n[FREE_REMOVE_PARTIAL] },
		{ "Cpu partial list", n[CPU_PARTIAL_ALLOC], n[CPU_PARTIAL_FREE] },
		{ "RemoteObj/SlabFrozen", n[DEACTIVATE_REMOTE_FREES], n[FREE_FROZEN] },
	};

	puts("\nSlab Perf Counter       Alloc     Free %Al %Fr\n" RULE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%-21s%8lu %8lu %3lu %3lu\n", rows[i].name, rows[i].alloc, rows[i].free,
		       percent(rows[i].alloc, allocs(c)), percent(rows[i].free, frees(c)));
	printf("%-21s%8lu %8lu\n\n", "Total", allocs(c), frees(c));
	if (n[CPUSLAB_FLUSH])
		printf("Flushes %8lu\n", n[CPUSLAB_FLUSH]);
}

static void print_deactivation(const struct snapshot_cache *c)
{
	const unsigned long *n = c->stat;
	unsigned long total = n[DEACTIVATE_FULL] + n[DEACTIVATE_EMPTY] + n[DEACTIVATE_TO_HEAD] +
			      n[DEACTIVATE_TO_TAIL] + n[DEACTIVATE_BYPASS];
	const struct {
		const char *name;
		enum engine_stat item;
	} rows[] = {
		{ "Slab full", DEACTIVATE_FULL },
		{ "Slab empty", DEACTIVATE_EMPTY },
		{ "Moved to head of partial list", DEACTIVATE_TO_HEAD },
		{ "Moved to tail of partial list", DEACTIVATE_TO_TAIL },
		{ "Deactivation bypass", DEACTIVATE_BYPASS },
		{ "Refilled from foreign frees", ALLOC_REFILL },
		{ "Node mismatch", ALLOC_NODE_MISMATCH },
	};

	if (!total)
		return;
	printf("\nSlab Deactivation             Occurrences %%\n%.49s\n", RULE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%-30s%7lu  %3lu%%\n", rows[i].name, n[rows[i].item],
		       percent(n[rows[i].item], total));
}

void info_print_performance(const struct snapshot_cache *c)
{
	unsigned long locked = c->stat[CMPXCHG_DOUBLE_FAIL];
	unsigned long unlocked = c->stat[CMPXCHG_DOUBLE_CPU_FAIL];

	if (!c->stat[ALLOC_SLAB] || !allocs(c))
		return;
	print_counters(c);
	print_deactivation(c);
	if (locked || unlocked)
		printf("\nCmpxchg_double Looping\n%.24s\n"
		       "Locked Cmpxchg Double redos   %lu\nUnlocked Cmpxchg Double redos %lu\n",
		       RULE, locked, unlocked);
}
