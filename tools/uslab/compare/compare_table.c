/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare/compare_table.c - what `uslab compare` found, for people: at most 124 columns wide
 *
 * Flow:       called by cmd_compare.c, and for cells by compare_scale_table.c; calls
 *             compare_stats.c, compare_scale_table.c, trace/trace_ops.c and util.c. In: struct
 *             compare; out: text on stdout.
 */
#include "compare/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define NAME_WIDTH 12 /* of contestants */

/* ---- cells ---- */

void table_number(int width, int digits, double value)
{
	if (isnan(value) || value < 0)
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, value);
}

void table_ns(int width, double ns)
{
	table_number(width, ns < 999.95 ? 1 : 0, ns);
}

void table_bytes(int width, uint64_t bytes)
{
	char size[UTIL_SIZE_TEXT];

	printf(" %*s", width, util_size(size, sizeof(size), bytes));
}

/* ---- head ---- */

static void print_head(const struct compare *c, const struct machine *m)
{
	static const char *const touches[] = { [REPLAY_TOUCH_NONE] = "are not written to",
					       [REPLAY_TOUCH_LINE] =
						       "are written to, 64 bytes of each",
					       [REPLAY_TOUCH_ALL] = "are written to, all of them" };
	const struct compare_options *o = &c->options;

	printf("%s\n", o->command);
	printf("uslab " USLAB_VERSION_TEXT " on %s, %ld CPUs, %s\n", m->cpu, m->cpus, m->kernel);
	printf("%s%lu round%s, each in a process of its own; new objects %s\n",
	       o->rounds_given ? "" : "up to ", o->rounds, o->rounds == 1 ? "" : "s",
	       touches[o->touch]);
	if (o->cpus)
		printf("made-up machine: %lu CPUs on %lu nodes, one thread acts for all; without "
		       "restartable sequences\n",
		       o->cpus, o->nodes);
}

static void print_trace(const struct compared_trace *t)
{
	const struct trace_counts *counts = &t->load.ops.counts;
	char peak[UTIL_SIZE_TEXT];

	printf("\nTrace %s: %" PRIu64 " events, %" PRIu64 " allocations, %" PRIu64
	       " frees in %.3f s; at most %s alive\n",
	       t->load.path, t->load.events, counts->allocations, counts->matched_frees,
	       (double)trace_ops_time(&t->load.ops, t->load.ops.nr_ops - 1) / 1e9,
	       util_size(peak, sizeof(peak), counts->peak_bytes * t->copies));
	if (t->copies > 1)
		printf("  %u copies of it at once, each on CPUs of its own\n", t->copies);
	if (t->stride > 1)
		printf("  of 1 in %u of its objects, chosen at random, so that the copies together "
		       "are %zu operations\n",
		       t->stride, t->load.ops.nr_ops * t->copies);
}

/* ---- speed ---- */

static void print_verb(const struct verb_times *v)
{
	double any = v->hist.count ? 1.0 : NAN; /* a trace without frees */

	table_ns(7, v->ns[TIME_MEDIAN] * any);
	table_ns(7, v->ns[TIME_P99] * any);
	table_ns(7, v->ns[TIME_P99_9] * any);
	table_number(8, 0, v->ns[TIME_MAX] * any);
	table_number(6, 0, v->instructions);
}

static void print_speed(const struct compare *c, const struct compared_trace *t)
{
	static const char verb[] = "  median     p99   p99.9      max instr.";

	printf("\n%-*s %7s %6s | %-*s | %-*s |\n", NAME_WIDTH, "Speed, ns", "mean of", "",
	       (int)sizeof(verb) - 2, "one allocation", (int)sizeof(verb) - 2, "one free");
	printf("%-*s %7s %6s |%s |%s | rounds\n", NAME_WIDTH, "", "all", "/ slob", verb, verb);
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		const struct outcome *o = &t->outcomes[kind];

		if (!compare_takes_part(c, kind) || !o->ok)
			continue;
		printf("%-*s", NAME_WIDTH, compare_kinds[kind].name);
		table_ns(7, o->ns_per_op);
		table_number(6, 3, stats_time_ratio(t, kind));
		printf(" |");
		print_verb(&o->verb[REPLAY_ALLOC]);
		printf(" |");
		print_verb(&o->verb[REPLAY_FREE]);
		printf(" | %6u\n", o->rounds);
	}
}

static void print_verb_cycles(const struct verb_times *v, double scale)
{
	for (int i = TIME_MEDIAN; i <= TIME_MAX; i++)
		table_number(i == TIME_MAX ? 9 : 8, 0, v->hist.count ? v->ns[i] * scale : NAN);
}

