/* SPDX-License-Identifier: MIT */
/*
 * inspect/allocinfo.c - allocation profiling (cache/profile/sites.h), from outside
 *
 * Data:       struct snapshot of the caller.
 * Invariants: see allocinfo.h.
 * Locks:      none.
 * Flow:       called by tools; calls snapshot.c.
 */
#include "inspect/allocinfo.h"

#include <string.h>

#include "base/bits.h"
#include "inspect/internal.h"

/* What is the same for all sites, as read. */
struct table {
	uint64_t address; /* of struct sites; 0: there is none */
	uint32_t nr;
	uint32_t nr_cpus;
	uint64_t cpu[USLAB_MAX_CPUS];
};

#define READ(s, table, member, to) \
	snapshot_read((s), (table) + offsetof(struct sites, member), (to), sizeof(*(to)))

static uint64_t find_table(struct snapshot *s)
{
	uint64_t table;

	return s->root.sites && snapshot_read(s, s->root.sites, &table, sizeof(table)) ? table : 0;
}

bool allocinfo_read(struct snapshot *s, struct allocinfo *info)
{
	uint64_t table = find_table(s);
	uint32_t on;

	memset(info, 0, sizeof(*info));
	if (!table || !READ(s, table, on, &on) || !READ(s, table, nr, &info->sites) ||
	    !READ(s, table, lost, &info->lost) || !READ(s, table, since, &info->since))
		return !s->error;
	info->known = true;
	info->on = on != 0;
	info->sites = MIN(info->sites, SITES_MAX - 1);
	return true;
}

static bool read_table(struct snapshot *s, struct table *table)
{
	table->address = find_table(s);
	if (!table->address || !READ(s, table->address, nr, &table->nr) ||
	    !READ(s, table->address, nr_cpus, &table->nr_cpus))
		return false;
	table->nr = MIN(table->nr, SITES_MAX - 1);
	table->nr_cpus = MIN(table->nr_cpus, (uint32_t)USLAB_MAX_CPUS);
	return snapshot_read(s, table->address + offsetof(struct sites, cpu), table->cpu,
			     table->nr_cpus * sizeof(table->cpu[0]));
}

/* Sums up the counters of one chunk over all CPUs. */
static void read_chunk(struct snapshot *s, const struct table *table, unsigned int chunk,
		       struct site_counters sum[SITES_PER_CHUNK])
{
	struct site_counters counters[SITES_PER_CHUNK];

	memset(sum, 0, sizeof(counters));
	for (uint32_t i = 0; i < table->nr_cpus; i++) {
		uint64_t at = 0;

		if (!snapshot_read(s,
				   table->cpu[i] + offsetof(struct sites_cpu, chunk) +
					   chunk * sizeof(at),
				   &at, sizeof(at)) ||
		    !at || !snapshot_read(s, at, counters, sizeof(counters)))
			continue;
		for (unsigned int j = 0; j < SITES_PER_CHUNK; j++) {
			sum[j].bytes += counters[j].bytes;
			sum[j].calls += counters[j].calls;
		}
	}
}

/* CPUs are read one after the other: a free may be seen without its allocation. */
static uint64_t not_negative(uint64_t count)
{
	return count > INT64_MAX ? 0 : count;
}

/* false: there is no such site, or its module is gone and it has nothing. */
static bool read_site(struct snapshot *s, const struct table *table, uint32_t number,
		      const struct site_counters *counters, struct allocinfo_site *to)
{
	struct site site;
	uint64_t at = 0;
	uint64_t text;

	snapshot_read(s, table->address + offsetof(struct sites, site) + number * sizeof(uint64_t),
		      &at, sizeof(at));
	if (!at || !snapshot_read(s, at, &site, sizeof(site)))
		return false;
	to->bytes = not_negative(counters->bytes);
	to->calls = not_negative(counters->calls);
	if (site.gone && !to->bytes && !to->calls)
		return false;
	text = at + offsetof(struct site, text);
	to->line = site.line;
	snapshot_text(s, text, to->file, sizeof(to->file));
	text += MIN(site.file, SITE_FILE_MAX) + 1u;
	snapshot_text(s, text, to->function, sizeof(to->function));
	text += MIN(site.function, SITE_FUNCTION_MAX) + 1u;
	snapshot_text(s, text, to->module, sizeof(to->module));
	return true;
}

long allocinfo_visit(struct snapshot *s,
		     void (*visit)(const struct allocinfo_site *site, void *arg), void *arg)
{
	struct site_counters sum[SITES_PER_CHUNK];
	struct allocinfo_site site;
	struct table table;
	long count = 0;

	if (!read_table(s, &table))
		return s->error;
	for (uint32_t number = 1; number <= table.nr && !s->error; number++) {
		if (number == 1 || number % SITES_PER_CHUNK == 0)
			read_chunk(s, &table, number / SITES_PER_CHUNK, sum);
		if (!read_site(s, &table, number, &sum[number % SITES_PER_CHUNK], &site))
			continue;
		visit(&site, arg);
		count++;
	}
	return s->error ? s->error : count;
}
