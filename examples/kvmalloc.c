/* SPDX-License-Identifier: MIT */
/*
 * examples/kvmalloc.c - a table that may be small or large
 *
 *   $ cc -O2 kvmalloc.c -luslab -o kvmalloc
 *   $ ./kvmalloc
 *   100 entries: 1024 bytes may be used
 *   1000000 entries: 8003584 bytes may be used
 *   64 KiB of node 0 at 64 KiB: yes
 *   all zero: yes
 *   too many entries: NULL
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

static int grow(void)
{
	long *table = kvmalloc_array(100, sizeof(long), GFP_KERNEL);
	long *larger;

	if (!table)
		return 1;
	printf("100 entries: %zu bytes may be used\n", ksize(table));
	table[99] = 7;
	larger = kvrealloc(table, 1000000 * sizeof(long), GFP_KERNEL);
	if (!larger) { /* the old one is still there */
		kvfree(table);
		return 1;
	}
	printf("1000000 entries: %zu bytes may be used\n", ksize(larger));
	kvfree_sensitive(larger, 1000000 * sizeof(long));
	return 0;
}

static int place(void)
{
	size_t large = 64 << 10;
	char *p = kvmalloc_node_align(100, 64, GFP_KERNEL, 0);
	char *moved = kvrealloc_node_align(p, large, large, GFP_KERNEL, 0);

	if (!moved) {
		kvfree(p);
		return 1;
	}
	printf("64 KiB of node 0 at 64 KiB: %s\n",
	       (uintptr_t)moved % large ? "no" : "yes");
	kvfree(moved);
	return 0;
}

static int clear(void)
{
	char *zeros[] = { kvzalloc(9000, GFP_KERNEL),
			  kvzalloc_node(9000, GFP_KERNEL, 0),
			  kvcalloc(90, 100, GFP_KERNEL),
			  kvcalloc_node(90, 100, GFP_KERNEL, 0) };
	void *others[] = { kvmalloc(9000, GFP_KERNEL),
			   kvmalloc_node(9000, GFP_KERNEL, 0),
			   kvmalloc_array_node(90, 100, GFP_KERNEL, 0) };
	bool clean = true;

	for (int i = 0; i < 4; i++) {
		clean = clean && zeros[i] && !zeros[i][0] &&
			!memcmp(zeros[i], zeros[i] + 1, 8999);
		kvfree(zeros[i]);
	}
	for (int i = 0; i < 3; i++)
		kvfree(others[i]);
	printf("all zero: %s\n", clean ? "yes" : "no");
	return !clean;
}

int main(void)
{
	if (grow() || place() || clear())
		return 1;
	if (!kvmalloc_array(SIZE_MAX / 2, 4, GFP_KERNEL))
		printf("too many entries: NULL\n");
	return 0;
}
