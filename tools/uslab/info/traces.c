/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/traces.c - the text of alloc_traces and free_traces, and of the alloc_calls of old
 * kernels (spec 6.4)
 *
 * Flow:       called by info_report.c and fs/fs_tree.c; calls track/track_sites.c to group the
 *             objects, symbols/resolve.c for names and inspect/tracks.c. In: one cache of a
 *             snapshot; out: text.
 */
#define _GNU_SOURCE
#include "info/traces.h"

#include <errno.h>
#include <stdlib.h>

#include "track/track_sites.h"

struct traces {
	struct snapshot *s;
	const struct traces_options *options;
	struct track_sites sites;
};

void traces_list(char *buf, size_t size, const uint64_t *bits, unsigned int nr)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned int i = 0; i < nr && len < size; i++) {
		unsigned int first = i;

		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		while (i + 1 < nr && bits[(i + 1) / 64] >> (i + 1) % 64 & 1)
			i++;
		len += (size_t)snprintf(buf + len, size - len, "%s%u", len ? "," : "", first);
		if (i > first && len < size)
			len += (size_t)snprintf(buf + len, size - len, "-%u", i);
	}
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_numbers(FILE *out, const struct traces *t, const struct track_site *site)
{
	const struct snapshot_totals *totals = &t->s->totals;
	char list[1024];

	if (site->waste)
		fprintf(out, " waste=%lu/%u", site->count * site->waste, site->waste);
	fprintf(out, " age=%lu", site->age_min);
	if (site->age_sum != site->age_min)
		fprintf(out, "/%lu/%lu", site->age_sum / site->count, site->age_max);
	fprintf(out, " pid=%u", site->pid_min);
	if (site->pid_max != site->pid_min)
		fprintf(out, "-%u", site->pid_max);
	if (totals->cpus > 1) {
		traces_list(list, sizeof(list), site->cpus, USLAB_MAX_CPUS);
		fprintf(out, " cpus=%s", list);
	}
	if (totals->nodes > 1) {
		traces_list(list, sizeof(list), &site->nodes, 64);
		fprintf(out, " nodes=%s", list);
	}
	putc('\n', out);
}

static void write_stack(FILE *out, const struct traces *t, const struct track_site *site,
			struct resolve *resolve)
{
	uint64_t pcs[STACKS_DEPTH];
	unsigned int n = site->handle ? tracks_stack(t->s, site->handle, pcs, STACKS_DEPTH) : 0;

	if (!site->handle)
		return;
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "        %s\n", resolve_address(resolve, pcs[i])->text);
	putc('\n', out);
}

static void write_site(FILE *out, const struct traces *t, const struct track_site *site,
		       struct resolve *resolve)
{
	fprintf(out, "%7lu %s", site->count,
		site->caller ? resolve_address(resolve, site->caller)->text : "<not-available>");
	write_numbers(out, t, site);
	if (!t->options->calls)
		write_stack(out, t, site, resolve);
}

/* Into a buffer first: the last entry that does not fit is left out as a whole. */
static int write_sites(FILE *out, const struct traces *t, struct resolve *resolve)
{
	unsigned int max = t->options->max_size;
	char *text = NULL;
	size_t size = 0;
	size_t good = 0;
	FILE *buffer = open_memstream(&text, &size);

	if (!buffer)
		return -ENOMEM;
	for (unsigned int i = 0; i < t->sites.nr && (!max || size <= max); i++) {
		write_site(buffer, t, &t->sites.site[i], resolve);
		if (fflush(buffer))
			break;
		if (!max || size <= max)
			good = size;
	}
	if (!t->sites.nr) {
		fputs("No data\n", buffer);
		fflush(buffer);
		good = size;
	}
	if (fclose(buffer)) {
		free(text);
		return -ENOMEM;
	}
	fwrite(text, 1, good, out);
	free(text);
	return 0;
}

int traces_text(FILE *out, struct snapshot *s, unsigned int cache, struct resolve *resolve,
		const struct traces_options *options)
{
	struct traces t = { .s = s, .options = options };
	long ret;

	track_sites_open(&t.sites, !options->calls && options->item == TRACK_ALLOC);
	t.sites.by_caller = options->calls;
	ret = track_sites_collect(&t.sites, s, cache, options->item);
	track_sites_sort(&t.sites);
	if (ret >= 0)
		ret = t.sites.lost ? -ENOMEM : write_sites(out, &t, resolve);
	track_sites_close(&t.sites);
	return (int)ret;
}
