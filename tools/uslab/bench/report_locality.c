/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report_locality.c - distances between consecutive objects, as numbers and as a
 * picture
 *
 * Flow:       called by report.c and report_json.c; calls run.c. In: the lists of addresses that
 *             workers printed; out: numbers, and text.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#define PER_ROW 50

static int compare_long(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static long distance(const struct list *l, size_t i)
{
	return labs(l->values[i] - l->values[i - 1]);
}

/* The smallest gap of the sorted offsets: one slot. 0 when there is none. */
static long stride_of(const struct list *l, long *scratch)
{
	long stride = 0;

	memcpy(scratch, l->values, l->n * sizeof(*scratch));
	qsort(scratch, l->n, sizeof(*scratch), compare_long);
	for (size_t i = 1; i < l->n; i++) {
		long gap = scratch[i] - scratch[i - 1];

		if (gap > 0 && (!stride || gap < stride))
			stride = gap;
	}
	return stride;
}

void distances_of(struct distances *d, const struct list *offsets)
{
	long *scratch;

	memset(d, 0, sizeof(*d));
	if (!offsets || offsets->n < 2)
		return;
	scratch = calloc(offsets->n, sizeof(*scratch));
	if (!scratch)
		abort(); /* a few kilobytes */
	d->steps = offsets->n - 1;
	d->stride = stride_of(offsets, scratch);
	for (size_t i = 1; i < offsets->n; i++) {
		long step = distance(offsets, i);

		scratch[i - 1] = step;
		if (step == d->stride)
			d->next_to++;
		else if (step < 4096)
			d->within_page++;
	}
	qsort(scratch, d->steps, sizeof(*scratch), compare_long);
	d->median = scratch[d->steps / 2];
	free(scratch);
}

static bool list_is(const struct entry *e, const char *name, const char *expected)
{
	const struct list *l = entry_list(e, name);
	char *end;

	if (!l)
		return false;
	for (size_t i = 0; i < l->n; i++, expected = end)
		if (strtol(expected, &end, 10) != l->values[i])
			return false;
	return l->n > 0;
}

bool reuse_is_lifo(const struct entry *e)
{
	return list_is(e, "reuse.4", "4") && list_is(e, "reuse.1.8", "8 1") &&
	       list_is(e, "reuse.all", "9 7 6 5 3 2 0 1 8 4") && list_is(e, "reuse.4.1.8", "8 1 4");
}

static char step_sign(const struct distances *d, long step)
{
	if (step == d->stride)
		return '.';
	if (step < 4096)
		return '-';
	return step < 65536 ? '+' : '#';
}

/* One sign per step from an object to the next one allocated. */
static void picture(const struct entry *e, FILE *out)
{
	const struct list *l = entry_list(e, "offsets");
	struct distances d;

	distances_of(&d, l);
	if (!d.steps)
		return;
	fprintf(out, "\n%s: %zu of %zu steps go to the next place (%ld bytes), median %ld bytes\n",
		e->who->name, d.next_to, d.steps, d.stride, d.median);
	for (size_t i = 1; i < l->n; i++) {
		if (i % PER_ROW == 1)
			fputs("    ", out);
		fputc(step_sign(&d, distance(l, i)), out);
		if (i % PER_ROW == 0 || i + 1 == l->n)
			fputc('\n', out);
	}
}

static void reuse_part(const struct entry *e, const char *name, FILE *out)
{
	const struct list *l = entry_list(e, name);

	fputs(" |", out);
	for (size_t i = 0; l && i < l->n; i++)
		if (l->values[i] < 0)
			fputs(" ?", out); /* none of the ten */
		else
			fprintf(out, " %ld", l->values[i]);
}

void report_locality(const struct session *s, FILE *out)
{
	fputs("\nFrom one object to the next allocated: . the very next place, - within 4 KiB,\n"
	      "+ within 64 KiB, # further\n",
	      out);
	for (size_t i = 0; i < s->nr; i++)
		picture(&s->entries[i], out);
	fputs("\nOrder of reuse, of ten objects 0 to 9 (?: a place that was none of theirs).\n"
	      "A stack answers 4 | 8 1 | 9 7 6 5 3 2 0 1 8 4 | 8 1 4 to: free 4; free 1, 8;\n"
	      "free all (those just reused first, the others in order); free 4, 1, 8\n",
	      out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		fprintf(out, "%-18s %-8s", e->who->name, reuse_is_lifo(e) ? "stack" : "no stack");
		reuse_part(e, "reuse.4", out);
		reuse_part(e, "reuse.1.8", out);
		reuse_part(e, "reuse.all", out);
		reuse_part(e, "reuse.4.1.8", out);
		fputc('\n', out);
	}
}
