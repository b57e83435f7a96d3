/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_table.c - call sites over all chosen caches, in order
 *
 * Flow:       called by track_run.c and cmd_track.c, and for indexes by track_choose.c; calls
 *             track_sites.c, estimate.c, track_choose.c, inspect/tracks.c and symbols/resolve.c.
 *             In: a snapshot; out: rows in order.
 *
 * Sites are grouped cache by cache; rows of one stack are then added up. Where a cache is sampled
 * each object stands for as many as the probability says that it was sampled with, whatever lives
 * and dies beside it: nothing has to be known about the rest of the cache (estimate.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "track/track.h"

#define FIRST_ROWS 256u

/* Ages of what is tracked, for a process that was tracked before we came. */
static void find_oldest(const struct track_record *record, void *arg)
{
	const struct track *alloc = &record->alloc;
	uint64_t *oldest = arg;

	if (tracks_is_possible(alloc) && alloc->when && alloc->when < *oldest)
		*oldest = alloc->when;
}

unsigned int track_index_of(const struct tracking *t, const struct track_cache *c)
{
	const struct snapshot *s = t->snapshot;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id == c->id && !strcmp(s->cache[i].name, c->name))
			return i;
	return UINT_MAX;
}

/*
 * When all that is chosen was tracked as it is now, by the process's clock: what is older was
 * tracked before a gap, and knows nothing of what came and went in that gap. 0: always, or it is
 * tracked no more, and only what is left of it is seen.
 */
static uint64_t tracked_since(const struct tracking *t)
{
	uint64_t since = t->start;

	for (unsigned int i = 0; i < t->nr_caches; i++) {
		unsigned int index = track_index_of(t, &t->cache[i]);
		uint64_t one = index == UINT_MAX ? 0 : t->snapshot->cache[index].tracking_since;

		if (one > since && one != DEBUG_SINCE_EVER)
			since = one;
	}
	return since;
}