static void print_cycles(const struct compare *c, const struct compared_trace *t)
{
	static const char verb[] = "   median      p99    p99.9       max";

	printf("\n%-*s %7s %6s | %-*s | %-*s |\n", NAME_WIDTH, "Cycles", "mean of", "",
	       (int)sizeof(verb) - 2, "one allocation", (int)sizeof(verb) - 2, "one free");
	printf("%-*s %7s %6s |%s |%s |\n", NAME_WIDTH, "", "all", "", verb, verb);
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		const struct outcome *o = &t->outcomes[kind];
		double scale = stats_cycles_per_ns(o);

		if (!compare_takes_part(c, kind) || !o->ok)
			continue;
		printf("%-*s", NAME_WIDTH, compare_kinds[kind].name);
		table_number(7, 0, o->ns_per_op * scale);
		printf(" %6s |", "");
		print_verb_cycles(&o->verb[REPLAY_ALLOC], scale);
		printf(" |");
		print_verb_cycles(&o->verb[REPLAY_FREE], scale);
		puts(" |");
	}
}

/* ---- memory ---- */

/* The same for all contestants, in the columns of the table. */
static void print_requested(const struct job_memory *m)
{
	printf("%-*s |", NAME_WIDTH, "requested");
	table_bytes(9, m->at_live_peak.requested);
	printf("%32s |", "");
	table_bytes(9, m->peak.requested);
	printf(" |");
	table_bytes(9, (uint64_t)m->requested_mean);
	printf("%6s |", "");
	table_bytes(9, m->end.requested);
	printf("%6s |\n", "");
}

static void print_memory(const struct compare *c, const struct compared_trace *t)
{
	bool first = true;

	printf("\n%-*s | %-41s | %-9s | %-15s | %-15s |\n", NAME_WIDTH, "Bytes",
	       "when most is alive", "highest", "mean over time", "at the end");
	printf("%-*s | %9s %4s %6s %9s %9s | %9s | %9s %5s | %9s %5s | %7s %9s\n", NAME_WIDTH, "",
	       "slabs", "x", "/ slob", "queues", "CPU slabs", "slabs", "slabs", "x", "slabs", "x",
	       "blocks", "metadata");
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		const struct outcome *o = &t->outcomes[kind];
		const struct job_memory *m = &o->memory;

		if (!compare_takes_part(c, kind) || !o->ok)
			continue;
		if (first)
			print_requested(m);
		first = false;
		printf("%-*s", NAME_WIDTH, compare_kinds[kind].name);
		printf(" |");
		table_bytes(9, m->at_live_peak.slab);
		table_number(4, 2, stats_fragmentation(&m->at_live_peak));
		table_number(6, 3, stats_memory_ratio(t, kind));
		table_bytes(9, m->at_live_peak.queue);
		table_bytes(9, m->at_live_peak.cpu_slab);
		printf(" |");
		table_bytes(9, m->peak.slab);
		printf(" |");
		table_bytes(9, (uint64_t)m->slab_mean);
		table_number(5, 2, m->slab_mean / m->requested_mean);
		printf(" |");
		table_bytes(9, m->end.slab);
		table_number(5, 2, stats_fragmentation(&m->end));
		printf(" | %7" PRIu64, m->page_blocks);
		table_bytes(9, m->meta_bytes);
		putchar('\n');
	}
	puts("x: bytes of slabs for each byte requested; queues: objects in arrays of CPUs and nodes; "
	     "blocks: of pages, asked for");
	puts("CPU slabs: free objects in slabs that belong to a CPU, no queues");
}

/* ---- all ---- */

static void print_summary(const struct compare *c)
{
	printf("\n%-*s geometric means over %u traces, relative to slob\n", NAME_WIDTH, "Summary",
	       c->nr_traces);
	printf("%-*s %12s %24s\n", NAME_WIDTH, "", "ns per op", "slabs when most is alive");
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		if (!compare_takes_part(c, kind))
			continue;
		printf("%-*s", NAME_WIDTH, compare_kinds[kind].name);
		table_number(12, 3, stats_overall(c, kind, stats_time_ratio));
		table_number(24, 3, stats_overall(c, kind, stats_memory_ratio));
		putchar('\n');
	}
}

void compare_print(const struct compare *c, const struct machine *m)
{
	print_head(c, m);
	for (unsigned int i = 0; i < c->nr_traces; i++) {
		print_trace(&c->traces[i]);
		print_speed(c, &c->traces[i]);
		print_cycles(c, &c->traces[i]);
		print_memory(c, &c->traces[i]);
		if (c->traces[i].scaling.nr)
			compare_print_scaling(&c->traces[i].scaling, c->traces[i].whole.nr_ops);
	}
	if (c->nr_traces > 1)
		print_summary(c);
}
