/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_print.c - call sites for people, and as folded stacks for flame graphs
 *
 * Flow:       called by track_run.c, and for the frame that names a row by track_json.c; calls
 *             symbols/resolve.c, demangle.c there, estimate.c and util.c. In: rows; out:
 *             text.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "symbols/demangle.h"
#include "track/track.h"
#include "util.h"

#define MAX_NAMED 4u /* caches named in the headline */
#define NAME_TEXT 1024

/* ---- headline -------------------------------------------------------------------------------- */

static void print_cache(FILE *out, const struct track_cache *c)
{
	fprintf(out, "%s (%s%lu of %lu objects", c->name, c->sampled ? "sampled: " : "", c->tracked,
		c->live);
	if (c->growth > 0) {
		char text[UTIL_SIZE_TEXT];

		fprintf(out, ", grew by %s/s", util_size(text, sizeof(text), (uint64_t)c->growth));
	}
	fputc(')', out);
}

static void print_headline(FILE *out, const struct tracking *t)
{
	if (!t->table.at_least)
		fprintf(out, "%s: tracked for %.1f s: ", t->source.title, t->table.seconds);
	else if (t->table.nr)
		fprintf(out, "%s: tracked before, for at least %.1f s: ", t->source.title,
			t->table.seconds);
	else
		fprintf(out, "%s: tracked before: ", t->source.title);
	for (unsigned int i = 0; i < t->nr_caches && i < MAX_NAMED; i++) {
		if (i)
			fputs(", ", out);
		print_cache(out, &t->cache[i]);
	}
	if (t->nr_caches > MAX_NAMED)
		fprintf(out, " and %u more caches", t->nr_caches - MAX_NAMED);
	fputc('\n', out);
	if (t->table.estimated)
		fputs("Sampled: numbers are estimates; +-% and shares are intervals that hold the true "
		      "number in 95 of 100 cases.\n",
		      out);
	if (t->table.lost)
		fprintf(out, "%" PRIu64 " objects found no place in the table.\n", t->table.lost);
}

/* ---- the name of a row ----------------------------------------------------------------------- */

/* strdup, operator new and the like are not the call site of interest. */
static bool is_library(const struct resolve_name *name)
{
	static const char *const names[] = { "libc.so",	  "libc-",    "libc.musl-",
					     "ld-linux",  "ld-musl-", "libc++",
					     "libstdc++", "libgcc_s", "libuslab" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name->object, names[i], strlen(names[i])))
			return true;
	return name->library;
}

uint64_t track_site_of(struct tracking *t, const struct track_row *row)
{
	for (unsigned int i = 0; i < row->nr; i++)
		if (!is_library(resolve_address(t->resolve, row->pc[i])))
			return row->pc[i];
	return row->caller;
}

