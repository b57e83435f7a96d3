/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_sites.c - the call sites that hold the objects of a cache, for `uslab top`
 *
 * Flow:       called by top_screen.c; calls track/track_sites.c, inspect/tracks.c and
 *             symbols/resolve.c. In: the row under the cursor; out: lines.
 *
 * Only debug slabs with user tracking record them. The groups are those of `uslab track`; what is
 * tracked may be a part of the live objects (those from before tracking are not known), which the
 * first line says.
 */
#include <stdio.h>

#include "inspect/text.h"
#include "symbols/resolve.h"
#include "top/top.h"
#include "track/track_sites.h"

#define MAX_SITES 100
#define SHOW_FRAMES 4

struct sites_view {
	struct top *top;
	void (*line)(const char *text, void *arg);
	void *arg;
	unsigned int count;
};

static void put(struct sites_view *view, const char *text)
{
	view->line(text, view->arg);
	view->count++;
}

static void show_stack(struct sites_view *view, const struct track_site *site)
{
	uint64_t pcs[STACKS_DEPTH];
	unsigned int nr = tracks_stack(view->top->snapshot, site->handle, pcs, STACKS_DEPTH);
	char text[512];
	char line[256];

	for (unsigned int i = 0; i < nr && i < SHOW_FRAMES; i++) {
		const struct resolve_name *name = resolve_address(view->top->resolve, pcs[i]);

		snprintf(text, sizeof(text), "%30s %s %s", "", name->text,
			 resolve_line(name, line, sizeof(line)));
		put(view, text);
	}
}

static void show_site(struct sites_view *view, const struct track_site *site)
{
	const struct resolve_name *name = resolve_address(view->top->resolve, site->caller);
	char text[512], bytes[24], line[256];

	text_scale(bytes, sizeof(bytes), site->bytes);
	snprintf(text, sizeof(text), "%9lu %9s %9.1f s  %s %s", (unsigned long)site->count, bytes,
		 (double)site->age_sum / (double)site->count / 1000, name->text,
		 resolve_line(name, line, sizeof(line)));
	put(view, text);
	show_stack(view, site);
}

static void show_all(struct sites_view *view, const struct snapshot_cache *c,
		     const struct track_sites *sites)
{
	char text[128];

	snprintf(text, sizeof(text), "%lu of %lu live objects are tracked",
		 (unsigned long)sites->count, c->objects);
	put(view, text);
	snprintf(text, sizeof(text), "%9s %9s %11s  %s", "Objects", "Bytes", "mean age",
		 "Call site");
	put(view, text);
	for (unsigned int i = 0; i < sites->nr && i < MAX_SITES; i++)
		show_site(view, &sites->site[i]);
}

unsigned int top_sites(struct top *top, void (*line)(const char *text, void *arg), void *arg)
{
	struct sites_view view = { .top = top, .line = line, .arg = arg };
	const struct top_row *row = top_current(top);
	struct track_sites sites;
	long tracked = 0;

	if (top->source.options.kind != SOURCE_PROCESS || top->ended) {
		put(&view, "Only a running process that uses uslab can tell.");
		return view.count;
	}
	track_sites_open(&sites, false);
	if (row)
		tracked = track_sites_collect(&sites, top->snapshot,
					      (unsigned int)(row->cache - top->snapshot->cache),
					      TRACK_ALLOC);
	if (sites.count && !top->resolve)
		top->resolve = resolve_process(top->source.options.pid);
	if (sites.count && top->resolve) {
		track_sites_sort(&sites);
		show_all(&view, row->cache, &sites);
	} else {
		put(&view, tracked < 0 ? "The process cannot be read."
				       : "No object is tracked; t switches tracking (U) on.");
	}
	track_sites_close(&sites);
	return view.count;
}