/* The same by the age of what there is. */
static uint64_t oldest_object(struct tracking *t, uint64_t now)
{
	uint64_t oldest = now;

	tracks_visit(t->snapshot, UINT_MAX, find_oldest, &oldest);
	return oldest;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool grow_rows(struct track_table *table, unsigned int *capacity)
{
	unsigned int more = *capacity ? *capacity * 2 : FIRST_ROWS;
	struct track_row *row;

	if (table->nr < *capacity)
		return true;
	row = reallocarray(table->row, more, sizeof(*row));
	if (!row)
		return false;
	table->row = row;
	*capacity = more;
	return true;
}

static void fill_row(struct track_row *row, const struct track_site *site, unsigned int cache,
		     double heaviest)
{
	*row = (struct track_row){
		.caller = site->caller,
		.handle = site->handle,
		.tracked = site->count,
		.objects_sum = site->objects_sum,
		.bytes_sum = site->bytes_sum,
		.old_sum = site->old,
		.old_bytes_sum = site->old_bytes,
		.heaviest = heaviest,
		.age_min = site->age_min,
		.age_max = site->age_max,
		.age_mean = (double)site->age_sum / (double)site->count,
		.pid_min = site->pid_min,
		.pid_max = site->pid_max,
		.cache = cache,
		.nr_caches = 1,
	};
}

/* What the sites of one cache hold. */
static int add_cache(struct tracking *t, unsigned int number, const struct track_sites *sites,
		     unsigned int *capacity)
{
	struct track_table *table = &t->table;

	t->cache[number].tracked = sites->count;
	table->lost += sites->lost;
	for (unsigned int i = 0; i < sites->nr; i++) {
		if (!grow_rows(table, capacity))
			return -ENOMEM;
		fill_row(&table->row[table->nr++], &sites->site[i], number, sites->heaviest);
	}
	return 0;
}

/* ---- sites of all chosen caches -------------------------------------------------------------- */

/* One pass over the process's memory fills all of them, however many there are. */
struct collect {
	struct track_sites sites[TRACK_MAX_CACHES]; /* as t->cache[] */
	/* by index in the snapshot: */
	bool wanted[SNAPSHOT_MAX_CACHES];
	uint16_t number[SNAPSHOT_MAX_CACHES]; /* in t->cache[] */
	uint64_t now;
};

static void collect_one(const struct track_record *record, void *arg)
{
	struct collect *collect = arg;
	struct track_sites *sites = &collect->sites[collect->number[record->cache]];

	track_sites_add(sites, record, TRACK_ALLOC, collect->now);
}

static void open_sites(struct tracking *t, struct collect *collect, unsigned int number)
{
	struct track_cache *c = &t->cache[number];
	struct track_sites *sites = &collect->sites[number];
	unsigned int index = track_index_of(t, c);

	track_sites_open(sites, false);
	sites->old_age = (uint64_t)(t->table.seconds * 500) + 1;
	sites->since = t->table.since; /* not what an earlier tracking left */
	sites->sampled = c->sampled;
	c->live = 0;
	if (index == UINT_MAX)
		return;
	c->live = track_live_objects(t->snapshot, &t->snapshot->cache[index]);
	t->table.estimated |= c->sampled;
	collect->wanted[index] = true;
	collect->number[index] = (uint16_t)number;
}

static int add_caches(struct tracking *t, uint64_t now)
{
	struct collect *collect = calloc(1, sizeof(*collect));
	unsigned int capacity = 0;
	int ret = 0;

	if (!collect)
		return -ENOMEM;
	collect->now = now;
	for (unsigned int i = 0; i < t->nr_caches; i++)
		open_sites(t, collect, i);
	tracks_visit_some(t->snapshot, collect->wanted, collect_one, collect);
	for (unsigned int i = 0; i < t->nr_caches; i++) {
		if (!ret)
			ret = add_cache(t, i, &collect->sites[i], &capacity);
		track_sites_close(&collect->sites[i]);
	}
	free(collect);
	return ret;
}

/* ---- rows of one stack ----------------------------------------------------------------------- */

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
	estimate_merge(&to->objects_sum, &row->objects_sum);
	estimate_merge(&to->bytes_sum, &row->bytes_sum);
	estimate_merge(&to->old_sum, &row->old_sum);
	estimate_merge(&to->old_bytes_sum, &row->old_bytes_sum);
	to->heaviest = row->heaviest > to->heaviest ? row->heaviest : to->heaviest;
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

/* ---- numbers --------------------------------------------------------------------------------- */

/* What a row has of what the order is by; of ages nothing can be added up. */
static const struct estimate_sum *sum_of(const struct track_row *row, enum track_order order)
{
	switch (order) {
	case TRACK_BY_OBJECTS:
		return &row->objects_sum;
	case TRACK_BY_GROWTH:
		return &row->old_bytes_sum;
	case TRACK_BY_AGE:
	case TRACK_BY_BYTES:
		break;
	}
	return &row->bytes_sum;
}

/*
 * Where nothing was seen of something, one unseen object may be there: as heavy as
 * any, and as large as these.
 */
static double bytes_of_one(const struct track_row *row)
{
	return row->heaviest * row->bytes_sum.seen / (double)row->tracked;
}

/*
 * estimated: else nothing can be there that was not seen. seconds: 0 where rates are not known.
 */
static void estimate_row(struct track_row *row, double seconds, bool estimated)
{
	double one = estimated ? row->heaviest : 0;
	double one_bytes = estimated ? bytes_of_one(row) : 0;
	double per_second = seconds > 0 ? 2 / seconds : NAN;

	row->objects = estimate_of(&row->objects_sum, one);
	row->bytes = estimate_of(&row->bytes_sum, one_bytes);
	row->kept = estimate_times(estimate_of(&row->old_sum, one), per_second);
	row->kept_bytes = estimate_times(estimate_of(&row->old_bytes_sum, one_bytes), per_second);
	row->vague = estimate_is_vague(&row->objects) || estimate_is_vague(&row->bytes);
}

static void estimate_rows(const struct tracking *t)
{
	const struct track_table *table = &t->table;
	enum track_order order = t->options->order;
	struct estimate_sum all = { 0, 0, 0 };
	/* what was sampled before may have been in several spells, with gaps between */
	bool has_rates = !table->estimated || !table->at_least;
	double one = 0;

	for (unsigned int i = 0; i < table->nr; i++) {
		struct track_row *row = &table->row[i];
		double of_row;

		estimate_row(row, has_rates ? table->seconds : 0, table->estimated);
		estimate_merge(&all, sum_of(row, order));
		of_row = order == TRACK_BY_OBJECTS ? row->heaviest : bytes_of_one(row);
		if (table->estimated && of_row > one)
			one = of_row;
	}
	for (unsigned int i = 0; i < table->nr; i++)
		table->row[i].share = estimate_share(sum_of(&table->row[i], order), &all, one);
}

/* ---- order ----------------------------------------------------------------------------------- */

static double key(const struct track_row *row, enum track_order order)
{
	switch (order) {
	case TRACK_BY_OBJECTS:
		return row->objects.value;
	case TRACK_BY_AGE:
		return row->age_mean;
	case TRACK_BY_GROWTH:
		return row->old_bytes_sum.sum;
	case TRACK_BY_BYTES:
		break;
	}
	return row->bytes.value;
}

/*
 * The largest first, those that nothing is known of last; equal ones by size, then by address so
 * that the order is always the same.
 */
static int compare_rows(const struct track_row *x, const struct track_row *y,
			enum track_order order)
{
	double a = key(x, order), b = key(y, order);

	if (x->vague != y->vague)
		return x->vague ? 1 : -1;
	if (a != b)
		return a < b ? 1 : -1;
	if (x->bytes.value != y->bytes.value)
		return x->bytes.value < y->bytes.value ? 1 : -1;
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

/*
 * The allocator's own frames say nothing about who wants the memory. A stack of
 * nothing else stays as it is.
 */
static void leave_own_frames(struct tracking *t, struct track_row *row)
{
	unsigned int own = 0;

	while (own < row->nr && resolve_address(t->resolve, row->pc[own])->own)
		own++;
	if (own == row->nr || t->options->own_frames)
		return;
	row->nr -= own;
	memmove(row->pc, row->pc + own, row->nr * sizeof(*row->pc));
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
		if (t->resolve)
			leave_own_frames(t, row);
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

void track_table_free(struct track_table *table)
{
	free(table->row);
	memset(table, 0, sizeof(*table));
}

static int make(struct tracking *t)
{
	struct track_table *table = &t->table;
	uint64_t now = tracks_now(t->snapshot);
	uint64_t since = tracked_since(t);
	int ret;

	memset(table, 0, sizeof(*table));
	table->since = since;
	table->at_least = !since;
	if (!since)
		since = oldest_object(t, now);
	table->seconds = now > since ? (double)(now - since) / 1000 : 0;
	ret = add_caches(t, now);
	merge_rows(table);
	estimate_rows(t);
	sort_rows(table, t->options->order);
	read_stacks(t);
	/* what a stack that cannot be read lacks is not known; that the process is gone is */
	return ret ? ret : t->snapshot->error;
}

/* Counts of caches belong to the table. */
static void save_counts(struct tracking *t, unsigned long (*counts)[2])
{
	for (unsigned int i = 0; i < t->nr_caches; i++) {
		counts[i][0] = t->cache[i].live;
		counts[i][1] = t->cache[i].tracked;
	}
}

static void restore_counts(struct tracking *t, unsigned long (*counts)[2])
{
	for (unsigned int i = 0; i < t->nr_caches; i++) {
		t->cache[i].live = counts[i][0];
		t->cache[i].tracked = counts[i][1];
	}
}

int track_table_make(struct tracking *t)
{
	struct track_table last = t->table;
	unsigned long counts[TRACK_MAX_CACHES][2];
	int ret;

	save_counts(t, counts);
	ret = make(t);
	if (!ret) {
		track_table_free(&last);
		return 0;
	}
	track_table_free(&t->table);
	t->table = last;
	restore_counts(t, counts);
	return ret;
}
