/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_rows.c - what each cache held over time, and the rows that are shown of it
 *
 * Flow:       called by top/. In: a snapshot and its time; out: rows in order, and texts; calls
 *             inspect/text.c.
 *
 * A cache is known by its name and number. One that is gone keeps its place until another needs it;
 * one that comes again under the same number goes on with its history.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inspect/text.h"
#include "top/top.h"

static struct top_history *find_history(struct top_table *table, const struct snapshot_cache *c)
{
	for (unsigned int i = 0; i < table->nr_histories; i++)
		if (table->history[i].id == c->id && !strcmp(table->history[i].name, c->name))
			return &table->history[i];
	return NULL;
}

/* A new place, or that of a cache that was not in the last sample; there are as many as caches. */
static struct top_history *new_history(struct top_table *table, const struct snapshot_cache *c)
{
	struct top_history *history = NULL;

	if (table->nr_histories < SNAPSHOT_MAX_CACHES)
		history = &table->history[table->nr_histories++];
	for (unsigned int i = 0; !history && i < table->nr_histories; i++)
		if (table->history[i].seen + 1 < table->samples)
			history = &table->history[i];
	if (history) {
		memset(history, 0, sizeof(*history));
		history->id = c->id;
		snprintf(history->name, sizeof(history->name), "%s", c->name);
	}
	return history;
}

void top_add_sample(struct top_table *table, const struct snapshot *s, double time)
{
	table->samples++;
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];
		struct top_history *history = find_history(table, c);
		unsigned int at;

		if (!history)
			history = new_history(table, c);
		if (!history)
			continue;
		at = history->count++ % TOP_SAMPLES;
		history->time[at] = time;
		history->bytes[at] = (double)c->object_bytes;
		history->seen = table->samples;
	}
}

/* Value number i of those in the ring, the oldest first. */
static unsigned int place(const struct top_history *history, unsigned int i)
{
	return history->count > TOP_SAMPLES ? (history->count + i) % TOP_SAMPLES : i;
}

static unsigned int values(const struct top_history *history)
{
	return history->count > TOP_SAMPLES ? TOP_SAMPLES : history->count;
}

/* From the oldest sample to the newest. NAN: there is one sample. */
static double growth(const struct top_history *history)
{
	unsigned int n = values(history);
	unsigned int first, last;
	double seconds;

	if (n < 2)
		return NAN;
	first = place(history, n > TOP_GROWTH_SPAN ? n - 1 - TOP_GROWTH_SPAN : 0);
	last = place(history, n - 1);
	seconds = history->time[last] - history->time[first];
	return seconds > 0 ? (history->bytes[last] - history->bytes[first]) / seconds : 0;
}

static bool passes(const struct snapshot_cache *c, const struct top *top)
{
	if (!c->slabs && !c->objects && !top->empty_too)
		return false;
	return !top->filter[0] || strcasestr(c->name, top->filter);
}

static int by_number(double a, double b)
{
	return (a < b) - (a > b); /* the largest first */
}

static double known(double growth)
{
	return isnan(growth) ? 0 : growth;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct top *top = arg;
	const struct top_row *x = a;
	const struct top_row *y = b;
	int order = 0;

	switch (top->order) {
	case TOP_BY_BYTES:
		order = by_number((double)x->cache->slab_bytes, (double)y->cache->slab_bytes);
		break;
	case TOP_BY_OBJECTS:
		order = by_number((double)x->cache->objects, (double)y->cache->objects);
		break;
	case TOP_BY_GROWTH:
		order = by_number(known(x->growth), known(y->growth));
		break;
	case TOP_BY_WASTE:
		order = by_number((double)x->waste, (double)y->waste);
		break;
	case TOP_BY_NAME:
		break;
	}
	if (!order)
		order = strcasecmp(x->cache->name, y->cache->name);
	return top->inverted ? -order : order;
}

void top_make_rows(struct top_table *table, const struct snapshot *s, const struct top *top)
{
	table->count = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];
		const struct top_history *history = find_history(table, c);

		if (history && passes(c, top))
			table->row[table->count++] = (struct top_row){
				.cache = c,
				.history = history,
				.waste = text_loss(c),
				.growth = growth(history),
			};
	}
	qsort_r(table->row, table->count, sizeof(table->row[0]), compare, (void *)top);
}

unsigned int top_find_row(const struct top_table *table, const char *name)
{
	for (unsigned int i = 0; i < table->count; i++)
		if (!strcmp(table->row[i].cache->name, name))
			return i;
	return 0;
}

