/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report.c - the results as text
 *
 * Flow:       called by cmd_bench.c, for tables and the base of ratios by report_protocol.c and
 *             report_latency.c, for numbers by report_arrays.c and report_modes.c, for that base
 *             by report_json.c; calls report_arrays.c, report_protocol.c, report_locality.c,
 *             report_latency.c, report_modes.c, run.c, stats.c and catalogue.c. In: struct
 *             session; out: text.
 *
 * A benchmark with one number per contestant gets one line for each, with range and instructions;
 * one with several gets two tables, medians and ratios; bulk calls stand beside their loops. Ratios
 * are to the fastest peer of the very same column. The kernel's protocols have a page of their own
 * (report_protocol.c).
 */
#include "bench.h"

#include <string.h>

#include "../util.h"

const char *role_name(enum role role)
{
	static const char *const names[] = { "uslab", "peer", "system", "floor" };

	return names[role];
}

const struct entry *ratio_base(const struct session *s, const char *metric)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];
		const struct metric *m = entry_metric(e, metric);
		bool candidate = s->benchmark->columns ? !strcmp(e->who->name, "slub")
						       : e->who->role == ROLE_PEER;

		if (candidate && m &&
		    (!best || m->stats.median < entry_metric(best, metric)->stats.median))
			best = e;
	}
	return best;
}

static double ratio_of(const struct session *s, const struct metric *m)
{
	const struct entry *peer = ratio_base(s, m->name);

	return peer ? stats_ratio(m->stats.median, entry_metric(peer, m->name)->stats.median) : -1;
}

void report_cell(FILE *out, int width, int digits, double value)
{
	if (value < 0)
		fprintf(out, "%*s", width, "-");
	else
		fprintf(out, "%*.*f", width, value >= 10000 ? 0 : digits, value);
}

/* ---- one metric ---- */

static void single_table(const struct session *s, FILE *out)
{
	const char *key = s->benchmark->key;

	fprintf(out, "%-*s %8s %8s %8s %7s %7s", REPORT_NAME_WIDTH, "contestant", "median", "min",
		"max", "spread", "ratio");
	if (s->options.counts)
		fprintf(out, " %8s %8s %9s", "insns", "in-lib", "callgrind");
	fputc('\n', out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];
		const struct metric *m = entry_metric(e, key);

		if (!m)
			continue;
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, e->who->name);
		report_cell(out, 9, 2, m->stats.median);
		report_cell(out, 9, 2, m->stats.min);
		report_cell(out, 9, 2, m->stats.max);
		fprintf(out, "%7.1f%%", m->stats.spread * 100);
		report_cell(out, 8, 2, e->who->role == ROLE_FLOOR ? -1 : ratio_of(s, m));
		if (s->options.counts) {
			report_cell(out, 9, 1, e->counts.stepped);
			report_cell(out, 9, 1,
				    e->library_path[0] || e->who->role == ROLE_SYSTEM
					    ? e->counts.in_library
					    : -1);
			report_cell(out, 10, 1, e->counts.callgrind);
		}
		fputc('\n', out);
	}
}

static void explain_counts(const struct session *s, FILE *out)
{
	if (!s->options.counts)
		return;
	fputs("\ninsns      instructions per pair by single steps, the loop's own taken off\n"
	      "in-lib     those of them inside of the preloaded library (without call and PLT)\n"
	      "callgrind  instructions per pair under valgrind, where uslab runs without rseq\n",
	      out);
	if (s->count_note[0])
		fprintf(out, "note: %s\n", s->count_note);
}

/* ---- several metrics ---- */

static int column_width(const char *name)
{
	int width = (int)strlen(name) + 1;

	return width < 9 ? 9 : width;
}

/* prefix "free." for the metrics of each size, "" for all. */
static bool in_matrix(const struct metric *m, const char *prefix)
{
	return !strncmp(m->name, prefix, strlen(prefix));
}

/* Has it one of the metrics that are shown? */
static bool has_any(const struct entry *e, const struct entry *first, const char *prefix)
{
	for (size_t j = 0; j < first->nr_metrics; j++)
		if (in_matrix(&first->metrics[j], prefix) &&
		    entry_metric(e, first->metrics[j].name))
			return true;
	return false;
}

void report_matrix(const struct session *s, FILE *out, const char *title, const char *prefix,
		   bool ratios)
{
	const struct entry *first = &s->entries[0];

	fprintf(out, "%-*s", REPORT_NAME_WIDTH, title);
	for (size_t j = 0; j < first->nr_metrics; j++)
		if (in_matrix(&first->metrics[j], prefix))
			fprintf(out, "%*s", column_width(first->metrics[j].name),
				first->metrics[j].name);
	fputc('\n', out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		if ((ratios && e->who->role == ROLE_FLOOR) || !has_any(e, first, prefix))
			continue;
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, e->who->name);
		for (size_t j = 0; j < first->nr_metrics; j++) {
			const struct metric *m = entry_metric(e, first->metrics[j].name);
			double value = !m ? -1 : ratios ? ratio_of(s, m) : m->stats.median;

			if (in_matrix(&first->metrics[j], prefix))
				report_cell(out, column_width(first->metrics[j].name), 2, value);
		}
		fputc('\n', out);
	}
}

