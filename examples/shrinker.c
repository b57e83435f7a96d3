/* SPDX-License-Identifier: MIT */
/*
 * examples/shrinker.c - pages of a file that are kept until memory is short
 *
 *   $ cc -O2 shrinker.c -luslab -o shrinker
 *   $ ./shrinker
 *   20000 read, all of them kept: no
 *   after trimming: 0 kept
 *   $ ./shrinker old
 *   20000 read, all of them kept: no
 *   after trimming: 0 kept
 */
#include <stdio.h>
#include <uslab/shrinker.h>

#define LIMIT (16ul << 20)

struct kept {
	struct kept *next;
	char text[1000];
};

static struct kmem_cache *cache;
static struct kept *list;
static unsigned long kept;

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	(void)s;
	(void)sc;
	return kept;
}

/* They can be read again. */
static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long freed = 0;

	(void)s;
	while (list && freed < sc->nr_to_scan) {
		struct kept *at = list;

		list = at->next;
		kmem_cache_free(cache, at);
		freed++;
	}
	kept -= freed;
	return freed;
}

/* As of Linux 6.7; or, older, with a structure of the program's own. */
static struct shrinker *begin(int old)
{
	static struct shrinker own = { .count_objects = count,
				       .scan_objects = scan,
				       .seeks = DEFAULT_SEEKS };
	struct shrinker *s = old ? &own : shrinker_alloc(0, "pages");

	if (old)
		return register_shrinker(s, "pages") ? NULL : s;
	if (!s)
		return NULL;
	s->count_objects = count;
	s->scan_objects = scan;
	shrinker_register(s);
	return s;
}

static int read_all(void)
{
	for (int i = 0; i < 20000; i++) {
		struct kept *page = kmem_cache_alloc(cache, GFP_KERNEL);

		if (!page)
			return 1;
		page->next = list;
		list = page;
		kept++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int old = argc > 1;
	struct shrinker *s = begin(old);

	(void)argv;
	cache = kmem_cache_create("pages", sizeof(struct kept), 0, 0, NULL);
	if (!s || !cache || uslab_set_limit(LIMIT) || read_all())
		return 1;
	printf("20000 read, all of them kept: %s\n",
	       kept == 20000 ? "yes" : "no");
	uslab_trim();
	printf("after trimming: %lu kept\n", kept);
	if (old)
		unregister_shrinker(s);
	else
		shrinker_free(s);
	kmem_cache_destroy(cache);
	return 0;
}
