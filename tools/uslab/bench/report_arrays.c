/* SPDX-License-Identifier: MIT */
/*
 * uslab/bench/report_arrays.c - the modes of kmem_cache_alloc_array, by engine, as text
 *
 * Flow:       called by report.c; calls report.c for numbers, run.c. In: struct session; out: text.
 *
 * Three tables with a line for each engine and front: ns to allocate an object, ns to free it, and
 * how many of 1000 a call has got. Their contestants have no other metrics.
 */
#include "bench.h"

#include <string.h>

static const struct entry *first_of(const struct session *s)
{
	for (size_t i = 0; i < s->nr; i++)
		if (entry_metric(&s->entries[i], REPORT_ARRAYS_KEY))
			return &s->entries[i];
	return NULL;
}

static void table(const struct session *s, FILE *out, const char *title, const char *prefix,
		  int digits)
{
	const struct entry *first = first_of(s);
	size_t length = strlen(prefix);

	fprintf(out, "\n%-*s", REPORT_NAME_WIDTH, title);
	for (size_t j = 0; j < first->nr_metrics; j++)
		if (!strncmp(first->metrics[j].name, prefix, length))
			fprintf(out, "%9s", first->metrics[j].name + length);
	fputc('\n', out);
	for (size_t i = 0; i < s->nr; i++) {
		const struct entry *e = &s->entries[i];

		if (!entry_metric(e, REPORT_ARRAYS_KEY))
			continue;
		fprintf(out, "%-*s", REPORT_NAME_WIDTH, e->who->name);
		for (size_t j = 0; j < e->nr_metrics; j++)
			if (!strncmp(e->metrics[j].name, prefix, length))
				report_cell(out, 9, digits, e->metrics[j].stats.median);
		fputc('\n', out);
	}
}

void report_arrays(const struct session *s, FILE *out)
{
	if (!first_of(s))
		return;
	table(s, out, "arrays: allocate", "alloc.", 2);
	table(s, out, "free", "free.", 2);
	table(s, out, "objects of 1000", "got.", 0);
	fputs("\narrays  kmem_cache_alloc_array by mode, and kmem_cache_free_array: ns per object\n"
	      "        in calls for 1000; beside them single calls, also with 1000 objects that were\n"
	      "        just freed (warm), and kmem_cache_alloc_bulk. All but those find partial\n"
	      "        slabs with 2000 free objects.\n",
	      out);
}