/* ---- the page ---- */

static void show_variable(const char *name, const char *value, void *out)
{
	fprintf(out, "environment: %s=%s\n", name, value);
}

/* Behind "9 rounds". */
static void protocol_settings(const struct session *s, FILE *out)
{
	const struct options *o = &s->options;

	if (s->benchmark->takes & TAKES_OBJECTS)
		fprintf(out, " of about %u ms each", o->ms);
	fputs(", in turn", out);
	if (s->benchmark->takes & TAKES_OBJECTS)
		fprintf(out, ", %u objects", o->objects);
	if (s->benchmark->takes & TAKES_THREADS)
		fprintf(out, ", %u threads", plan_threads(s));
	if (s->benchmark->takes & TAKES_GROUPS)
		fprintf(out, ", %u groups of %u senders and %u receivers, %u messages each",
			o->groups, o->fds, o->fds, o->loops);
	if (o->cpus)
		fprintf(out, ", acting for %u CPUs on %u node%s", o->cpus, o->nodes,
			o->nodes == 1 ? "" : "s");
}

static void head(const struct session *s, const struct machine *m, FILE *out)
{
	const struct options *o = &s->options;
	char memory[UTIL_SIZE_TEXT];

	fprintf(out, "%s\n", o->command);
	fprintf(out, "date:    %s%s%s\n", m->date, o->note ? ", " : "", o->note ? o->note : "");
	fprintf(out, "machine: %s, %ld CPUs, %s; load before: %.2f\n", m->cpu, m->cpus,
		util_size(memory, sizeof(memory), m->memory), m->load);
	fprintf(out, "system:  %s, %s; uslab " USLAB_VERSION_TEXT " built by %s\n", m->kernel,
		m->libc, m->compiler);
	machine_environment(show_variable, out);
	fprintf(out, "\n%s: %s", s->benchmark->name, s->benchmark->what);
	if (s->benchmark->size)
		fprintf(out, "; %u bytes", o->size ? o->size : s->benchmark->size);
	fprintf(out, "\n%u round%s", o->rounds, o->rounds == 1 ? "" : "s");
	if (s->benchmark->columns)
		protocol_settings(s, out);
	else if (s->benchmark->takes & TAKES_OPS)
		fprintf(out, " of 3 passes of %u calls, in turn, on CPU %d", o->ops, o->cpu[0]);
	else
		fprintf(out, " of about %u ms each, in turn, on CPU %d", o->ms, o->cpu[0]);
	if (plan_second_cpu(s) && !s->benchmark->columns)
		fprintf(out, " and %d", o->cpu[1]);
	fputs("; spread: middle half of the rounds\n\n", out);
}

/* Results are kept: folders of this machine say nothing to others. */
static void show_given(const struct given_peer *p, FILE *out)
{
	fprintf(out, "%-*s %s%s%s", REPORT_NAME_WIDTH, p->name, p->version,
		p->version[0] ? " " : "", util_file_name(p->path));
	for (size_t i = 0; i < p->nr_variables; i++)
		fprintf(out, " %s", p->variables[i]);
	fputc('\n', out);
}

static void foot(const struct session *s, FILE *out)
{
	const char *key = s->benchmark->key;
	const struct entry *peer = ratio_base(s, key);

	if (peer && !s->benchmark->columns)
		fprintf(out, "\nratios are to the fastest peer of each column (%s: %s)\n", key,
			peer->who->name);
	for (size_t i = 0; i < s->nr; i++)
		if (given_peer_of(s->entries[i].who))
			show_given(given_peer_of(s->entries[i].who), out);
		else if (s->entries[i].who->what)
			fprintf(out, "%-*s %s\n", REPORT_NAME_WIDTH, s->entries[i].who->name,
				s->entries[i].who->what);
		else if (s->entries[i].version[0])
			fprintf(out, "%-*s %s %s\n", REPORT_NAME_WIDTH, s->entries[i].who->name,
				s->entries[i].package, s->entries[i].version);
}

void report_text(const struct session *s, const struct machine *m, FILE *out)
{
	head(s, m, out);
	if (s->benchmark->columns) {
		report_protocol(s, out);
	} else if (s->benchmark == benchmark_at(BENCH_MODES)) {
		report_modes(s, out);
	} else if (s->entries[0].nr_metrics == 1) {
		single_table(s, out);
		explain_counts(s, out);
	} else if (s->benchmark == benchmark_at(BENCH_BULK)) {
		report_matrix(s, out, "loop", "loop.", false);
		report_matrix(s, out, "bulk", "bulk.", false);
		report_matrix(s, out, "bulk to loop", "ratio.", false);
	} else if (s->benchmark == benchmark_at(BENCH_LATENCY)) {
		report_latency(s, out);
	} else if (!entry_metric(&s->entries[0], REPORT_ARRAYS_KEY)) {
		report_matrix(s, out, "median", "", false);
		fputc('\n', out);
		report_matrix(s, out, "ratio", "", true);
	}
	if (s->benchmark == benchmark_at(BENCH_LOCALITY))
		report_locality(s, out);
	if (s->benchmark == benchmark_at(BENCH_BATCH))
		report_arrays(s, out);
	foot(s, out);
}
