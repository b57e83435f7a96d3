/* SPDX-License-Identifier: MIT */
/*
 * examples/dump_obj.c - which object a pointer points into
 *
 *   $ cc -O2 dump_obj.c -luslab -o dump_obj
 *   $ ./dump_obj 2>&1 | sed 's/[0-9a-f]\{12\}/ADDRESS/g'
 *   uslab: 0xADDRESS slab rooms start ADDRESS pointer offset 40
 *   uslab: 0xADDRESS (not of uslab)
 *   known: yes, no
 */
#include <stdio.h>
#include <uslab/slab.h>

int main(void)
{
	struct kmem_cache *rooms =
		kmem_cache_create("rooms", 120, 0, SLAB_NOLEAKTRACE, NULL);
	char *room = rooms ? kmem_cache_alloc(rooms, GFP_KERNEL) : NULL;
	bool object, local;

	if (!room)
		return 1;
	object = uslab_dump_obj(room + 40);
	local = uslab_dump_obj(&room);
	printf("known: %s, %s\n", object ? "yes" : "no",
	       local ? "yes" : "no");
	kmem_cache_free(rooms, room);
	kmem_cache_destroy(rooms);
	return 0;
}
