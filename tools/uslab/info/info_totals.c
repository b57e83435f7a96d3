/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/info_totals.c - sums over all caches: -T, and -X, which scripts read (spec 8.5, 8.6)
 *
 * Flow:       called by cmd_info.c and info_memory.c; calls inspect/text.c, info_print.c and
 *             info_rows.c for the lists of -X, info_memory.c and process/source.c for the
 *             resident memory. In: all caches of a snapshot; out: text.
 *
 * A process and a core have two lines more than a tree: whole pages, which are in no cache, and the
 * resident memory of the process, beside which all these sums are to be seen. Others are there
 * where there is something to say.
 */
#include <stdio.h>

#include "info/info.h"
#include "inspect/text.h"

/* Of one quantity, over the caches that are in use. */
struct spread {
	unsigned long min, max, total;
};

struct totals {
	unsigned int caches, aliases, targets, active;
	struct spread objects, slabs, partial, partial_percent;
	struct spread partial_objects, partial_objects_percent;
	struct spread memory, used, loss;
	/* of one object; total: of all objects */
	struct spread object_memory, object_user, object_loss;
};

/* each: for the smallest and the largest; sum: for the total */
static void add(struct spread *s, bool first, unsigned long each, unsigned long sum)
{
	if (first || each < s->min)
		s->min = each;
	if (first || each > s->max)
		s->max = each;
	s->total += sum;
}

static unsigned long percent(unsigned long part, unsigned long whole)
{
	return whole ? part * 100 / whole : 0;
}

static unsigned long at_most_100(unsigned long value)
{
	return value > 100 ? 100 : value;
}

static void add_cache(struct totals *t, const struct snapshot_cache *c)
{
	bool first = !t->active++;
	unsigned int loss = c->slab_size > c->object_size ? c->slab_size - c->object_size : 0;
	unsigned long partial = at_most_100(percent(c->partial, c->slabs));
	unsigned long partial_objects = at_most_100(percent(c->objects_partial, c->objects));

	add(&t->objects, first, c->objects, c->objects);
	add(&t->slabs, first, c->slabs, c->slabs);
	add(&t->partial, first, c->partial, c->partial);
	add(&t->partial_percent, first, partial, partial);
	add(&t->partial_objects, first, c->objects_partial, c->objects_partial);
	add(&t->partial_objects_percent, first, partial_objects, partial_objects);
	add(&t->memory, first, c->slab_bytes, c->slab_bytes);
	add(&t->used, first, c->object_bytes, c->object_bytes);
	add(&t->loss, first, text_loss(c), text_loss(c));
	add(&t->object_memory, first, c->slab_size, c->objects * c->slab_size);
	add(&t->object_user, first, c->object_size, c->object_bytes);
	add(&t->object_loss, first, loss, c->objects * loss);
}

/* As in slabinfo the pattern keeps names out, but no caches with an id (spec 8.5). */
static void sum(struct totals *t, const struct snapshot *s, const struct info_options *options)
{
	*t = (struct totals){ .caches = 0 };
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];

		if (!info_is_cache(c) || (!c->unique_id[0] && options->pattern &&
					  regexec(options->pattern, c->name, 0, NULL, 0) != 0))
			continue;
		t->caches++;
		t->targets += c->unique_id[0] != '\0';
		t->aliases += info_count_aliases(s, c, options);
		if (c->slabs && c->objects)
			add_cache(t, c);
	}
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *number(char *buf, size_t size, unsigned long value,
			  const struct info_options *options)
{
	if (options->bytes)
		snprintf(buf, size, "%lu", value);
	else
		text_scale(buf, size, value);
	return buf;
}

static const char *with_percent(char *buf, size_t size, unsigned long value)
{
	snprintf(buf, size, "%lu%%", value);
	return buf;
}

/* Slabs count as in use what CPUs hold as well, so that there may be more of these. */
static unsigned long partial_objects_percent(const struct totals *t)
{
	return at_most_100(percent(t->partial_objects.total, t->objects.total));
}

