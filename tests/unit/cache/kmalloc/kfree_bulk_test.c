/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/kmalloc/kfree_bulk_test.c - pointers of all kinds at once: all are freed, in the
 * order of the array, and each is looked at
 */
#include "unit/cache/refused.h"

#define MOST 600
#define NR_CACHES 6

static void *p[MOST];

static void free_bulk(unsigned int nr)
{
	kmalloc_free_bulk(NULL, nr, p);
}

static void shuffle(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int j = (i * 389 + 7) % nr;
		void *swapped = p[i];

		p[i] = p[j];
		p[j] = swapped;
	}
}

static const char *const fronts[NR_CACHES] = { "array", "cpuslab", "array",
					       "none",	"queues",  "cpuslab" };

/* Every number of pointers, of 1 to 6 own caches in turn, in order and shuffled. */
IN_CHILD(test_own)
{
	struct cache *caches[NR_CACHES];

	ready();
	for (unsigned int i = 0; i < NR_CACHES; i++)
		caches[i] = make_front("c", 56 + 8 * i, fronts[i]);
	for (unsigned int nr = 1; nr <= MOST; nr += nr < 80 ? 1 : 61)
		for (unsigned int of = 1; of <= NR_CACHES; of++) {
			for (unsigned int i = 0; i < nr; i++)
				p[i] = get(caches[i % of]);
			if (nr & 1)
				shuffle(nr);
			free_bulk(nr);
			for (unsigned int i = 0; i < NR_CACHES; i++)
				CHILD_CHECK(in_use(caches[i]) == 0);
		}
	CHILD_CHECK(reports() == 0);
	cache_check_all();
}

/* kmallocs of several sizes, whole pages, nothing, and own objects among them. */
IN_CHILD(test_mixed)
{
	static const size_t sizes[] = { 64, 64, 64, 200, 64, 3000, 8, 20000, 64, 100 };
	struct cache *own;

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	own = make_front("own", 64, "array");
	for (unsigned int nr = 1; nr <= MOST; nr += nr < 80 ? 1 : 61) {
		for (unsigned int i = 0; i < nr; i++) {
			if (i % 11 == 4)
				p[i] = NULL;
			else if (i % 7 == 5)
				p[i] = get(own);
			else
				p[i] = kmalloc_alloc(sizes[i * 3 / 2 % 10], GFP_KERNEL,
						     NUMA_NO_NODE);
		}
		if (nr & 1)
			shuffle(nr);
		free_bulk(nr);
		CHILD_CHECK(in_use(own) == 0);
	}
	free_bulk(0);
	CHILD_CHECK(reports() == 0);
	cache_check_all();
}

static struct cache *cache_of_size(size_t size)
{
	void *obj = kmalloc_alloc(size, GFP_KERNEL, NUMA_NO_NODE);
	struct page *slab = page_slab_of(obj);

	CHILD_CHECK(slab);
	kmalloc_free(obj, NULL);
	return container_of(slab->engine, struct cache, engine);
}

/* Two sizes in turn, onto arrays that become full at any of them. None is lost. */
IN_CHILD(test_full_arrays)
{
	static const size_t sizes[] = { 64, 128 };
	struct cache *caches[2];
	static void *before[2 * 70];

	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	stay_here();
	for (int i = 0; i < 2; i++)
		caches[i] = cache_of_size(sizes[i]);
	for (unsigned int nr = 2; nr <= 20; nr++)
		for (unsigned int fill = 0; fill < 2 * 70; fill++) {
			for (unsigned int i = 0; i < fill; i++)
				before[i] = kmalloc_alloc(sizes[i % 2], GFP_KERNEL, NUMA_NO_NODE);
			for (int i = 0; i < 2; i++)
				cache_shrink(caches[i]);
			for (unsigned int i = 0; i < nr; i++)
				p[i] = kmalloc_alloc(sizes[i % 2], GFP_KERNEL, NUMA_NO_NODE);
			for (unsigned int i = 0; i < fill; i++)
				kmalloc_free(before[i], NULL);
			free_bulk(nr);
			CHILD_CHECK(in_use(caches[0]) == 0 && in_use(caches[1]) == 0);
		}
	CHILD_CHECK(reports() == 0);
	cache_check_all();
}

/*
 * Runs of kmallocs that end at another slab, at a full array, and at the end. None is
 * lost, none is there twice.
 */
IN_CHILD(test_kmallocs)
{
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	stay_here();
	for (unsigned int nr = 1; nr <= MOST; nr += nr < 140 ? 1 : 61) {
		for (unsigned int i = 0; i < nr; i++) {
			p[i] = kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE);
			CHILD_CHECK(p[i]);
			memset(p[i], 0, 64);
		}
		for (unsigned int i = 0; i < nr; i++) {
			CHILD_CHECK(*(void **)p[i] == NULL); /* handed out once */
			*(void **)p[i] = p[i];
		}
		if (nr % 3 == 2)
			shuffle(nr);
		free_bulk(nr);
	}
	CHILD_CHECK(reports() == 0);
	cache_check_all();
}

/* The last one of each cache is the first to be handed out again, also of two in turn. */
IN_CHILD(test_order)
{
	ready();
	stay_here();
	for (unsigned int nr = 2; nr <= 60; nr++) {
		struct cache *a = make_front("a", 64, nr % 2 ? "array" : "cpuslab");
		struct cache *b = make_front("b", 72, "array");
		void *last;
		void *other;

		for (unsigned int i = 0; i < nr; i++)
			p[i] = get(i % 2 ? a : b);
		last = p[nr - 1];
		other = p[nr - 2];
		free_bulk(nr);
		CHILD_CHECK(get(nr % 2 ? b : a) == last);
		CHILD_CHECK(get(nr % 2 ? a : b) == other);
		cache_free(nr % 2 ? b : a, last);
		cache_free(nr % 2 ? a : b, other);
		cache_destroy(a->handle, NULL);
		cache_destroy(b->handle, NULL);
	}
}

static void *one_of(struct cache *c)
{
	return c ? get(c) : kmalloc_alloc(64, GFP_KERNEL, NUMA_NO_NODE);
}

/*
 * An address inside of an object, and one that is there twice: one report
 * each, all others are freed.
 */
static void refuse(struct cache *c, unsigned int nr, unsigned int at, bool twice)
{
	unsigned long before = reports();
	char *obj;

	for (unsigned int i = 0; i < nr; i++)
		p[i] = one_of(c);
	obj = p[at];
	p[at] = twice ? p[(at + 1) % nr] : obj + 16;
	free_bulk(nr);
	CHILD_CHECK(reports() == before + 1);
	p[0] = obj;
	free_bulk(1);
	CHILD_CHECK(reports() == before + 1);
	CHILD_CHECK(!c || in_use(c) == 0);
}

IN_CHILD(test_mistakes)
{
	ready();
	CHILD_CHECK(kmalloc_init() == 0);
	stay_here();
	for (unsigned int nr = 2; nr <= 80; nr += nr < 24 ? 1 : 13)
		for (unsigned int at = 0; at < nr; at += nr < 24 ? 1 : 7)
			for (unsigned int twice = 0; twice < 2; twice++)
				for (unsigned int f = 0; f < 4; f++) {
					struct cache *c = f ? make_front("c", 64, fronts[f]) : NULL;

					refuse(c, nr, at, twice);
					if (c)
						cache_destroy(c->handle, NULL);
				}
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),	    cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_full_arrays), cmocka_unit_test(test_kmallocs),
		cmocka_unit_test(test_order),	    cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
