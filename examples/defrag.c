/* SPDX-License-Identifier: MIT */
/*
 * examples/defrag.c - a store whose records move, so that its memory comes back
 *
 *   $ cc -O2 defrag.c -luslab -o defrag
 *   $ ./defrag
 *   20000 records, 10000 freed in between: more than 300 slabs
 *   1000 records left in more than 300 slabs
 *   after kmem_cache_defrag(): at most 30 slabs, all records right
 */
#include <stdio.h>
#include <uslab/slab.h>

#define RECORDS 20000

struct record {
	unsigned int number; /* of its slot; RECORDS: free */
	char text[60];
};

/* A program with threads has a lock for these. */
static struct record *slot[RECORDS];

/* So that also a record that nobody has filled in can be looked at. */
static void construct(void *obj)
{
	((struct record *)obj)->number = RECORDS;
}

static void drop(struct kmem_cache *s, unsigned int i)
{
	slot[i]->number = RECORDS;
	kmem_cache_free(s, slot[i]);
	slot[i] = NULL;
}

/* A record that was freed meanwhile has no slot that leads to it. */
static int move(void *from, void *to, void *arg)
{
	struct record *record = from;
	unsigned int i = record->number;

	(void)arg;
	if (i >= RECORDS || slot[i] != record)
		return -1;
	*(struct record *)to = *record;
	slot[i] = to;
	record->number = RECORDS; /* as constructed: it is freed next */
	return 0;
}

static size_t slabs(struct kmem_cache *s)
{
	struct kmem_cache_statistics stats = { .size = sizeof(stats) };

	return kmem_cache_stats(s, &stats) ? 0 : stats.slabs;
}

static int all_right(void)
{
	for (unsigned int i = 0; i < RECORDS; i++)
		if (slot[i] && slot[i]->number != i)
			return 0;
	return 1;
}

int main(void)
{
	struct kmem_cache *s = kmem_cache_create(
		"records", sizeof(struct record), 0, 0, construct);

	if (!s || uslab_cache_set_move(s, move, NULL))
		return 1;
	for (unsigned int i = 0; i < RECORDS; i++) {
		slot[i] = kmem_cache_alloc(s, GFP_KERNEL);
		if (!slot[i])
			return 1;
		slot[i]->number = i;
	}
	for (unsigned int i = 0; i < RECORDS; i += 2)
		drop(s, i);
	printf("%d records, %d freed in between: %s slabs\n", RECORDS,
	       RECORDS / 2, slabs(s) > 300 ? "more than 300" : "fewer");
	for (unsigned int i = 1; i < RECORDS; i += 2)
		if (i % 20 != 1)
			drop(s, i);
	kmem_cache_shrink(s);
	printf("%d records left in %s slabs\n", RECORDS / 20,
	       slabs(s) > 300 ? "more than 300" : "fewer");

	/* in steps of a millisecond, as a program that has other things to do */
	while (kmem_cache_defrag(s, NUMA_NO_NODE, 1000) == 1) {}
	printf("after kmem_cache_defrag(): %s slabs, %s\n",
	       slabs(s) <= 30 ? "at most 30" : "more than 30",
	       all_right() ? "all records right" : "a record is wrong");

	for (unsigned int i = 0; i < RECORDS; i++)
		if (slot[i])
			drop(s, i);
	kmem_cache_destroy(s);
	return 0;
}