static void print_head(const struct totals *t, const struct info_options *options)
{
	char a[24], b[24];

	puts("Slabcache Totals\n----------------");
	printf("Slabcaches : %15u   Aliases  : %11u->%-3u  Active:    %3u\n", t->caches, t->aliases,
	       t->targets, t->active);
	printf("Memory used: %15s   # Loss   : %15s   MRatio:%6lu%%\n",
	       number(a, sizeof(a), t->memory.total, options),
	       number(b, sizeof(b), t->loss.total, options), percent(t->loss.total, t->used.total));
	printf("# Objects  : %15s   # PartObj: %15s   ORatio:%6lu%%\n",
	       number(a, sizeof(a), t->objects.total, options),
	       number(b, sizeof(b), t->partial_objects.total, options), partial_objects_percent(t));
}

static void print_row(const char *title, const struct spread *s, unsigned long average,
		      const struct info_options *options)
{
	char text[4][24];

	printf("%-10s%15s  %15s  %15s  %15s\n", title,
	       number(text[0], sizeof(text[0]), average, options),
	       number(text[1], sizeof(text[1]), s->min, options),
	       number(text[2], sizeof(text[2]), s->max, options),
	       number(text[3], sizeof(text[3]), s->total, options));
}

static void print_percents(const char *title, const struct spread *s, unsigned int active,
			   unsigned long total)
{
	char text[4][24];

	printf("%-10s%15s  %15s  %15s  %15s\n", title,
	       with_percent(text[0], sizeof(text[0]), s->total / active),
	       with_percent(text[1], sizeof(text[1]), s->min),
	       with_percent(text[2], sizeof(text[2]), s->max),
	       with_percent(text[3], sizeof(text[3]), total));
}

static void print_object_row(const char *title, const struct spread *s, unsigned long objects,
			     const struct info_options *options)
{
	char text[3][24];

	printf("%-10s%15s  %15s  %15s\n", title,
	       number(text[0], sizeof(text[0]), objects ? s->total / objects : 0, options),
	       number(text[1], sizeof(text[1]), s->min, options),
	       number(text[2], sizeof(text[2]), s->max, options));
}

static void print_per_cache(const struct totals *t, const struct info_options *options)
{
	unsigned int n = t->active;
	unsigned long partial = partial_objects_percent(t);

	puts("\nPer Cache         Average              Min              Max            Total\n"
	     "----------------------------------------------------------------------------");
	print_row("#Objects", &t->objects, t->objects.total / n, options);
	print_row("#Slabs", &t->slabs, t->slabs.total / n, options);
	print_row("#PartSlab", &t->partial, t->partial.total / n, options);
	print_percents("%PartSlab", &t->partial_percent, n,
		       percent(t->partial.total, t->slabs.total));
	/* the average is a percentage: so is slabinfo's */
	print_row("PartObjs", &t->partial_objects, partial, options);
	print_percents("% PartObj", &t->partial_objects_percent, n, partial);
	print_row("Memory", &t->memory, t->memory.total / n, options);
	print_row("Used", &t->used, t->used.total / n, options);
	print_row("Loss", &t->loss, t->loss.total / n, options);
}

static void print_per_object(const struct totals *t, const struct info_options *options)
{
	puts("\nPer Object        Average              Min              Max\n"
	     "-----------------------------------------------------------");
	print_object_row("Memory", &t->object_memory, t->objects.total, options);
	print_object_row("User", &t->object_user, t->objects.total, options);
	print_object_row("Loss", &t->object_loss, t->objects.total, options);
}

static void print_whole_pages(const struct snapshot_totals *t, const struct info_options *options)
{
	char a[24], b[24], c[24];

	printf("Whole pages: %15s   # Blocks : %15s   Mapped: %6s\n",
	       number(a, sizeof(a), t->run_bytes + t->mapped_bytes, options),
	       number(b, sizeof(b), t->runs + t->mapped, options),
	       number(c, sizeof(c), t->mapped_bytes, options));
}

