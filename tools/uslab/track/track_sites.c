/* SPDX-License-Identifier: MIT */
/*
 * uslab/track/track_sites.c - tracked objects grouped by caller, stack and waste
 *
 * Invariants: at most TRACK_SITES_MAX groups; objects beyond are counted in lost.
 * Flow:       called by track_table.c, info/traces.c and top/top_sites.c, and for weights by
 *             track_choose.c; calls inspect/tracks.c for the objects and estimate.c. In: tracked
 *             objects; out: groups of them.
 */
#include "track/track_sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/control.h"
#include "inspect/mix.h"

#define FIRST_CAPACITY 256u

void track_sites_open(struct track_sites *sites, bool by_waste)
{
	memset(sites, 0, sizeof(*sites));
	sites->by_waste = by_waste;
}

void track_sites_close(struct track_sites *sites)
{
	free(sites->site);
	free(sites->slot);
	memset(sites, 0, sizeof(*sites));
}

static uint64_t hash_of(uint64_t caller, uint32_t handle, uint32_t waste)
{
	uint64_t x = caller ^ (uint64_t)handle << 32 ^ (uint64_t)waste << 17;

	x = mix_multiply(x);
	return x ^ x >> 29;
}

/* The slot of that key, or the free one where it belongs; at most half of the slots are taken. */
static uint32_t *find_slot(struct track_sites *sites, uint64_t caller, uint32_t handle,
			   uint32_t waste)
{
	uint64_t i = hash_of(caller, handle, waste);

	for (;; i++) {
		uint32_t *slot = &sites->slot[i & (sites->nr_slots - 1)];
		const struct track_site *site;

		if (!*slot)
			return slot;
		site = &sites->site[*slot - 1];
		if (site->caller == caller && site->handle == handle && site->waste == waste)
			return slot;
	}
}

static void fill_slots(struct track_sites *sites)
{
	for (unsigned int i = 0; i < sites->nr; i++) {
		const struct track_site *site = &sites->site[i];

		*find_slot(sites, site->caller, site->handle, site->waste) = i + 1;
	}
}

/* Room for one more site; false: there is none. */
static bool grow(struct track_sites *sites)
{
	unsigned int capacity = sites->capacity ? sites->capacity * 2 : FIRST_CAPACITY;
	struct track_site *site;
	uint32_t *slot;

	if (sites->nr < sites->capacity)
		return true;
	if (sites->nr >= TRACK_SITES_MAX)
		return false;
	site = reallocarray(sites->site, capacity, sizeof(*site));
	if (!site)
		return false;
	sites->site = site;
	slot = calloc((size_t)capacity * 2, sizeof(*slot));
	if (!slot)
		return false;
	free(sites->slot);
	sites->slot = slot;
	sites->nr_slots = capacity * 2;
	sites->capacity = capacity;
	fill_slots(sites);
	return true;
}

static struct track_site *find_or_make(struct track_sites *sites, uint64_t caller, uint32_t handle,
				       uint32_t waste)
{
	struct track_site *site;
	uint32_t *slot;

	if (!grow(sites))
		return NULL;
	slot = find_slot(sites, caller, handle, waste);
	if (*slot)
		return &sites->site[*slot - 1];
	site = &sites->site[sites->nr++];
	*slot = sites->nr;
	memset(site, 0, sizeof(*site));
	site->caller = caller;
	site->handle = handle;
	site->waste = waste;
	site->age_min = UINT64_MAX;
	site->pid_min = UINT32_MAX;
	return site;
}

double track_sites_weight(uint32_t sample)
{
	uint32_t bytes = DEBUG_SAMPLE_BYTES(sample), mean = DEBUG_SAMPLE_MEAN(sample);

	if (!bytes || mean < CONTROL_SAMPLING_MIN || mean > CONTROL_SAMPLING_MAX)
		return 0;
	return -1 / expm1(-ldexp((double)bytes, -(int)mean));
}

static void add_weighed(struct track_site *site, double size, double weight, bool old)
{
	estimate_add(&site->objects_sum, 1, weight);
	estimate_add(&site->bytes_sum, size, weight);
	if (!old)
		return;
	estimate_add(&site->old, 1, weight);
	estimate_add(&site->old_bytes, size, weight);
}

void track_sites_add(struct track_sites *sites, const struct track_record *record,
		     enum track_item item, uint64_t now)
{
	const struct track *track = item == TRACK_ALLOC ? &record->alloc : &record->free;
	uint64_t age = now > track->when ? now - track->when : 0;
	double weight = sites->sampled ? track_sites_weight(track->sample) : 1;
	struct track_site *site;

	if (track->when < sites->since || weight == 0)
		return;
	site = find_or_make(sites, track->addr, sites->by_caller ? 0 : track->handle,
			    sites->by_waste ? record->waste : 0);
	if (!site) {
		sites->lost++;
		return;
	}
	sites->count++;
	site->count++;
	site->bytes += record->size;
	site->age_sum += age;
	add_weighed(site, (double)record->size, weight, sites->old_age && age >= sites->old_age);
	sites->heaviest = weight > sites->heaviest ? weight : sites->heaviest;
	site->age_min = age < site->age_min ? age : site->age_min;
	site->age_max = age > site->age_max ? age : site->age_max;
	site->pid_min = track->pid < site->pid_min ? track->pid : site->pid_min;
	site->pid_max = track->pid > site->pid_max ? track->pid : site->pid_max;
	site->nodes |= record->node < 64 ? 1ull << record->node : 0;
	if (track->cpu < USLAB_MAX_CPUS)
		site->cpus[track->cpu / 64] |= 1ull << track->cpu % 64;
}

struct collect {
	struct track_sites *sites;
	enum track_item item;
	uint64_t now;
};

static void collect_one(const struct track_record *record, void *arg)
{
	struct collect *collect = arg;

	track_sites_add(collect->sites, record, collect->item, collect->now);
}

long track_sites_collect(struct track_sites *sites, struct snapshot *s, unsigned int cache,
			 enum track_item item)
{
	struct collect collect = { .sites = sites, .item = item, .now = tracks_now(s) };

	return tracks_visit(s, cache, collect_one, &collect);
}

static int compare_keys(const void *a, const void *b)
{
	const struct track_site *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->handle != y->handle)
		return x->handle < y->handle ? -1 : 1;
	return x->waste < y->waste ? -1 : x->waste > y->waste;
}

static int compare_counts(const void *a, const void *b)
{
	const struct track_site *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return compare_keys(a, b);
}

void track_sites_sort(struct track_sites *sites)
{
	if (sites->nr)
		qsort(sites->site, sites->nr, sizeof(*sites->site),
		      sites->by_caller ? compare_keys : compare_counts);
}
