/* SPDX-License-Identifier: MIT */
/*
 * uslab/track_table.c - call sites over all chosen caches, in order
 *
 * Sites are grouped cache by cache, because each cache has its own scale. Rows of one stack are then added
 * up. Where a cache is sampled nobody counts its allocations, so how many objects a tracked one stands for
 * is estimated:
 *   - as many as there are live objects for each tracked one; that is the most it can be, as if no object
 *     was left from before;
 *   - in a cache that grew since, as many as let the growth come from the objects that stay, which are
 *     about twice as many as those that have stayed since the first half of the time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "track.h"

#define FIRST_ROWS 256u
#define MIN_OLD 8u /* objects that growth is judged by */

/* Ages of what is tracked, for a process that was tracked before we came. */
static void find_oldest(const struct track_record *record, void *arg)
{
	uint64_t *oldest = arg;

	if (record->alloc.when && record->alloc.when < *oldest)
		*oldest = record->alloc.when;
}

/* When tracking began, by the process's clock. */
static uint64_t tracked_since(struct tracking *t, uint64_t now)
{
	uint64_t oldest = now;

	if (t->start)
		return t->start;
	for (unsigned int i = 0; i < t->snapshot->nr_caches; i++)
		if (t->snapshot->cache[i].tracked)
			tracks_visit(t->snapshot, i, find_oldest, &oldest);
	return oldest;
}

/* Index of a chosen cache in the snapshot of now; UINT_MAX: gone. */
static unsigned int index_of(const struct tracking *t, const struct track_cache *c)
{
	const struct snapshot *s = t->snapshot;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == c->id && !strcmp(s->cache[i].name, c->name))
			return i;
	return UINT_MAX;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static bool make_room(struct track_table *table, unsigned int *room)
{
	unsigned int more = *room ? *room * 2 : FIRST_ROWS;
	struct track_row *row;

	if (table->nr < *room)
		return true;
	row = reallocarray(table->row, more, sizeof(*row));
	if (!row)
		return false;
	table->row = row;
	*room = more;
	return true;
}

static void fill_row(struct track_row *row, const struct track_site *site, double weight,
		     double seconds, unsigned int cache)
{
	*row = (struct track_row){
		.caller = site->caller,
		.handle = site->handle,
		.tracked = site->count,
		.objects = (double)site->count * weight,
		.bytes = (double)site->bytes * weight,
		.kept = seconds > 0 ? (double)site->old * weight / (seconds / 2) : 0,
		.kept_bytes = seconds > 0 ? (double)site->old_bytes * weight / (seconds / 2) : 0,
		.age_min = site->age_min,
		.age_max = site->age_max,
		.age_mean = (double)site->age_sum / (double)site->count,
		.pid_min = site->pid_min,
		.pid_max = site->pid_max,
		.cache = cache,
		.nr_caches = 1,
	};
}

/* Objects that a tracked one stands for. */
static double weight_of(const struct track_cache *c, const struct track_sites *sites)
{
	double most = c->tracked ? (double)c->live / (double)c->tracked : 1;
	double growth = c->compared ? (double)c->live - (double)c->before : 0;
	uint64_t old = 0;
	double weight;

	for (unsigned int i = 0; i < sites->nr; i++)
		old += sites->site[i].old;
	weight = old >= MIN_OLD && growth > 0 ? growth / (2 * (double)old) : most;
	weight = weight > most ? most : weight;
	return weight > 1 ? weight : 1;
}

/* What the sites of one cache hold. */
static int add_cache(struct tracking *t, unsigned int number, unsigned int *room)
{
	struct track_cache *c = &t->cache[number];
	unsigned int index = index_of(t, c);
	struct track_table *table = &t->table;
	struct track_sites sites;
	double weight = 1;
	long ret;

	c->live = c->tracked = 0;
	if (index == UINT_MAX)
		return 0;
	track_sites_open(&sites, false);
	sites.old_age = (uint64_t)(table->seconds * 500) + 1;
	sites.since = t->start; /* not what an earlier tracking left */
	ret = track_sites_collect(&sites, t->snapshot, index, TRACK_ALLOC);
	c->live = track_live_objects(t->snapshot, &t->snapshot->cache[index]);
	c->tracked = sites.count;
	table->lost += sites.lost;
	if (c->sampled)
		weight = weight_of(c, &sites);
	table->estimated |= c->sampled;
	for (unsigned int i = 0; i < sites.nr && ret >= 0; i++) {
		if (make_room(table, room))
			fill_row(&table->row[table->nr++], &sites.site[i], weight, table->seconds,
				 number);
		else
			ret = -ENOMEM;
	}
	track_sites_close(&sites);
	return ret < 0 ? (int)ret : 0;
}