const struct top_row *top_current(const struct top *top)
{
	const struct top_table *table = top->table;

	return table->count ? &table->row[top_find_row(table, top->selected)] : NULL;
}

void top_select(struct top *top, const struct top_row *row)
{
	snprintf(top->selected, sizeof(top->selected), "%s", row->cache->name);
}

/* ---- texts ---- */

void top_growth_text(char *buf, size_t size, double bytes_per_second)
{
	char scaled[24];

	if (isnan(bytes_per_second) || fabs(bytes_per_second) < 1) {
		snprintf(buf, size, isnan(bytes_per_second) ? "-" : "0");
		return;
	}
	text_scale(scaled, sizeof(scaled), (unsigned long)fabs(bytes_per_second));
	snprintf(buf, size, "%c%s/s", bytes_per_second < 0 ? '-' : '+', scaled);
}

/* Each column is one sample; the newest is at the right. */
void top_spark(char *buf, size_t size, const struct top_history *history, unsigned int width,
	       bool utf8)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	unsigned int n = values(history);
	unsigned int first = n > width ? n - width : 0;
	double low = HUGE_VAL;
	double high = 0;
	size_t len = 0;

	for (unsigned int i = first; i < n; i++) {
		low = fmin(low, history->bytes[place(history, i)]);
		high = fmax(high, history->bytes[place(history, i)]);
	}
	buf[0] = '\0';
	for (unsigned int i = first; i < n && len + 4 < size; i++) {
		double part = high > low ? (history->bytes[place(history, i)] - low) / (high - low)
					 : 0;

		len += (size_t)snprintf(buf + len, size - len, "%s",
					(utf8 ? blocks : ascii)[(int)(part * 7 + 0.5)]);
	}
}

/* The heap that has its objects is a row, which counts their bytes once more. */
static bool lies_in_heap(const struct top_table *table, const struct snapshot_cache *c)
{
	if (c->slab_bytes || !c->engine[0])
		return false;
	for (unsigned int i = 0; i < table->count; i++) {
		const struct snapshot_cache *heap = table->row[i].cache;

		if (!heap->id && !strcmp(heap->engine, c->engine))
			return true;
	}
	return false;
}

struct sums {
	unsigned long objects, held, space, waste;
	double grown;
};

/* What is held and the waste make the space, but where only objects of heaps are shown. */
static void add_up(const struct top_table *table, struct sums *sums)
{
	*sums = (struct sums){ .objects = 0 };
	for (unsigned int i = 0; i < table->count; i++) {
		const struct top_row *row = &table->row[i];
		const struct snapshot_cache *c = row->cache;

		sums->objects += c->objects;
		if (lies_in_heap(table, c))
			continue;
		sums->held += c->slab_bytes ? c->slab_bytes - row->waste : c->object_bytes;
		sums->space += c->slab_bytes;
		sums->waste += row->waste;
		sums->grown += known(row->growth);
	}
}

static void sums_text(char *buf, size_t size, const struct sums *sums)
{
	char held[24], space[24], waste[24], grown[32];
	bool grows = fabs(sums->grown) >= 1;

	text_scale(held, sizeof(held), sums->held);
	text_scale(space, sizeof(space), sums->space);
	text_scale(waste, sizeof(waste), sums->waste);
	top_growth_text(grown, sizeof(grown), sums->grown);
	if (sums->held > sums->space)
		snprintf(buf, size, "%lu objects, %s held in pages of a heap%s%s", sums->objects,
			 held, grows ? ", " : "", grows ? grown : "");
	else
		snprintf(buf, size, "%lu objects, %s held of %s (%s waste)%s%s", sums->objects,
			 held, space, waste, grows ? ", " : "", grows ? grown : "");
}

void top_summary_text(const struct top *top, char *title, size_t title_size, char *sums,
		      size_t sums_size)
{
	static const char *const orders[] = { "space", "objects", "growth", "waste", "name" };
	struct sums all;

	snprintf(title, title_size, "%s - %u caches by %s%s, every %g s%s%s%s", top->source.title,
		 top->table->count, orders[top->order], top->inverted ? ", inverted" : "",
		 top->interval, top->filter[0] ? ", filter " : "", top->filter,
		 top->paused ? ", paused" : "");
	add_up(top->table, &all);
	sums_text(sums, sums_size, &all);
}
