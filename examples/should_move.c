/* SPDX-License-Identifier: MIT */
/*
 * examples/should_move.c - a program that goes over its records now and then, and moves what should
 * move
 *
 *   $ cc -O2 should_move.c -luslab -o should_move
 *   $ ./should_move
 *   2500 records are left in a third of the slabs, or fewer
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

#define RECORDS 10000
#define SIZE 200

static char *records[RECORDS];

static void pass(struct kmem_cache *s)
{
	for (int i = 0; i < RECORDS; i++) {
		char *copy;

		if (!records[i] || !uslab_should_move(records[i]))
			continue;
		copy = uslab_cache_alloc_direct(s, GFP_KERNEL);
		if (!copy)
			return;
		memcpy(copy, records[i], SIZE);
		uslab_cache_free_direct(s, records[i]);
		records[i] = copy;
	}
}

int main(void)
{
	struct kmem_cache_statistics before = { .size = sizeof(before) };
	struct kmem_cache_statistics after = { .size = sizeof(after) };
	struct kmem_cache *s =
		kmem_cache_create("records", SIZE, 0, 0, NULL);
	int left = 0;

	for (int i = 0; s && i < RECORDS; i++) {
		records[i] = kmem_cache_alloc(s, GFP_KERNEL);
		if (!records[i])
			return 1;
		memset(records[i], i, SIZE);
	}
	for (int i = 0; i < RECORDS; i++)
		if (i % 4) {
			kmem_cache_free(s, records[i]);
			records[i] = NULL;
		}
	kmem_cache_shrink(s);
	kmem_cache_stats(s, &before);
	pass(s);
	pass(s);
	kmem_cache_stats(s, &after);

	for (int i = 0; i < RECORDS; i++)
		left += records[i] && records[i][SIZE - 1] == (char)i;
	printf("%d records are left in %s\n", left,
	       after.slabs * 3 <= before.slabs
		       ? "a third of the slabs, or fewer"
		       : "too many slabs");
	for (int i = 0; i < RECORDS; i++)
		if (records[i])
			kmem_cache_free(s, records[i]);
	kmem_cache_destroy(s);
	return 0;
}
