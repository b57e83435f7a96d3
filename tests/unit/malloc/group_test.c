/* SPDX-License-Identifier: MIT */
/*
 * unit/malloc/group_test.c - caches for what is charged, and that all else hits as before; what is
 * charged: conformance/malloc/groups_test.c
 *
 * ctest: sanitize=no (the sanitizers bring a malloc of their own)
 */
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bits.h"
#include "cache/group/group.h"
#include "child.h"
#include "front/percpu.h"
#include "malloc/hot.h"
#include "os/instrument/memcheck.h"
#include "page/page.h"
#include "replaced.h"

static void *(*volatile alloc)(size_t) = malloc;
static void (*volatile give)(void *) = free;

/* One for each size that a thread in a group asked for; their pages have no class. */
IN_CHILD(test_caches)
{
	struct uslab_group *g = uslab_group_create("g", 0, NULL);
	struct cache *c;
	void *p;

	CHILD_CHECK(g && !malloc_group_class(malloc_class_of(100)));
	p = alloc(100);
	CHILD_CHECK(!malloc_group_class(malloc_class_of(100)));
	give(p);
	uslab_group_enter(g);
	p = alloc(100);
	c = malloc_group_class(malloc_class_of(100));
	if (!c) /* a heap */
		CHILD_CHECK(cache_of(percpu_handle(1))->engine.ops->heap);
	else
		CHILD_CHECK(!strcmp(c->name, "malloc-cg-112") && malloc_group_cache(p) == c);
	CHILD_CHECK(!malloc_group_cache((char *)p + 8) || !c);
	CHILD_CHECK(malloc_usable_size(p) >= 100);
	CHILD_CHECK(!malloc_group_class(malloc_class_of(2000)));
	give(p);
	malloc_check();
}

/* malloc() goes out of line while threads are in groups, and hits there; frees are hits. */
IN_CHILD(test_hits)
{
	unsigned long open_limit;
	struct uslab_group *g;
	void *p, *q;

	give(alloc(10));
	open_limit = malloc_hot.size_limit;
	g = uslab_group_create("g", 0, NULL);
	CHILD_CHECK(malloc_hot.size_limit == open_limit);
	uslab_group_enter(g);
	CHILD_CHECK(malloc_hot.size_limit == 0);
	uslab_group_enter(NULL);
	p = alloc(64);
	give(p);
	q = alloc(64);
	CHILD_CHECK(p == q || !percpu_rseq);
	CHILD_CHECK(!malloc_hot.page_limit || page_map.class[page_index(p)]);
	give(q);
	CHILD_CHECK(uslab_group_usage(g) == 0);
	uslab_group_destroy(g);
	CHILD_CHECK(malloc_hot.size_limit == open_limit);
}

/* A tenant that frees one block and takes one, again and again, comes down to a lowered limit. */
IN_CHILD(test_lowered)
{
	enum { BLOCKS = 4000, LEFT = 1000, SIZE = 64 };
	struct uslab_group *g = uslab_group_create("g", 0, NULL);
	static void *p[BLOCKS];
	unsigned int nr;

	uslab_group_enter(g);
	for (nr = 0; nr < BLOCKS; nr++)
		CHILD_CHECK((p[nr] = alloc(SIZE)));
	CHILD_CHECK(uslab_group_set_limit(g, uslab_group_usage(g) / BLOCKS * LEFT) == 0);
	for (unsigned int i = 0; i < 2 * BLOCKS; i++) {
		give(p[nr - 1]);
		p[nr - 1] = alloc(SIZE);
		nr -= !p[nr - 1];
	}
	CHILD_CHECK(nr == LEFT && !alloc(SIZE));
	uslab_group_set_limit(g, 0);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		give(p[LEFT - 1]);
		CHILD_CHECK((p[LEFT - 1] = alloc(SIZE)));
	}
	while (nr)
		give(p[--nr]);
	CHILD_CHECK(uslab_group_usage(g) == 0);
	malloc_check();
}

/* One call that fails is one that the limit refused. */
IN_CHILD(test_refused_once)
{
	void *(*volatile resize)(void *, size_t) = realloc;
	struct uslab_group_statistics stat = { .size = sizeof(stat) };
	struct uslab_group *g = uslab_group_create("g", 8 << 20, NULL);
	void *p;

	uslab_group_enter(g);
	p = alloc(5 << 20);
	errno = 0;
	CHILD_CHECK(p && !resize(p, 9 << 20) && errno == ENOMEM);
	CHILD_CHECK(uslab_group_stat(g, &stat) == 0 && stat.met == 1 && stat.failed == 1);
	CHILD_CHECK(!alloc(4 << 20));
	CHILD_CHECK(uslab_group_stat(g, &stat) == 0 && stat.met == 2 && stat.failed == 2);
	uslab_group_enter(NULL);
	p = resize(p, 9 << 20); /* in no group a new block is charged to none */
	CHILD_CHECK(p && uslab_group_usage(g) == 0);
	give(p);
}

