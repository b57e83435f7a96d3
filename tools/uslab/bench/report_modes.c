/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report_modes.c - how a figure is spread over processes, as text
 *
 * Flow:       called by report.c; calls report.c for numbers, run.c and stats.c. In: struct
 *             session; out: text.
 *
 * A table, then a picture: a line for each contestant, on which a digit says how many processes
 * took about so long. Its scale is logarithmic, the same for all, so that equal distances are
 * equal ratios.
 */
#include "bench.h"

#include <math.h>
#include <string.h>

#define COLUMNS 60
#define FLOOR "null-malloc"

/* The median of the malloc that does nothing; -1: it does not take part. */
static double floor_median(const struct session *s, const char *key)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct metric *m = entry_metric(&s->entries[i], key);

		if (m && !strcmp(s->entries[i].who->name, FLOOR))
			return m->stats.median;
	}
	return -1;
}

static void table(const struct session *s, const char *key, FILE *out)
{
	double floor = floor_median(s, key);

	fprintf(out, "%-*s %8s %8s %8s %8s %8s %8s %8s\n", REPORT_NAME_WIDTH, "contestant", "min",
		"q1", "median", "q3", "max", "max/med", "to null");
	for (size_t i = 0; i < s->nr; i++) {
		const struct metric *m = entry_metric(&s->entries[i], key);

		if (!m)
			continue;
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, s->entries[i].who->name);
		report_cell(out, 9, 2, m->stats.min);
		report_cell(out, 9, 2, m->stats.q1);
		report_cell(out, 9, 2, m->stats.median);
		report_cell(out, 9, 2, m->stats.q3);
		report_cell(out, 9, 2, m->stats.max);
		report_cell(out, 9, 2, stats_ratio(m->stats.max, m->stats.median));
		report_cell(out, 9, 2, stats_ratio(m->stats.median, floor));
		fputc('\n', out);
	}
}

/* The smallest and the largest time of all; false: there is none, or no scale for them. */
static bool range(const struct session *s, const char *key, double *low, double *high)
{
	*low = INFINITY;
	*high = 0;
	for (size_t i = 0; i < s->nr; i++) {
		const struct metric *m = entry_metric(&s->entries[i], key);

		if (!m)
			continue;
		*low = fmin(*low, m->stats.min);
		*high = fmax(*high, m->stats.max);
	}
	return *low > 0 && *high > *low;
}

static void draw(const struct metric *m, double low, double high, FILE *out)
{
	unsigned int count[COLUMNS] = { 0 };
	char line[COLUMNS + 1];

	for (size_t i = 0; i < m->stats.n; i++) {
		double at = log(m->values[i] / low) / log(high / low) * (COLUMNS - 1);

		count[(size_t)lround(at)]++;
	}
	for (size_t i = 0; i < COLUMNS; i++)
		line[i] = count[i] > 9 ? '#' : count[i] ? (char)('0' + count[i]) : '.';
	line[COLUMNS] = '\0';
	fprintf(out, "%s\n", line);
}

void report_modes(const struct session *s, FILE *out)
{
	const char *key = s->benchmark->key;
	double low, high;

	table(s, key, out);
	if (!range(s, key, &low, &high))
		return;
	fprintf(out, "\n%-*s %-*.2f%*.2f ns\n", REPORT_NAME_WIDTH, "processes", COLUMNS / 2, low,
		COLUMNS / 2, high);
	for (size_t i = 0; i < s->nr; i++) {
		const struct metric *m = entry_metric(&s->entries[i], key);

		if (!m)
			continue;
		fprintf(out, "%-*s ", REPORT_NAME_WIDTH, s->entries[i].who->name);
		draw(m, low, high, out);
	}
	fputs("\nmax/med    the slowest process to the median one\n"
	      "to null    the median to that of a malloc that does nothing\n"
	      "processes  how many took about so long, # for ten and more; logarithmic\n",
	      out);
}
