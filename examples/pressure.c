/* SPDX-License-Identifier: MIT */
/*
 * examples/pressure.c - results that are kept until memory is wanted back
 *
 *   $ cc -O2 pressure.c -luslab -o pressure
 *   $ ./pressure
 *   10 results kept
 *   0 results kept
 */
#include <stdio.h>
#include <uslab/slab.h>

struct result {
	struct result *next;
	char text[2000];
};

struct results {
	struct kmem_cache *cache;
	struct result *list;
	int kept;
};

/* They can be computed again. */
static void forget(void *arg)
{
	struct results *r = arg;
	struct result *next;

	for (struct result *at = r->list; at; at = next) {
		next = at->next;
		kmem_cache_free(r->cache, at);
	}
	r->list = NULL;
	r->kept = 0;
}

/* Nothing was left to free: says so, and has the allocation fail. */
static bool refused(size_t size, gfp_t gfp, void *arg)
{
	(void)gfp;
	(void)arg;
	fprintf(stderr, "no memory for %zu bytes\n", size);
	return false;
}

int main(void)
{
	struct results r = { .list = NULL };
	const struct kmem_cache_args args = { .reclaim = forget,
					      .reclaim_arg = &r };

	r.cache = kmem_cache_create_args("results", sizeof(struct result),
					 &args, 0);
	if (!r.cache)
		return 1;
	uslab_set_oom_hook(refused, NULL);
	while (r.kept < 10) {
		struct result *made = kmem_cache_alloc(r.cache, GFP_KERNEL);

		if (!made)
			return 1;
		made->next = r.list;
		r.list = made;
		r.kept++;
	}
	printf("%d results kept\n", r.kept);
	uslab_trim(); /* as an allocation does that finds no memory */
	printf("%d results kept\n", r.kept);
	kmem_cache_destroy(r.cache);
	return 0;
}
