/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report_protocol.c - the kernel's protocols as text: our figures beside the published
 * ones
 *
 * Flow:       called by report.c; calls report.c for tables, run.c and stats.c. In: struct session;
 *             out: text.
 *
 * One table with the columns of the slides; where these are cycles, the same in nanoseconds; then
 * what only one of the benchmarks has: every run of hackbench, a table per size of objects.
 */
#include "bench.h"

#include <string.h>

#define PUBLISHED_WIDTH 9

static int title_width(const struct column *c)
{
	int width = (int)strlen(c->title) + 2;

	return width < 10 ? 10 : width;
}

static bool any_published(const struct column *c)
{
	for (size_t i = 0; i < NR_PUBLISHED; i++)
		if (c->published[i] > 0)
			return true;
	return false;
}

/* A model that was not asked for has no column. */
static bool is_measured(const struct session *s, const struct column *c)
{
	for (size_t i = 0; i < s->nr; i++)
		if (entry_metric(&s->entries[i], c->metric))
			return true;
	return false;
}

static const struct column *next_measured(const struct session *s, const struct column *c)
{
	while (c->metric && !is_measured(s, c))
		c++;
	return c;
}

#define for_each_column(s, c)                                                                 \
	for (const struct column *c = next_measured(s, (s)->benchmark->columns); (c)->metric; \
	     (c) = next_measured(s, (c) + 1))

/* "(2650)", or blanks */
static void published_cell(FILE *out, const struct column *c, const struct entry *e)
{
	char text[24] = "";

	if (c->published[e->who->published] > 0)
		snprintf(text, sizeof(text), "(%.6g)", c->published[e->who->published]);
	fprintf(out, "%*s", PUBLISHED_WIDTH, text);
}

/* The widest of the middle halves: how quiet the machine was for this contestant. */
static double widest_spread(const struct session *s, const struct entry *e)
{
	double widest = 0;

	for_each_column(s, c)
	{
		const struct metric *m = entry_metric(e, c->metric);

		if (m && m->stats.spread > widest)
			widest = m->stats.spread;
	}
	return widest;
}

static void table(const struct session *s, FILE *out)
{
	fprintf(out, "%-*s", REPORT_NAME_WIDTH, s->benchmark->unit);
	for_each_column(s, c) fprintf(out, "%*s%*s", title_width(c), c->title,
				      any_published(c) ? PUBLISHED_WIDTH : 0, "");
	fputs("  spread\n", out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		fprintf(out, "%-*s", REPORT_NAME_WIDTH, e->who->name);
		for_each_column(s, c)
		{
			const struct metric *m = entry_metric(e, c->metric);

			report_cell(out, title_width(c), 2, m ? m->stats.median : -1);
			if (any_published(c))
				published_cell(out, c, e);
		}
		fprintf(out, "%7.1f%%\n", widest_spread(s, e) * 100);
	}
	fprintf(out, "in brackets: %s\n", s->benchmark->source);
}

static void table_of_ns(const struct session *s, FILE *out)
{
	fprintf(out, "\n%-*s", REPORT_NAME_WIDTH, "ns");
	for_each_column(s, c) fprintf(out, "%*s", title_width(c), c->title);
	fputc('\n', out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];
		const struct metric *rate = entry_metric(e, "ns-per-cycle");

		fprintf(out, "%-*s", REPORT_NAME_WIDTH, e->who->name);
		for_each_column(s, c)
		{
			const struct metric *m = entry_metric(e, c->metric);

			report_cell(out, title_width(c), 2,
				    m && rate ? m->stats.median * rate->stats.median : -1);
		}
		fputc('\n', out);
	}
}

static void tables_by_size(const struct session *s, FILE *out)
{
	for_each_column(s, c)
	{
		char prefix[MAX_NAME];

		snprintf(prefix, sizeof(prefix), "%s.", c->metric);
		fprintf(out, "\n%s, cycles by size\n", c->title);
		report_matrix(s, out, "", prefix, false);
	}
}

/* Each round's figure of the headline, as the slide lists its five runs. */
static void runs(const struct session *s, FILE *out)
{
	fprintf(out, "\n%-*s  ratio  runs\n", REPORT_NAME_WIDTH, "to slub");
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *base = ratio_base(s, s->benchmark->key);
		const struct metric *m = entry_metric(&s->entries[i], s->benchmark->key);

		if (!m)
			continue;
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, s->entries[i].who->name);
		report_cell(out, 7, 2,
			    base ? stats_ratio(m->stats.median,
					       entry_metric(base, m->name)->stats.median)
				 : -1);
		for (size_t j = 0; j < m->stats.n; j++)
			fprintf(out, "%7.3f", m->values[j]);
		fputc('\n', out);
	}
	fputs("published: SLAB 4.92 4.87 4.85 4.98 4.85, SLUB 4.84 4.75 4.85 4.9 4.8 (15 groups, 50 "
	      "fds,\n2000 messages of 512 bytes, through sockets)\n",
	      out);
}

void report_protocol(const struct session *s, FILE *out)
{
	table(s, out);
	if (!strcmp(s->benchmark->unit, "cycles"))
		table_of_ns(s, out);
	if (s->options.sizes)
		tables_by_size(s, out);
	if (s->benchmark->takes & TAKES_GROUPS)
		runs(s, out);
	fputc('\n', out);
}
