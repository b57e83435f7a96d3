/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/debug/hardened_test.c - what the program has is known by a bit for each object; the
 * engines and fronts one by one are conformance/pairs_mistakes_test.c
 */
#include "unit/cache/refused.h"

#include "front/percpu.h"
#include "page/used.h"

#define ROUNDS 2000

static void hardened(void)
{
	setenv("USLAB_CONF", "hardened", 1);
	ready();
	report_set_hook(quiet, NULL, true);
}

static struct cache *make_of(const char *engine, const char *front)
{
	return made(&(struct cache_spec){ .name = "c",
					  .size = 64,
					  .engine = cache_engine_by_name(engine),
					  .front = cache_front_by_name(front),
					  .no_merge = true });
}

/* Set while the program has the object, and nowhere else; no call is a hit that nobody sees. */
IN_CHILD(test_bits)
{
	struct cache *c;
	char *p[3];

	hardened();
	c = make_of("slub", "array");
	CHILD_CHECK(used_are_kept() && !c->engine.mark);
	CHILD_CHECK(load_relaxed(percpu_mark(c->front.id)) == USLAB_MARK_NONE);
	p[0] = get(c);
	CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 2, (void **)&p[1]) == 2);
	for (int i = 0; i < 3; i++) {
		CHILD_CHECK(used_is_set(p[i]) && cache_is_in_use(p[i]));
		CHILD_CHECK(!used_is_set(p[i] + 8) && !used_is_set(p[i] + 1));
		CHILD_CHECK(!cache_is_in_use(p[i] + 1));
	}
	cache_free(c, p[0]);
	cache_free_bulk(c, 2, (void **)&p[1]);
	for (int i = 0; i < 3; i++)
		CHILD_CHECK(!used_is_set(p[i]) && !cache_is_in_use(p[i]));
	CHILD_CHECK(cache_is_in_use(&c) && reports() == 0);
}

IN_CHILD(test_not_kept)
{
	struct cache *c;
	void *p;

	ready();
	c = make_of("slub", "array");
	p = get(c);
	CHILD_CHECK(!used_are_kept() && c->engine.mark && cache_is_in_use(p));
	cache_free(c, p);
	CHILD_CHECK(cache_is_in_use(p));
}

static struct cache *shared;
static void *_Atomic contended;
static pthread_barrier_t barrier;

static void *free_contended(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		cache_free(shared, contended);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

/* Two threads free one object at the same instant: one of them is refused. */
IN_CHILD(test_at_once)
{
	pthread_t threads[2];

	hardened();
	shared = make_of("slub", "array");
	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		CHILD_CHECK(!pthread_create(&threads[i], NULL, free_contended, NULL));
	for (unsigned int i = 0; i < ROUNDS; i++) {
		contended = get(shared);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		CHILD_CHECK(reports() == i + 1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHILD_CHECK(in_use(shared) == 0);
}

/* In a heap nothing but its header says whose an object is. */
IN_CHILD(test_heap)
{
	static const char *const heaps[] = { "slob", "slob:1991", "slobseg:pow2" };

	hardened();
	for (size_t i = 0; i < ARRAY_SIZE(heaps); i++) {
		struct cache *c = make_of(heaps[i], "none");
		struct cache *other = make_of(heaps[i], "none");
		char *p = get(c);
		char *q = get(other);
		unsigned long before = reports();

		cache_free(c, p + 8);
		CHILD_CHECK(reports() == before + 1 && in_use(c) == 1);
		cache_free(c, q); /* goes where it belongs */
		CHILD_CHECK(reports() == before + 2 && in_use(c) == 1 && in_use(other) == 0);
		cache_free(c, p);
		CHILD_CHECK(reports() == before + 2 && in_use(c) == 0);
		cache_free(c, p);
		CHILD_CHECK(reports() == before + 3);
	}
}

/* Blocks of exact size, which no cache has. */
IN_CHILD(test_heap_blocks)
{
	const struct engine_heap *heap;
	char *p;

	setenv("USLAB_CONF", "hardened,engine=slob,front=none", 1);
	ready();
	CHILD_CHECK(!kmalloc_init());
	report_set_hook(quiet, NULL, true);
	p = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	heap = page_head_of(p)->heap;
	CHILD_CHECK(heap && used_is_set(p));
	kmalloc_free(p + 8, NULL);
	CHILD_CHECK(reports() == 1);
	kmalloc_free(p, NULL);
	CHILD_CHECK(reports() == 1 && !used_is_set(p));
	kmalloc_free(p, NULL);
	CHILD_CHECK(reports() == 2);
}

/* Nobody gets to know the size of what is free, and so nobody resizes it. */
IN_CHILD(test_size_of_freed)
{
	char *p;

	hardened();
	CHILD_CHECK(!kmalloc_init());
	p = kmalloc_alloc(100, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(kmalloc_size(p) == 128 && reports() == 0);
	kmalloc_free(p, NULL);
	CHILD_CHECK(kmalloc_size(p) == 0 && reports() == 1);
}

/*
 * Of SLUB: a link that leads nowhere in its slab is reported when the object is
 * handed out, others are not.
 */
IN_CHILD(test_links)
{
	struct cache *c;
	unsigned long *p;
	void *q;

	hardened();
	c = make_of("slub", "array");
	p = get(c);
	cache_free(c, p);
	p[c->engine.layout->offset / sizeof(*p)] ^= 0x100;
	CHILD_CHECK(get(c) == p && reports() == 1);
	q = get(c);
	cache_free(c, p);
	cache_free(c, q);
	cache_shrink(c);
	CHILD_CHECK(get(c) && get(c) && reports() == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),	    cmocka_unit_test(test_not_kept),
		cmocka_unit_test(test_at_once),	    cmocka_unit_test(test_heap),
		cmocka_unit_test(test_heap_blocks), cmocka_unit_test(test_size_of_freed),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