static void check_at_limit(struct uslab_group *g, size_t limit)
{
	CHILD_CHECK(uslab_group_usage(g) <= limit);
}

/* Whoever gets smaller has room, also at the limit, and gives back what that takes less. */
IN_CHILD(test_smaller_at_limit)
{
	static const size_t sizes[] = { 3 << 20, 300000, 40000, 30000, 6000, 900 };
	void *(*volatile resize)(void *, size_t) = realloc;
	struct uslab_group_statistics before = { .size = sizeof(before) }, after = before;
	struct uslab_group *g = uslab_group_create("g", 8 << 20, NULL);
	void *fill[1024];
	unsigned int n = 0;
	char *p;

	uslab_group_enter(g);
	p = alloc(4 << 20);
	CHILD_CHECK(p);
	memset(p, 5, 900);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		while (n < ARRAY_SIZE(fill) && (fill[n] = alloc(i < 2 ? 30000 : 2000)))
			n++;
		CHILD_CHECK(uslab_group_stat(g, &before) == 0 && before.usage <= 8 << 20);
		p = resize(p, sizes[i]);
		CHILD_CHECK(p && p[0] == 5 && p[899] == 5);
		CHILD_CHECK(malloc_usable_size(p) < 2 * sizes[i] + PAGE_SIZE);
		CHILD_CHECK(uslab_group_stat(g, &after) == 0 && after.usage < before.usage);
		CHILD_CHECK(after.failed == before.failed);
	}
	while (n)
		give(fill[--n]);
	give(p);
	CHILD_CHECK(uslab_group_usage(g) == 0);
}

/* But not what is of another group, or of none. */
IN_CHILD(test_smaller_of_others)
{
	void *(*volatile resize)(void *, size_t) = realloc;
	struct uslab_group *full = uslab_group_create("full", 1 << 20, NULL);
	struct uslab_group *other = uslab_group_create("other", 0, NULL);
	char *p, *q;

	p = alloc(6000);
	uslab_group_enter(other);
	q = alloc(20000);
	uslab_group_enter(full);
	while (alloc(900)) {}
	CHILD_CHECK(p && q && uslab_group_usage(full) <= 1 << 20);
	for (int i = 0; i < 100; i++) {
		CHILD_CHECK(resize(p, 900) == p && resize(q, 900) == q);
		check_at_limit(full, 1 << 20);
	}
	CHILD_CHECK(uslab_group_usage(other) >= 20000);
}

/* What moves to where it can grow gets more than is asked for: not beyond the limit. */
IN_CHILD(test_grows_within_limit)
{
	void *(*volatile resize)(void *, size_t) = realloc;
	struct uslab_group *g = uslab_group_create("g", 8 << 20, NULL);
	void *p[24] = { NULL }, *more;

	uslab_group_enter(g);
	for (size_t size = 40000; size < 1 << 20; size += size / 8)
		for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
			more = resize(p[i], size + i * 999);
			if (more)
				p[i] = more;
			check_at_limit(g, 8 << 20);
		}
	CHILD_CHECK(uslab_group_peak(g) > 7 << 20 && uslab_group_peak(g) <= 8 << 20);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		give(p[i]);
	CHILD_CHECK(uslab_group_usage(g) == 0);
}

/* What is no block, or is free, is none, whoever asks. */
IN_CHILD(test_mistakes)
{
	struct uslab_group *g = uslab_group_create("g", 0, NULL);
	char *p;

	uslab_group_enter(g);
	p = alloc(300);
	CHILD_CHECK(malloc_block_size(p) >= 300);
	CHILD_CHECK(!malloc_block_size(p + 16));
	give(p);
	if (malloc_group_class(malloc_class_of(300)) && !os_memcheck_on)
		CHILD_CHECK(malloc_usable_size(p) == 0);
	CHILD_CHECK(uslab_group_usage(g) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caches),
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_lowered),
		cmocka_unit_test(test_refused_once),
		cmocka_unit_test(test_smaller_of_others),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_smaller_at_limit),
		cmocka_unit_test(test_grows_within_limit),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