void info_print_limit(const struct info_subject *subject, const struct info_options *options)
{
	const struct snapshot_totals *t = &subject->s->totals;
	char a[24], b[24], c[24];

	if (t->limit)
		printf("Limit      : %15s   Held     : %15s   Refused : %4s\n",
		       number(a, sizeof(a), t->limit, options),
		       number(b, sizeof(b), t->held_bytes, options),
		       number(c, sizeof(c), t->limit_refused, options));
}

/*
 * Beside it what the allocator has of it, page by page. And what CPUs keep of the free pages, where
 * they do; and the reserve for signal handlers, where they came to it.
 */
static void print_resident(const struct info_subject *subject, const struct info_options *options)
{
	const struct snapshot_totals *t = &subject->s->totals;
	bool core = subject->source.options.kind == SOURCE_CORE;
	char a[24] = "?", b[24], c[24];
	uint64_t bytes;

	if (source_resident(&subject->source, &bytes))
		number(a, sizeof(a), bytes, options);
	printf("%s %15s   Of uslab : %15s   Free  : %6s\n",
	       core ? "In the core:" : "Resident   :", a,
	       number(b, sizeof(b), info_resident(subject), options),
	       number(c, sizeof(c), t->dirty_bytes, options));
	if (t->listed_bytes)
		printf("Kept pages : %15s\n", number(a, sizeof(a), t->listed_bytes, options));
	if (t->realtime_bytes)
		printf("Realtime   : %15s   Left     : %15s   Exceeded: %4s%s\n",
		       number(a, sizeof(a), t->realtime_bytes, options),
		       number(b, sizeof(b), t->free_bytes, options),
		       number(c, sizeof(c), t->realtime_exceeded, options),
		       t->realtime_locked < t->realtime_bytes ? "   (not locked)" : "");
	info_print_limit(subject, options);
	if (t->shrinkers || t->reclaims_cgroup || t->reclaims_psi)
		printf("Shrinkers  : %15s   Freed    : %15s   Reclaims: %4s\n",
		       number(a, sizeof(a), t->shrinkers, options),
		       number(b, sizeof(b), t->shrinker_freed, options),
		       number(c, sizeof(c), t->reclaims_cgroup + t->reclaims_psi, options));
	if (t->reserve_served || t->reserve_failed)
		printf("In handlers: %15s   In use   : %15s   Failed: %6s\n",
		       number(a, sizeof(a), t->reserve_served, options),
		       number(b, sizeof(b), t->reserve_blocks, options),
		       number(c, sizeof(c), t->reserve_failed, options));
}

/* All of the process: where a pattern selects caches there is nothing to say of the rest. */
static void print_process(const struct info_subject *subject, const struct info_options *options)
{
	if (subject->source.options.kind == SOURCE_TREE || options->pattern)
		return;
	print_whole_pages(&subject->s->totals, options);
	print_resident(subject, options);
}

void info_print_totals(const struct info_subject *subject, const struct info_options *options)
{
	struct totals t;

	sum(&t, subject->s, options);
	if (!t.active) {
		puts("No objects");
		print_process(subject, options);
		return;
	}
	print_head(&t, options);
	print_process(subject, options);
	print_per_cache(&t, options);
	print_per_object(&t, options);
}

void info_print_xtotals(struct info_subject *subject, const struct info_options *options)
{
	static const struct {
		enum info_order order;
		const char *title;
	} parts[] = {
		{ INFO_BY_SIZE, "Slabs sorted by size\n--------------------" },
		{ INFO_BY_LOSS, "Slabs sorted by loss\n--------------------" },
		{ INFO_BY_PARTIAL, "Slabs sorted by number of partial slabs\n"
				   "---------------------------------------" },
	};
	struct info_options sorted = *options;

	info_print_totals(subject, options);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		sorted.order = parts[i].order;
		sorted.loss_column = parts[i].order == INFO_BY_LOSS;
		printf("\n%s\n", parts[i].title);
		info_print_list(subject->rows, info_rows(subject->s, &sorted, subject->rows),
				&sorted);
	}
	putchar('\n');
}
