/* SPDX-License-Identifier: MIT */
/*
 * uslab/info/groups.h - the accounting groups of a process, with what is charged to each
 */
#ifndef TOOLS_GROUPS_H
#define TOOLS_GROUPS_H

#include "inspect/groups.h"

/* By number; usage is without what CPUs hold charged ahead. */
struct groups_list {
	struct groups_group *group; /* nr of them; freed by groups_list_free() */
	size_t nr;
	size_t room;
};

/* 0; -ENOMEM, or -errno of the reader. s: of that process, open. */
int groups_list_take(struct snapshot *s, struct groups_list *list);
void groups_list_free(struct groups_list *list);

/* NULL: there is no group of that number. */
struct groups_group *groups_list_find(const struct groups_list *list, uint32_t id);

/* "3-tenant": what a group is called where its name has to be the only one. */
#define GROUPS_NAME (USLAB_GROUP_NAME_MAX + 16)
void groups_name(const struct groups_group *group, char name[GROUPS_NAME]);

#endif /* TOOLS_GROUPS_H */
