/* SPDX-License-Identifier: MIT */
/*
 * examples/shrink.c - memory goes back after a peak
 *
 *   $ cc -O2 shrink.c -luslab -o shrink
 *   $ ./shrink
 *   with one object left: slabs remain
 *   with none: no slab remains
 *   free pages go back to the system; a second time: 0 bytes
 */
#include <stdio.h>
#include <string.h>
#include <uslab/slab.h>

#define RECORDS 4000

struct record {
	char bytes[1000];
};

static const char *shrink(struct kmem_cache *records)
{
	return kmem_cache_shrink(records) ? "slabs remain"
					  : "no slab remains";
}

int main(void)
{
	static struct record *all[RECORDS];
	struct kmem_cache *records = KMEM_CACHE(record, SLAB_NOLEAKTRACE);

	if (!records)
		return 1;
	for (int i = 0; i < RECORDS; i++) {
		all[i] = kmem_cache_alloc(records, GFP_KERNEL);
		if (!all[i])
			return 1;
		memset(all[i], 1, sizeof(*all[i]));
	}
	for (int i = 1; i < RECORDS; i++)
		kmem_cache_free(records, all[i]);
	printf("with one object left: %s\n", shrink(records));
	kmem_cache_free(records, all[0]);
	printf("with none: %s\n", shrink(records));
	uslab_trim();
	printf("free pages go back to the system; a second time: %zu bytes\n",
	       uslab_trim());
	kmem_cache_destroy(records);
	return 0;
}
