/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/groups.c - the accounting groups of a process, with what is charged to each
 *
 * Flow:       called by info_groups.c, fs/fs_groups.c and top/; calls inspect/groups.c. In: a
 *             process; out: a list.
 */
#include "info/groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_ROOM 64

struct taking {
	struct groups_list *list;
	bool failed;
};

static void add(const struct groups_group *group, void *arg)
{
	struct taking *taking = arg;
	struct groups_list *list = taking->list;

	if (list->nr == list->room) {
		size_t room = list->room ? 2 * list->room : FIRST_ROOM;
		struct groups_group *more = realloc(list->group, room * sizeof(*more));

		if (!more) {
			taking->failed = true;
			return;
		}
		list->group = more;
		list->room = room;
	}
	list->group[list->nr++] = *group;
}

struct groups_group *groups_list_find(const struct groups_list *list, uint32_t id)
{
	size_t from = 0, to = list->nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (list->group[middle].id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from < list->nr && list->group[from].id == id ? &list->group[from] : NULL;
}

/* Of that group and of all above it. What another process says may be a circle. */
static void take_ahead(uint32_t id, uint64_t bytes, void *arg)
{
	const struct groups_list *list = arg;

	for (size_t steps = 0; id && steps < list->nr; steps++) {
		struct groups_group *group = groups_list_find(list, id);

		if (!group)
			return;
		group->usage -= group->usage < bytes ? group->usage : bytes;
		id = group->parent;
	}
}

int groups_list_take(struct snapshot *s, struct groups_list *list)
{
	struct taking taking = { .list = list };
	long ret;

	*list = (struct groups_list){ .nr = 0 };
	ret = groups_visit(s, add, &taking);
	if (ret >= 0 && !taking.failed)
		ret = groups_visit_ahead(s, take_ahead, list);
	if (ret >= 0 && !taking.failed)
		return 0;
	groups_list_free(list);
	return ret < 0 ? (int)ret : -ENOMEM;
}

void groups_list_free(struct groups_list *list)
{
	free(list->group);
	list->group = NULL;
}

void groups_name(const struct groups_group *group, char name[GROUPS_NAME])
{
	snprintf(name, GROUPS_NAME, "%u-%s", group->id, group->name);
}
