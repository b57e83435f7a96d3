/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_choose.c - which caches are tracked: those that were named, or those that grow
 *
 * Flow:       called by cmd_track.c, and for live objects by track_table.c; calls process/source.c,
 *             pattern.c, track_run.c for pauses, track_table.c for indexes, track_sites.c for
 *             weights, inspect/tracks.c. In: patterns, or a series of snapshots; out: cache[] of
 *             struct tracking.
 *
 * Growth is seen from outside, without anything being switched on: snapshots, a second or less
 * apart. The later half of them is compared with the earlier half, so that a cache whose objects
 * only come and go is not taken for one that grows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "track/track.h"
#include "util.h"

#define SNAPSHOTS 8u /* while caches are watched; an even number */
#define MAX_GROWING 4u
#define BLOCKS 0u   /* the number that no cache has */
#define MIN_SHARE 4 /* one that grows by less than this part of the fastest is not chosen */

static void add(struct tracking *t, const struct snapshot_cache *c)
{
	struct track_cache *to;

	if (t->nr_caches == TRACK_MAX_CACHES)
		return;
	to = &t->cache[t->nr_caches++];
	memset(to, 0, sizeof(*to));
	to->id = c->id;
	to->growth = NAN;
	memcpy(to->name, c->name, sizeof(to->name));
}

static bool is_tracked(const struct snapshot_cache *c)
{
	return (c->id || c->whole_pages) &&
	       (c->flags & SLAB_STORE_USER || c->sampled || c->sampling_left || c->tracked);
}

/*
 * Whole pages go by the name of those in the arena ("malloc-large"), mapped ones or not: they are
 * tracked together. They have no number, and are tracked in full.
 */
static void add_blocks(struct tracking *t)
{
	add(t, &t->snapshot->cache[t->snapshot->blocks_row]);
}

unsigned long track_live_objects(const struct snapshot *s, const struct snapshot_cache *c)
{
	unsigned long objects = 0;

	if (!c->whole_pages)
		return c->objects;
	for (unsigned int i = 0; i < s->nr_caches; i++)
		objects += s->cache[i].whole_pages ? s->cache[i].objects : 0;
	return objects;
}

/* ---- how caches of a core file were tracked -------------------------------------------------- */

/* What is known of the chosen ones, by index in the snapshot. */
struct past {
	bool ended[SNAPSHOT_MAX_CACHES];   /* neither in full nor sampled at the end */
	bool sampled[SNAPSHOT_MAX_CACHES]; /* some of its objects were */
};

static void find_sampled(const struct track_record *record, void *arg)
{
	struct past *past = arg;

	if (tracks_is_possible(&record->alloc) && track_sites_weight(record->alloc.sample) > 0)
		past->sampled[record->cache] = true;
}

/*
 * Of a process that is known when tracking is switched on (track_switch.c). In full tracking each
 * object stands for itself, also one that was sampled before. Where tracking had ended only the
 * objects that are left of it tell.
 */
static void find_how(struct tracking *t)
{
	struct past past = { .ended = { false } };

	if (t->options->source.kind != SOURCE_CORE)
		return;
	for (unsigned int i = 0; i < t->nr_caches; i++) {
		unsigned int index = track_index_of(t, &t->cache[i]);
		const struct snapshot_cache *c = &t->snapshot->cache[index];

		past.ended[index] = !(c->flags & SLAB_STORE_USER) && !c->sampled;
		past.sampled[index] = !(c->flags & SLAB_STORE_USER) && c->sampled;
	}
	tracks_visit_some(t->snapshot, past.ended, find_sampled, &past);
	for (unsigned int i = 0; i < t->nr_caches; i++)
		t->cache[i].sampled = past.sampled[track_index_of(t, &t->cache[i])];
}

/* ---- those that are tracked, or were named --------------------------------------------------- */

void track_choose_tracked(struct tracking *t)
{
	t->nr_caches = 0;
	for (unsigned int i = 0; i < t->snapshot->nr_caches; i++)
		if (is_tracked(&t->snapshot->cache[i]))
			add(t, &t->snapshot->cache[i]);
	find_how(t);
}

bool track_any_tracked(const struct tracking *t)
{
	for (unsigned int i = 0; i < t->nr_caches; i++)
		if (is_tracked(&t->snapshot->cache[track_index_of(t, &t->cache[i])]))
			return true;
	return false;
}

static bool matches_any(const struct tracking *t, const struct snapshot_cache *c)
{
	for (unsigned int i = 0; i < t->options->nr_patterns; i++)
		if (pattern_matches(t->snapshot, c, t->options->pattern[i]))
			return true;
	return false;
}

static bool matches_some(const struct tracking *t, const char *pattern)
{
	for (unsigned int i = 0; i < t->snapshot->nr_caches; i++)
		if (pattern_matches(t->snapshot, &t->snapshot->cache[i], pattern))
			return true;
	return false;
}

