/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_memory.c - `uslab info --memory`: resident memory by kind, and of each cache
 *
 * Flow:       called by cmd_info.c, info_library.c, info_json.c, info_metrics.c, info_totals.c, and
 *             for one cache by info_report.c; calls memory_text.c, info_totals.c and
 *             process/resident.c. In: a subject; out: text, and sums for the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info/info.h"
#include "info/memory_text.h"
#include "util.h"

int info_take_memory(struct info_subject *subject)
{
	if (!subject->resident)
		subject->resident = calloc(1, sizeof(*subject->resident));
	if (!subject->resident)
		return util_fail(INFO_COMMAND, "out of memory");
	subject->memory_error = resident_take(subject->resident, &subject->source, subject->s);
	return EXIT_OK;
}

static bool is_known(const struct info_subject *subject)
{
	return subject->resident && !subject->memory_error;
}

const struct memory_cache *info_memory_of(const struct info_subject *subject,
					  const struct snapshot_cache *c)
{
	return is_known(subject) && c->id ? &subject->resident->memory.cache[c - subject->s->cache]
					  : NULL;
}

uint64_t info_resident(const struct info_subject *subject)
{
	const struct snapshot_totals *t = &subject->s->totals;

	return is_known(subject) ? subject->resident->memory.bytes
				 : t->slab_bytes + t->run_bytes + t->mapped_bytes + t->dirty_bytes +
					   t->meta_bytes;
}

uint64_t info_metadata(const struct info_subject *subject)
{
	return is_known(subject) ? memory_own_data(subject->resident)
				 : subject->s->totals.meta_bytes;
}

static void print_row(const char *name, const struct memory_cache *c, unsigned long unit)
{
	unsigned long held = c->held_cpu + c->held_node + c->lent;
	unsigned long all = c->live + c->padding + held + c->free + c->tails;

	printf("%-21s %10lu %10lu %9lu %9lu %9lu %9lu\n", name, all / unit, c->live / unit,
	       c->padding / unit, held / unit, c->free / unit, c->tails / unit);
}

/* Those that have resident slabs. */
static void print_caches(const struct info_subject *subject, const struct info_options *options)
{
	unsigned long unit = options->bytes ? 1 : 1024;
	bool first = true;

	for (unsigned int i = 0; i < subject->nr_rows; i++) {
		const struct info_row *row = &subject->rows[i];
		const struct memory_cache *c = info_memory_of(subject, row->cache);

		if (!c || (!c->strides && !c->free && !c->tails && !options->with_empty))
			continue;
		if (first)
			printf("%-21s %10s %10s %9s %9s %9s %9s\n",
			       options->bytes ? "Name         (bytes)" : "Name           (KiB)",
			       "Resident", "Live", "Padding", "Held", "Free", "Tails");
		first = false;
		print_row(row->name, c, unit);
	}
}

int info_print_memory(const struct info_subject *subject, const struct info_options *options)
{
	const struct memory_text_options text = { .bytes = options->bytes,
						  .empty = options->with_empty };

	if (subject->memory_error)
		return util_fail(INFO_COMMAND, "%s: resident memory is not known: %s",
				 subject->source.title, resident_text(subject->memory_error));
	if (!options->pattern) {
		memory_text(stdout, subject->resident, &text);
		info_print_limit(subject, options);
		putchar('\n');
	}
	print_caches(subject, options);
	return EXIT_OK;
}

void info_print_cache_memory(const struct info_subject *subject, const struct snapshot_cache *c)
{
	const struct memory_cache *m = info_memory_of(subject, c);

	if (!m)
		return;
	puts("\nResident memory (bytes)\n"
	     "------------------------------------------------------------------------");
	printf("Live   : %10lu  In CPUs: %10lu  Free   : %10lu\n", m->live, m->held_cpu, m->free);
	printf("Padding: %10lu  In node: %10lu  Tails  : %10lu\n", m->padding, m->held_node,
	       m->tails);
	printf("Lent   : %10lu", m->lent);
	if (m->estimated)
		printf("  Of live may be free, in slabs that are resident in part: %lu",
		       m->estimated);
	putchar('\n');
}
