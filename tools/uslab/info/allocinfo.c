/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/allocinfo.c - call sites with what is counted for them, as in /proc/allocinfo
 *
 * Flow:       called by info_allocinfo.c and fs_tree.c; calls inspect/allocinfo.c. In: a process;
 *             out: a list, and its text (version 1.0 of the file).
 */
#include "info/allocinfo.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 256

struct taking {
	struct allocinfo_list *list;
	bool failed;
};

static void add(const struct allocinfo_site *site, void *arg)
{
	struct taking *taking = arg;
	struct allocinfo_list *list = taking->list;

	if (list->nr == list->room) {
		size_t room = list->room ? 2 * list->room : FIRST_ROOM;
		struct allocinfo_site *more = realloc(list->site, room * sizeof(*more));

		if (!more) {
			taking->failed = true;
			return;
		}
		list->site = more;
		list->room = room;
	}
	list->site[list->nr++] = *site;
}

int allocinfo_list_take(struct snapshot *s, struct allocinfo_list *list)
{
	struct taking taking = { .list = list };
	long ret;

	*list = (struct allocinfo_list){ .nr = 0 };
	if (!allocinfo_read(s, &list->info))
		return s->error;
	ret = allocinfo_visit(s, add, &taking);
	if (ret >= 0 && !taking.failed)
		return 0;
	allocinfo_list_free(list);
	return ret < 0 ? (int)ret : -ENOMEM;
}

void allocinfo_list_free(struct allocinfo_list *list)
{
	free(list->site);
	list->site = NULL;
}

void allocinfo_print_head(FILE *out)
{
	fputs("allocinfo - version: 1.0\n"
	      "#     <size>  <calls> <tag info>\n",
	      out);
}

void allocinfo_text(const struct allocinfo_site *site, char text[ALLOCINFO_TEXT])
{
	if (site->module[0])
		snprintf(text, ALLOCINFO_TEXT, "%s:%u [%s] func:%s", site->file, site->line,
			 site->module, site->function);
	else
		snprintf(text, ALLOCINFO_TEXT, "%s:%u func:%s", site->file, site->line,
			 site->function);
}

void allocinfo_print_site(FILE *out, const struct allocinfo_site *site)
{
	char text[ALLOCINFO_TEXT];

	allocinfo_text(site, text);
	fprintf(out, "%12llu %8llu %s\n", (unsigned long long)site->bytes,
		(unsigned long long)site->calls, text);
}

int allocinfo_file(FILE *out, struct snapshot *s)
{
	struct allocinfo_list list;
	int ret = allocinfo_list_take(s, &list);

	if (ret)
		return ret;
	allocinfo_print_head(out);
	for (size_t i = 0; i < list.nr; i++)
		allocinfo_print_site(out, &list.site[i]);
	allocinfo_list_free(&list);
	return 0;
}
