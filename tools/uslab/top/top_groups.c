/* SPDX-License-Identifier: MIT */
/*
 * uslab/top/top_groups.c - the accounting groups of a process, for the screen of `uslab top`
 *
 * Flow:       called by top_screen.c; calls info/groups.c. In: the process; out: lines, the group
 *             with the largest usage first.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "info/groups.h"
#include "top/top.h"
#include "util.h"

const char top_groups_title[] =
	"     Usage      Limit       Peak   Failed  Threads  Group (below which one)";

static int compare(const void *a, const void *b)
{
	const struct groups_group *x = a;
	const struct groups_group *y = b;
	int order = (x->usage < y->usage) - (x->usage > y->usage);

	return order ? order : (x->id > y->id) - (x->id < y->id);
}

static void show(const struct groups_group *group, void (*line)(const char *text, void *arg),
		 void *arg)
{
	char usage[UTIL_SIZE_TEXT], limit[UTIL_SIZE_TEXT] = "-", peak[UTIL_SIZE_TEXT];
	char name[GROUPS_NAME];
	char text[256];

	if (group->limit != UINT64_MAX)
		util_size(limit, sizeof(limit), group->limit);
	groups_name(group, name);
	snprintf(text, sizeof(text), "%10s %10s %10s %8llu %8u  %s%s",
		 util_size(usage, sizeof(usage), group->usage), limit,
		 util_size(peak, sizeof(peak), group->peak), (unsigned long long)group->failed,
		 group->threads, name, group->dying ? " (gone)" : "");
	if (group->parent) {
		size_t at = 0;

		while (text[at])
			at++;
		snprintf(text + at, sizeof(text) - at, " (%u)", group->parent);
	}
	line(text, arg);
}

unsigned int top_groups(struct top *top, void (*line)(const char *text, void *arg), void *arg)
{
	struct groups_list list = { .nr = 0 };
	unsigned int count = 0;

	if (top->source.options.kind != SOURCE_PROCESS || top->ended ||
	    groups_list_take(top->snapshot, &list)) {
		line("Only a running process that uses uslab can tell.", arg);
		return 1;
	}
	if (list.nr)
		qsort(list.group, list.nr, sizeof(list.group[0]), compare);
	for (; count < list.nr; count++)
		show(&list.group[count], line, arg);
	if (!list.nr)
		line("The process has no accounting groups (uslab_group_create()).", arg);
	groups_list_free(&list);
	return count ? count : 1;
}
