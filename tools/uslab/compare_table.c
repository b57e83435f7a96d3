/* SPDX-License-Identifier: MIT */
/*
 * uslab/compare_table.c - what `uslab compare` found, for people: at most 120 columns wide
 */
#include "compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define NAME_WIDTH 12 /* of contestants */
#define SCALES_WIDE 3 /* contestants side by side */

/* ---- cells ---- */

/* "-" for what there is not. */
static void put_number(int width, int digits, double value)
{
	if (isnan(value) || value < 0)
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, value);
}

/* Few digits for large numbers: 12.3, 123, 12345. */
static void put_ns(int width, double ns)
{
	put_number(width, ns < 999.95 ? 1 : 0, ns);
}

static void put_bytes(int width, uint64_t bytes)
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
	printf("%s%lu rounds, each in a process of its own; new objects %s\n",
	       o->rounds_given ? "" : "up to ", o->rounds, touches[o->touch]);
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

	put_ns(7, v->ns[TIME_MEDIAN] * any);
	put_ns(7, v->ns[TIME_P99] * any);
	put_ns(7, v->ns[TIME_P99_9] * any);
	put_number(8, 0, v->ns[TIME_MAX] * any);
	put_number(6, 0, v->instructions);
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
		put_ns(7, o->ns_per_op);
		put_number(6, 3, stats_time_ratio(t, kind));
		printf(" |");
		print_verb(&o->verb[REPLAY_ALLOC]);
		printf(" |");
		print_verb(&o->verb[REPLAY_FREE]);
		printf(" | %6u\n", o->rounds);
	}
}

/* ---- memory ---- */

static void print_memory(const struct compare *c, const struct compared_trace *t)
{
	printf("\n%-*s | %-34s | %-9s | %-16s | %-16s |\n", NAME_WIDTH, "Bytes",
	       "when most is alive", "highest", "mean over time", "at the end");
	printf("%-*s | %10s %5s %6s %10s | %9s | %10s %5s | %10s %5s | %7s %9s\n", NAME_WIDTH, "",
	       "slabs", "x", "/ slob", "queues", "slabs", "slabs", "x", "slabs", "x", "blocks",
	       "metadata");
	for (unsigned int kind = 0; kind < COMPARE_NR; kind++) {
		const struct outcome *o = &t->outcomes[kind];
		const struct job_memory *m = &o->memory;

		if (!compare_takes_part(c, kind) || !o->ok)
			continue;
		printf("%-*s", NAME_WIDTH, compare_kinds[kind].name);
		printf(" |");
		put_bytes(10, m->at_live_peak.slab);
		put_number(5, 2, stats_fragmentation(&m->at_live_peak));
		put_number(6, 3, stats_memory_ratio(t, kind));
		put_bytes(10, m->at_live_peak.queue);
		printf(" |");
		put_bytes(9, m->peak.slab);
		printf(" |");
		put_bytes(10, (uint64_t)m->slab_mean);
		put_number(5, 2, m->slab_mean / m->requested_mean);
		printf(" |");
		put_bytes(10, m->end.slab);
		put_number(5, 2, stats_fragmentation(&m->end));
		printf(" | %7" PRIu64, m->page_blocks);
		put_bytes(9, m->meta_bytes);
		putchar('\n');
	}
	puts("x: bytes of slabs for each byte requested; queues: objects held for the next "
	     "allocations; blocks: of pages, taken");
}

/* ---- scaling ---- */

static void print_scale_rows(const struct scaling *s, const unsigned int *kinds, unsigned int nr)
{
	for (unsigned int at = 0; at < s->nr; at++) {
		printf("%5u %5u", s->cpus[at], s->nodes[at]);
		for (unsigned int i = 0; i < nr; i++) {
			const struct scale_point *p = &s->points[kinds[i]][at];

			printf(" |");
			if (!p->ok) {
				printf("%33s", "-");
				continue;
			}
			put_bytes(9, p->slab_bytes);
			put_bytes(9, p->queue_bytes);
			if (s->nodes[at] > 1)
				put_bytes(9, p->queue_bytes_one_node);
			else
				printf(" %9s", "");
			put_ns(6, p->ns_per_op);
		}
		putchar('\n');
	}
}

static void print_scaling(const struct scaling *s)
{
	unsigned int kinds[COMPARE_NR];
	unsigned int nr = 0;

	for (unsigned int kind = 0; kind < COMPARE_NR; kind++)
		if (s->chosen & 1u << kind)
			kinds[nr++] = kind;
	for (unsigned int from = 0; from < nr; from += SCALES_WIDE) {
		unsigned int wide = nr - from < SCALES_WIDE ? nr - from : SCALES_WIDE;

		printf("\nScaling    ");
		for (unsigned int i = 0; i < wide; i++)
			printf(" | %-35s", compare_kinds[kinds[from + i]].name);
		printf("\n%5s %5s", "CPUs", "nodes");
		for (unsigned int i = 0; i < wide; i++)
			printf(" | %9s %9s %9s %6s", "slabs", "queues", "(1 node)", "ns/op");
		putchar('\n');
		print_scale_rows(s, kinds + from, wide);
	}
	puts("bytes: the highest seen; (1 node): queues, were all these CPUs on one node; one round "
	     "each");
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
		put_number(12, 3, stats_overall(c, kind, stats_time_ratio));
		put_number(24, 3, stats_overall(c, kind, stats_memory_ratio));
		putchar('\n');
	}
}

void compare_print(const struct compare *c, const struct machine *m)
{
	print_head(c, m);
	for (unsigned int i = 0; i < c->nr_traces; i++) {
		print_trace(&c->traces[i]);
		print_speed(c, &c->traces[i]);
		print_memory(c, &c->traces[i]);
		if (c->traces[i].scaling.nr)
			print_scaling(&c->traces[i].scaling);
	}
	if (c->nr_traces > 1)
		print_summary(c);
}