static int fail_unmatched(const struct tracking *t, const char *pattern)
{
	const struct snapshot_cache *row = pattern_no_cache(t->snapshot, pattern);
	char why[PATTERN_WHY];

	if (row)
		return util_fail(t->options->command, "%s", pattern_why_not(why, t->snapshot, row));
	return util_fail(t->options->command, "%s has no cache '%s'", t->source.title, pattern);
}

int track_choose_matching(struct tracking *t)
{
	t->nr_caches = 0;
	for (unsigned int i = 0; i < t->options->nr_patterns; i++)
		if (!matches_some(t, t->options->pattern[i]))
			return fail_unmatched(t, t->options->pattern[i]);
	for (unsigned int i = 0; i < t->snapshot->nr_caches; i++)
		if (matches_any(t, &t->snapshot->cache[i]))
			add(t, &t->snapshot->cache[i]);
	find_how(t);
	return EXIT_OK;
}

/* ---- growth ---------------------------------------------------------------------------------- */

/*
 * Bytes of live objects in the earlier and in the later half of the snapshots, by
 * cache number; 0: whole pages.
 */
struct watch {
	double early[USLAB_NR_HANDLES];
	double late[USLAB_NR_HANDLES];
};

struct grown {
	const struct snapshot_cache *cache;
	double bytes;
};

static void note(struct watch *watch, const struct snapshot *s, unsigned int number)
{
	double *half = number < SNAPSHOTS / 2 ? watch->early : watch->late;

	for (unsigned int i = 0; i < s->nr_caches; i++)
		if (s->cache[i].id || s->cache[i].whole_pages)
			half[s->cache[i].id] += (double)s->cache[i].object_bytes / (SNAPSHOTS / 2);
}

static int watch_growth(struct tracking *t, struct watch *watch)
{
	double pause = t->options->watch / (SNAPSHOTS - 1);

	for (unsigned int number = 0; number < SNAPSHOTS; number++) {
		/* of a process that has ended the snapshot says so */
		if (number && !track_sleep(t, pause) && track_stopped())
			return EXIT_FAILED;
		if (source_snapshot(&t->source, t->snapshot) != EXIT_OK)
			return EXIT_FAILED;
		note(watch, t->snapshot, number);
	}
	return EXIT_OK;
}

static int compare(const void *a, const void *b)
{
	double x = ((const struct grown *)a)->bytes, y = ((const struct grown *)b)->bytes;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Caches by growth, those that shrank last. Returns how many grew. */
static unsigned int sort_growth(const struct snapshot *s, const struct watch *watch,
				struct grown *grown, unsigned int *nr)
{
	unsigned int growing = 0;

	*nr = 0;
	for (unsigned int i = 0; i < s->nr_caches; i++) {
		const struct snapshot_cache *c = &s->cache[i];

		if (c->id && c->refcount)
			grown[(*nr)++] = (struct grown){
				.cache = c,
				.bytes = watch->late[c->id] - watch->early[c->id],
			};
	}
	qsort(grown, *nr, sizeof(*grown), compare);
	while (growing < *nr && grown[growing].bytes > 0)
		growing++;
	return growing;
}

static void choose_growing(struct tracking *t, const struct watch *watch, struct grown *grown)
{
	unsigned int nr;
	unsigned int growing = sort_growth(t->snapshot, watch, grown, &nr);

	for (unsigned int i = 0; i < growing && i < MAX_GROWING; i++) {
		if (grown[i].bytes * MIN_SHARE < grown[0].bytes)
			break;
		add(t, grown[i].cache);
		/* the halves are half of the time apart */
		t->cache[t->nr_caches - 1].growth = grown[i].bytes * 2 / t->options->watch;
	}
	/*
	 * whatever caches grow: tracking whole pages costs next to nothing, and a few large buffers
	 * outweigh any leak
	 */
	if (watch->late[BLOCKS] > watch->early[BLOCKS]) {
		add_blocks(t);
		t->cache[t->nr_caches - 1].growth =
			(watch->late[BLOCKS] - watch->early[BLOCKS]) * 2 / t->options->watch;
	}
}

int track_choose_growing(struct tracking *t)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	struct grown *grown = calloc(SNAPSHOT_MAX_CACHES, sizeof(*grown));
	int status = watch && grown ? watch_growth(t, watch)
				    : util_fail(t->options->command, "out of memory");

	t->nr_caches = 0;
	if (status == EXIT_OK)
		choose_growing(t, watch, grown);
	free(grown);
	free(watch);
	if (status == EXIT_OK && !t->nr_caches && command_finds_stopped(t->options->source.pid))
		return util_fail(t->options->command, "%s is stopped: nothing in it can grow",
				 t->source.title);
	if (status == EXIT_OK && !t->nr_caches)
		return util_fail(
			t->options->command,
			"no cache of %s grew within %g s; --cache names one to track, "
			"in full (each of its objects takes more memory then) or with --sample",
			t->source.title, t->options->watch);
	return status;
}
