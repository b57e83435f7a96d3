/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report_latency.c - the times of single calls as text
 *
 * Flow:       called by report.c; calls report.c for tables, and run.c. In: struct session; out:
 *             text.
 *
 * A table of all calls, with ratios to the fastest peer and how far the rounds lie apart; one for
 * each kind of call; and one of what the process took.
 */
#include "bench.h"

#include <string.h>

static const char *const kinds[] = { "all", "malloc", "free", "calloc", "realloc" };
static const char *const points[] = { "p50", "p90", "p99", "p99.9", "p99.99", "max", "repeat" };
static const char *const of_run[] = { "faults", "rss", "preempted", "clock" };
#define NR(names) (sizeof(names) / sizeof((names)[0]))

static const struct metric *metric_of(const struct entry *e, const char *group, const char *name)
{
	char full[MAX_NAME];

	snprintf(full, sizeof(full), "%s.%s", group, name);
	return entry_metric(e, full);
}

static void head(FILE *out, const char *title, const char *const *names, size_t nr)
{
	fprintf(out, "%-*s", REPORT_NAME_WIDTH, title);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, " %9s", names[i]);
	fputc('\n', out);
}

static void table(const struct session *s, FILE *out, const char *group, const char *const *names,
		  size_t nr, int digits)
{
	head(out, group, names, nr);
	for (size_t i = 0; i < s->nr; i++) {
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, s->entries[i].who->name);
		for (size_t j = 0; j < nr; j++) {
			const struct metric *m = metric_of(&s->entries[i], group, names[j]);

			report_cell(out, 10, digits, m ? m->stats.median : -1);
		}
		fputc('\n', out);
	}
	fputc('\n', out);
}

/* The middle half of the rounds, as a share of their median. */
static void spread_table(const struct session *s, FILE *out)
{
	head(out, "spread of all", points, NR(points));
	for (size_t i = 0; i < s->nr; i++) {
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, s->entries[i].who->name);
		for (size_t j = 0; j < NR(points); j++) {
			const struct metric *m = metric_of(&s->entries[i], "all", points[j]);

			fprintf(out, " %8.1f%%", m ? m->stats.spread * 100 : 0);
		}
		fputc('\n', out);
	}
	fputc('\n', out);
}

/* What a process took; of counts the run is another one. */
static void run_table(const struct session *s, FILE *out)
{
	fprintf(out, "%-*s", REPORT_NAME_WIDTH, "run");
	for (size_t i = 0; i < NR(of_run); i++)
		fprintf(out, " %9s", of_run[i]);
	fprintf(out, "%s\n", s->options.counts ? "     insns" : "");
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		fprintf(out, "%-*s", REPORT_NAME_WIDTH, e->who->name);
		for (size_t j = 0; j < NR(of_run); j++) {
			const struct metric *m = metric_of(e, "run", of_run[j]);

			report_cell(out, 10, 1, m ? m->stats.median : -1);
		}
		if (s->options.counts)
			report_cell(out, 10, 0, e->counts.longest);
		fputc('\n', out);
	}
	fputc('\n', out);
}

void report_latency(const struct session *s, FILE *out)
{
	table(s, out, kinds[0], points, NR(points), 1);
	report_matrix(s, out, "ratio", "all.", true);
	fputc('\n', out);
	if (s->options.rounds > 1)
		spread_table(s, out);
	for (size_t i = 1; i < NR(kinds); i++)
		table(s, out, kinds[i], points, NR(points), 1);
	run_table(s, out);
	fputs("max        the longest call during which the thread was not switched off\n"
	      "repeat     the longest call that took so long in each pass: what is left without what\n"
	      "           only the machine did; the longest of \"loop\" is the machine's alone\n"
	      "faults     minor page faults\n"
	      "rss        KiB that the load added: those at the peak less those before it\n",
	      out);
	for (size_t i = 0; i < s->nr; i++)
		if (s->entries[i].who->conf)
			fprintf(out, "           (%s had taken its memory before: %s)\n",
				s->entries[i].who->name, s->entries[i].who->conf);
	fputs("preempted  calls during which the thread was switched off: left out\n"
	      "clock      ns that reading the clock costs: taken off each time\n",
	      out);
	if (s->options.counts)
		fputs("insns      the most instructions, by single steps, that one of the 16 longest\n"
		      "           calls takes in the program; those in the kernel are not counted\n",
		      out);
	if (s->count_note[0])
		fprintf(out, "note: %s\n", s->count_note);
}
