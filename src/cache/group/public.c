/* SPDX-License-Identifier: MIT */
/*
 * cache/group/public.c - public functions of <uslab/group.h>, which both libraries have
 *
 * Why:        docs/adr/0061.
 * Data:       none.
 * Invariants: the floors are ready before there is a group.
 * Locks:      none.
 * Flow:       called by programs; calls group.c, init.c, os/symbol/symbol.c, page/nested.c.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cache/group/group.h"
#include "os/process/say.h"
#include "os/symbol/symbol.h"
#include "page/nested.h"

/* A copy of the library that is loaded after this one has groups of its own, which nobody makes. */
static void say_if_twice(void)
{
	if (os_symbol_next("uslab_group_create"))
		os_say("uslab_group_create: this process has two copies of uslab (libuslab and "
		       "libuslab_malloc.so); the group and its limit are for what one of them "
		       "allocates: uslab_group_create(3), LIBRARIES, says which, and how to link");
}

USLAB_API struct uslab_group *uslab_group_create(const char *name, size_t limit,
						 struct uslab_group *parent)
{
	struct uslab_group *group = NULL;
	int error = -cache_init();

	if (!error && (!groups_are_known() || !load_relaxed(&groups_table->serials)))
		say_if_twice(); /* a cache with keys makes the table, and no group */
	if (!error)
		group = group_create(name, limit, parent, &error);
	if (!group)
		errno = error;
	return group;
}

/* What handlers freed is not in use, also where their threads have ended since. */
static void settle(void)
{
	if (!nested_call())
		nested_settle();
}

USLAB_API void uslab_group_destroy(struct uslab_group *group)
{
	settle();
	group_destroy(group);
}

USLAB_API struct uslab_group *uslab_group_enter(struct uslab_group *group)
{
	return group_enter(group);
}

USLAB_API struct uslab_group *uslab_group_current(void)
{
	return group_of_thread();
}

USLAB_API size_t uslab_group_usage(struct uslab_group *group)
{
	struct uslab_group_statistics stat;

	settle();
	return group_stat(group, &stat) ? 0 : stat.usage;
}

USLAB_API size_t uslab_group_peak(struct uslab_group *group)
{
	struct uslab_group_statistics stat;

	return group_stat(group, &stat) ? 0 : stat.peak;
}

USLAB_API int uslab_group_set_limit(struct uslab_group *group, size_t limit)
{
	return group_set_limit(group, limit);
}

/* Up to the last member that the first version had. */
#define STAT_FIRST (offsetof(struct uslab_group_statistics, groups) + sizeof(size_t))

USLAB_API int uslab_group_stat(struct uslab_group *group, struct uslab_group_statistics *stat)
{
	struct uslab_group_statistics all;
	size_t size = MIN(stat->size, sizeof(all));
	int ret;

	if (size < STAT_FIRST)
		return -EINVAL;
	settle();
	ret = group_stat(group, &all);
	if (ret)
		return ret;
	all.size = size;
	memcpy(stat, &all, size);
	return 0;
}

USLAB_API int uslab_group_set_callback(struct uslab_group *group, uslab_group_callback callback,
				       void *arg)
{
	return group_set_callback(group, callback, arg);
}
