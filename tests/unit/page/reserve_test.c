/* SPDX-License-Identifier: MIT */
/*
 * unit/page/reserve_test.c - memory without locks: sizes, alignment, what is given out
 * and what is not, threads
 */
#include <pthread.h>

#include "base/atomic.h"
#include "fixture.h"
#include "page/reserve.h"
#include "threads.h"

#define SLOTS 64u

IN_CHILD(sizes)
{
	CHILD_CHECK(!reserve_owns(NULL) && !reserve_owns((void *)1) && !reserve_free((void *)1));
	for (size_t size = 0; size < 3 * MIB; size = size * 3 / 2 + 1) {
		unsigned char *p = reserve_alloc(size, 16);

		CHILD_CHECK(p && reserve_owns(p) && reserve_size(p) >= size);
		CHILD_CHECK((uintptr_t)p % 16 == 0 && reserve_count() == 1);
		memset(p, 0xff, size);
		CHILD_CHECK(reserve_size(p + 8) == 0 && !reserve_free(p + 8));
		reserve_check();
		CHILD_CHECK(reserve_free(p) && !reserve_free(p) && reserve_size(p) == 0);
		CHILD_CHECK(reserve_count() == 0);
	}
	CHILD_CHECK(!reserve_alloc(SIZE_MAX, 16) && !reserve_alloc(1, 1ul << 63));
	reserve_check();
}

IN_CHILD(alignment)
{
	for (size_t align = 1; align <= 4 * MIB; align *= 2) {
		void *p = reserve_alloc(1, align);
		void *q = reserve_alloc(align + 1, align);

		CHILD_CHECK(p && q && p != q);
		CHILD_CHECK((uintptr_t)p % align == 0 && (uintptr_t)q % align == 0);
		CHILD_CHECK(reserve_free(p) && reserve_free(q));
	}
	reserve_check();
}

/*
 * The next larger ones serve when all of a size are given out; then mappings; then it is the end.
 */
IN_CHILD(runs_out)
{
	static void *p[10000];
	unsigned int n = 0;
	unsigned int large;

	while (n < ARRAY_SIZE(p) && (p[n] = reserve_alloc(30000, 16)))
		n++;
	CHILD_CHECK(n == (RESERVE_PART >> 15) + (RESERVE_PART >> 16) + RESERVE_MAX_MAPPED);
	large = n;
	CHILD_CHECK(!reserve_alloc(MIB, 16));
	CHILD_CHECK((p[n] = reserve_alloc(10000, 16)));
	reserve_check();
	for (unsigned int i = 0; i <= n; i++)
		CHILD_CHECK(reserve_free(p[i]));
	reserve_check();
	for (n = 0; n < large; n++)
		CHILD_CHECK((p[n] = reserve_alloc(30000, 16)));
	CHILD_CHECK(!reserve_alloc(30000, 16));
}

/* Nothing that was freed stays in memory, if it is a page or more. */
IN_CHILD(is_given_back)
{
	char *p = reserve_alloc(40000, 16);

	p[0] = p[39999] = 1;
	CHILD_CHECK(reserve_free(p));
	CHILD_CHECK(reserve_alloc(40000, 16) == p && !p[0] && !p[39999]);
}

IN_CHILD(without_memory)
{
	const struct rlimit none = { 0, 0 };

	NEEDS_BARE_PROCESS();
	child_limit(RLIMIT_DATA, &none);
	CHILD_CHECK(!reserve_alloc(10, 16) && !reserve_alloc(MIB, 16));
	reserve_check();
}

static void *take_and_give(void *arg)
{
	unsigned char *p[SLOTS] = { NULL };
	unsigned char mine = (unsigned char)(uintptr_t)arg;
	uint32_t seed = mine;

	for (unsigned int i = 0; i < rounds(20000); i++) {
		unsigned int n = (seed = seed * 1664525 + 1013904223) >> 26;
		size_t size = n % 8 ? 50 + n : 70000;

		if (p[n]) {
			CHILD_CHECK(p[n][0] == mine && p[n][size - 1] == mine);
			CHILD_CHECK(reserve_free(p[n]));
			p[n] = NULL;
		} else {
			p[n] = reserve_alloc(size, 16);
			CHILD_CHECK(p[n]);
			p[n][0] = p[n][size - 1] = mine;
		}
	}
	for (unsigned int n = 0; n < SLOTS; n++)
		if (p[n])
			CHILD_CHECK(reserve_free(p[n]));
	return NULL;
}

IN_CHILD(threads)
{
	threads_run(4, take_and_give);
	CHILD_CHECK(reserve_count() == 0);
	reserve_check();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),	  cmocka_unit_test(alignment),
		cmocka_unit_test(runs_out),	  cmocka_unit_test(is_given_back),
		cmocka_unit_test(without_memory), cmocka_unit_test(threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
