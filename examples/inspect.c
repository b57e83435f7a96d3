/* SPDX-License-Identifier: MIT */
/*
 * examples/inspect.c - what `uslab info --json` prints of a process, here of this program itself
 *
 *   $ cc -O2 inspect.c -luslab_inspect -luslab -o inspect
 *   $ ./inspect | grep -A 1 points
 *         "name":"points",
 *         "unique_id":"",
 *   $ ./inspect 0
 *   inspect: one of a process, a core file and a tree
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uslab/inspect.h>
#include <uslab/slab.h>

int main(int argc, char **argv)
{
	struct uslab_inspect_source source = {
		.pid = argc > 1 ? atoi(argv[1]) : (int)getpid()
	};
	struct kmem_cache *points =
		kmem_cache_create("points", 16, 0, SLAB_NO_MERGE, NULL);
	char *messages, *json = uslab_inspect_json(&source, &messages);

	if (!json)
		printf("inspect: %s",
		       messages ? messages : "out of memory\n");
	else
		fputs(json, stdout);
	free(messages);
	free(json);
	kmem_cache_destroy(points);
	return 0;
}
