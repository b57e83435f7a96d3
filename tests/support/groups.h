/* SPDX-License-Identifier: MIT */
/*
 * support/groups.h - accounting groups of a test, and what is charged to them
 */
#ifndef SUPPORT_GROUPS_H
#define SUPPORT_GROUPS_H

#include "cache/group/group.h"
#include "child.h"

static inline struct uslab_group *make_group(const char *name, size_t limit,
					     struct uslab_group *parent)
{
	int error;
	struct uslab_group *g = group_create(name, limit, parent, &error);

	CHILD_CHECK(g);
	return g;
}

static inline size_t usage(struct uslab_group *g)
{
	struct uslab_group_statistics stat;

	CHILD_CHECK(group_stat(g, &stat) == 0);
	return stat.usage;
}

/* The group that has, or had, that handle. */
static inline struct group *group_of_handle(struct uslab_group *g)
{
	return group_at((uint32_t)((uintptr_t)g & 0xffff));
}

#endif /* SUPPORT_GROUPS_H */