/* A name as people want to read it. buf: NAME_TEXT bytes. */
static const char *shown(const struct tracking *t, char *buf, const char *name)
{
	if (t->options->verbose)
		return name;
	demangle_shorten(buf, NAME_TEXT, name);
	return buf;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void print_caches(FILE *out, const struct tracking *t, const struct track_row *row)
{
	fprintf(out, "  %s", t->cache[row->cache].name);
	if (row->nr_caches > 1)
		fprintf(out, " +%u", row->nr_caches - 1);
}

/*
 * Functions that were inlined there come first: each was called by the next one. Those of a
 * language's library only with --verbose: a push() may be ten of them.
 */
static void print_frame(FILE *out, struct tracking *t, uint64_t pc)
{
	const struct resolve_name *name = resolve_address(t->resolve, pc);
	char line[256], text[NAME_TEXT];

	for (unsigned int i = 0; i < name->nr_frames; i++) {
		bool inlined = i + 1 < name->nr_frames;

		if (inlined && name->frame[i].of_library && !t->options->verbose)
			continue;
		fprintf(out, "          %s%s",
			shown(t, text, inlined ? name->frame[i].function : name->pretty),
			inlined ? " [inlined]" : "");
		if (*resolve_frame_line(&name->frame[i], line, sizeof(line)))
			fprintf(out, "  %s", line);
		fputc('\n', out);
	}
}

/* How far the ends of the interval are off at most, in percent of the number. */
static double percent_off(const struct estimate *e)
{
	double off = e->high - e->value > e->value - e->low ? e->high - e->value
							    : e->value - e->low;

	return e->value > 0 ? off * 100 / e->value : 0;
}

static void print_exact(FILE *out, const struct track_row *row)
{
	char bytes[UTIL_SIZE_TEXT];

	fprintf(out, "%10.0f %10s", row->objects.value,
		util_size(bytes, sizeof(bytes), (uint64_t)row->bytes.value));
	if (isnan(row->kept.value))
		fprintf(out, " %9s", "-");
	else
		fprintf(out, " %9.1f", row->kept.value);
}

/* A number of which only the upper end is known: "<12.3". */
static void print_kept(FILE *out, const struct estimate *kept)
{
	char text[32];

	if (isnan(kept->value)) {
		fprintf(out, " %9s %5s", "-", "");
	} else if (estimate_is_vague(kept)) {
		snprintf(text, sizeof(text), "<%.1f", kept->high);
		fprintf(out, " %9s %5s", text, "");
	} else {
		fprintf(out, " %9.1f %4.0f%%", kept->value, ceil(percent_off(kept)));
	}
}

static void print_estimated(FILE *out, const struct track_row *row)
{
	double off = fmax(percent_off(&row->objects), percent_off(&row->bytes));
	char text[UTIL_SIZE_TEXT];

	if (row->vague)
		fprintf(out, "%27s %15s %11s", "too few samples", "", "");
	else {
		fprintf(out, "%10.0f %10s %4.0f%%", row->objects.value,
			util_size(text, sizeof(text), (uint64_t)row->bytes.value), ceil(off));
		print_kept(out, &row->kept);
		fprintf(out, " %4.1f-%4.1f%%", floor(row->share.low * 1000) / 10,
			ceil(row->share.high * 1000) / 10);
	}
}

static void print_site(FILE *out, struct tracking *t, const struct track_row *row)
{
	const struct resolve_name *name = resolve_address(t->resolve, track_site_of(t, row));
	char line[256], text[NAME_TEXT];

	if (t->table.estimated)
		print_estimated(out, row);
	else
		print_exact(out, row);
	fprintf(out, " %6.1f/%.1f/%.1f", (double)row->age_min / 1000, row->age_mean / 1000,
		(double)row->age_max / 1000);
	fprintf(out, "  %s", shown(t, text, *name->function ? name->function : name->pretty));
	if (*resolve_line(name, line, sizeof(line)))
		fprintf(out, " %s", line);
	print_caches(out, t, row);
	fputc('\n', out);
}

static void print_columns(FILE *out, bool estimated)
{
	if (estimated)
		fprintf(out, "%10s %10s %5s %9s %5s %10s %6s  %s\n", "Objects", "Bytes", "+-%",
			"Kept/s", "+-%", "Share", "Age min/mean/max s", "Call site");
	else
		fprintf(out, "%10s %10s %9s %6s  %s\n", "Objects", "Bytes", "Kept/s",
			"Age min/mean/max s", "Call site");
}

void track_print(FILE *out, struct tracking *t, unsigned long rows, unsigned int frames)
{
	const struct track_table *table = &t->table;

	print_headline(out, t);
	print_columns(out, table->estimated);
	for (unsigned int i = 0; i < table->nr && i < rows; i++) {
		print_site(out, t, &table->row[i]);
		for (unsigned int f = 0; f < table->row[i].nr && f < frames; f++)
			print_frame(out, t, table->row[i].pc[f]);
	}
	if (!table->nr)
		fputs("Nothing that was allocated since is there.\n", out);
	else if (table->nr > rows)
		fprintf(out, "%u more call sites\n", table->nr - (unsigned int)rows);
}

/* ---- folded stacks --------------------------------------------------------------------------- */

/*
 * Semicolons part frames, so names have none. The last blank parts the
 * number: others may be in names.
 */
static void print_folded_name(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == ';' ? ':' : *text, out);
}

static void print_folded_frame(FILE *out, struct tracking *t, uint64_t pc)
{
	const struct resolve_name *name = resolve_address(t->resolve, pc);

	for (unsigned int i = name->nr_frames; i > 0; i--) {
		const char *function = name->frame[i - 1].function;

		print_folded_name(out, *function ? function : name->pretty);
		if (i > 1)
			fputc(';', out);
	}
}

void track_print_folded(FILE *out, struct tracking *t, bool objects)
{
	for (unsigned int i = 0; i < t->table.nr; i++) {
		const struct track_row *row = &t->table.row[i];

		for (unsigned int f = row->nr; f > 0; f--) {
			print_folded_frame(out, t, row->pc[f - 1]);
			if (f > 1)
				fputc(';', out);
		}
		fprintf(out, " %.0f\n", round(objects ? row->objects.value : row->bytes.value));
	}
}
