/* SPDX-License-Identifier: MIT */
/*
 * examples/groups_malloc.c - the same for malloc(): what a plug-in allocates
 * is charged to its group, and freed by whoever has it
 *
 *   $ cc -O2 groups_malloc.c -luslab_malloc -o groups_malloc
 *   $ ./groups_malloc
 *   plug-in: no memory (Cannot allocate memory), 1 callback
 *   program: has memory
 *   plug-in: 0 bytes, peak at most 1 MB: yes, 1 failed
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uslab/group.h>

#define MB 1048576ul

static unsigned long calls;

/* Called at the limit: here it could free what can be made again. */
static void at_limit(struct uslab_group *group, size_t bytes, void *arg)
{
	(void)group, (void)bytes, (void)arg;
	calls++;
}

/* Of a plug-in: grows until malloc() fails. */
static void **grow(void)
{
	void **list = NULL;
	void **block;

	while ((block = malloc(1000))) {
		*block = list;
		list = block;
	}
	return list;
}

int main(void)
{
	struct uslab_group *group = uslab_group_create("plug-in", MB, NULL);
	struct uslab_group_statistics stat = { .size = sizeof(stat) };
	struct uslab_group *before;
	void **list;
	void *block;
	int error;

	if (!group || uslab_group_set_callback(group, at_limit, NULL))
		return 1;
	before = uslab_group_enter(group);
	list = grow();
	error = errno;
	uslab_group_enter(before); /* printf() allocates as well */
	printf("plug-in: no memory (%s), %lu callback\n", strerror(error),
	       calls);
	block = malloc(16 * MB);
	printf("program: %s\n", block ? "has memory" : "has none");
	free(block);
	while (list) {
		block = list;
		list = *list;
		free(block);
	}
	if (uslab_group_stat(group, &stat))
		return 1;
	printf("plug-in: %zu bytes, peak at most 1 MB: %s, %zu failed\n",
	       stat.usage, uslab_group_peak(group) <= MB ? "yes" : "no",
	       stat.failed);
	uslab_group_set_limit(group, 0); /* none */
	uslab_group_destroy(group);
	return uslab_group_current() != NULL;
}