/* ---- rows of one stack -------------------------------------------------------------------------- */

static int compare_stacks(const void *a, const void *b)
{
	const struct track_row *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return x->cache < y->cache ? -1 : x->cache > y->cache;
}

static void add_row(struct track_row *to, const struct track_row *row)
{
	uint64_t tracked = to->tracked + row->tracked;

	to->age_mean = (to->age_mean * (double)to->tracked + row->age_mean * (double)row->tracked) /
		       (double)tracked;
	to->tracked = tracked;
	to->objects += row->objects;
	to->bytes += row->bytes;
	to->kept += row->kept;
	to->kept_bytes += row->kept_bytes;
	to->age_min = row->age_min < to->age_min ? row->age_min : to->age_min;
	to->age_max = row->age_max > to->age_max ? row->age_max : to->age_max;
	to->pid_min = row->pid_min < to->pid_min ? row->pid_min : to->pid_min;
	to->pid_max = row->pid_max > to->pid_max ? row->pid_max : to->pid_max;
	to->nr_caches++;
}

static void merge_rows(struct track_table *table)
{
	unsigned int nr = 0;

	if (table->nr)
		qsort(table->row, table->nr, sizeof(*table->row), compare_stacks);
	for (unsigned int i = 0; i < table->nr; i++) {
		const struct track_row *row = &table->row[i];

		if (nr && table->row[nr - 1].caller == row->caller &&
		    table->row[nr - 1].handle == row->handle)
			add_row(&table->row[nr - 1], row);
		else
			table->row[nr++] = *row;
	}
	table->nr = nr;
}

/* ---- order -------------------------------------------------------------------------------------- */

static double key(const struct track_row *row, enum track_order order)
{
	switch (order) {
	case TRACK_BY_OBJECTS:
		return row->objects;
	case TRACK_BY_AGE:
		return row->age_mean;
	case TRACK_BY_GROWTH:
		return row->kept_bytes;
	case TRACK_BY_BYTES:
		break;
	}
	return row->bytes;
}

/* The largest first; equal ones by size, then by address so that the order is always the same. */
static int compare_rows(const struct track_row *x, const struct track_row *y,
			enum track_order order)
{
	double a = key(x, order), b = key(y, order);

	if (a != b)
		return a < b ? 1 : -1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return compare_stacks(x, y);
}

#define COMPARE(name, order)                                 \
	static int by_##name(const void *a, const void *b)   \
	{                                                    \
		return compare_rows(a, b, TRACK_BY_##order); \
	}
COMPARE(bytes, BYTES)
COMPARE(objects, OBJECTS)
COMPARE(age, AGE)
COMPARE(growth, GROWTH)

static void sort_rows(struct track_table *table, enum track_order order)
{
	static int (*const compare[])(const void *, const void *) = {
		[TRACK_BY_BYTES] = by_bytes,
		[TRACK_BY_OBJECTS] = by_objects,
		[TRACK_BY_AGE] = by_age,
		[TRACK_BY_GROWTH] = by_growth,
	};

	if (table->nr)
		qsort(table->row, table->nr, sizeof(*table->row), compare[order]);
}

static void read_stacks(struct tracking *t)
{
	for (unsigned int i = 0; i < t->table.nr; i++) {
		struct track_row *row = &t->table.row[i];

		row->nr = tracks_stack(t->snapshot, row->handle, row->pc, STACKS_DEPTH);
		if (!row->nr) {
			row->pc[0] = row->caller;
			row->nr = 1;
		}
	}
}

/* ---- all of it ---------------------------------------------------------------------------------- */

void track_table_free(struct track_table *table)
{
	free(table->row);
	memset(table, 0, sizeof(*table));
}

int track_table_make(struct tracking *t)
{
	struct track_table *table = &t->table;
	uint64_t now = tracks_now(t->snapshot);
	uint64_t since = tracked_since(t, now);
	unsigned int room = 0;
	int ret = 0;

	track_table_free(table);
	table->seconds = now > since ? (double)(now - since) / 1000 : 0;
	for (unsigned int i = 0; i < t->nr_caches && !ret; i++)
		ret = add_cache(t, i, &room);
	merge_rows(table);
	for (unsigned int i = 0; i < table->nr; i++) {
		table->objects += table->row[i].objects;
		table->bytes += table->row[i].bytes;
	}
	sort_rows(table, t->options->order);
	read_stacks(t);
	return ret;
}
