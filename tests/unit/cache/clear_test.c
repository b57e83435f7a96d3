/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/clear_test.c - a cache as an arena: merged ones, guarded objects, damaged slabs, marks
 *
 * That every engine and front does it, with debug flags: conformance/manage_test.c.
 */
#include "debug/kfence/kfence.h"
#include "refused.h"

IN_CHILD(test_merged)
{
	struct cache *c;
	void *p;

	ready();
	c = make("a", 64, 0, 0);
	CHILD_CHECK(make("b", 64, 0, 0) == c);
	p = get(c);
	CHILD_CHECK(cache_clear(c, NULL) == -EBUSY && in_use(c) == 1);
	cache_destroy(c->handle, NULL); /* the one user is left */
	CHILD_CHECK(cache_clear(c, NULL) == 0 && in_use(c) == 0);
	(void)p;
}

/* What a destroy found in use is gone after it, and the next destroy has nothing to say. */
IN_CHILD(test_after_a_leak)
{
	struct kmem_cache *s;
	unsigned long before;
	struct cache *c;

	ready();
	report_set_hook(quiet, NULL, true);
	c = make("leaky", 64, 0, SLAB_NO_MERGE);
	s = c->handle;
	for (unsigned int i = 0; i < 100; i++)
		CHILD_CHECK(get(c));
	cache_destroy(s, NULL);
	before = reports();
	CHILD_CHECK(before && cache_of(s) == c);
	CHILD_CHECK(cache_clear(c, NULL) == 0);
	cache_destroy(s, NULL);
	CHILD_CHECK(reports() == before && !cache_of(s));
}

static unsigned int destructed;

static void ctor(void *obj)
{
	*(long *)obj = 42;
}

static void dtor(void *obj)
{
	CHILD_CHECK(*(long *)obj == 42);
	destructed++;
}

IN_CHILD(test_guarded)
{
	struct cache *c;

	setenv("USLAB_CONF", "kfence.sample=1,valgrind=0", 1);
	ready();
	c = made(&(struct cache_spec){ .name = "g", .size = 64, .ctor = ctor, .dtor = dtor });
	for (unsigned int i = 0; i < 20; i++)
		CHILD_CHECK(kfence_is_object(page_head_of(get(c))));
	CHILD_CHECK(kfence_counters.allocated == 20);
	CHILD_CHECK(cache_clear(c, NULL) == 0);
	CHILD_CHECK(kfence_counters.allocated == 0 && destructed == 20);
	CHILD_CHECK(get(c) && reports() == 0);
	kfence_check();
}

/* Objects freed here are free: a second free is one. */
IN_CHILD(test_freed_ones_are_free)
{
	struct cache *c;
	void *p;
	void *q;

	ready();
	report_set_hook(quiet, NULL, true);
	c = make("c", 64, 0, SLAB_NO_MERGE);
	p = get(c);
	CHILD_CHECK(cache_clear(c, NULL) == 0);
	q = get(c); /* the slab is there again */
	if (p != q && page_slab_of(p))
		refused(cache_free, c, p);
	cache_free(c, q);
	CHILD_CHECK(in_use(c) == 0 && cache_shrink(c) == 0);
}

IN_CHILD(test_empty)
{
	struct cache *c;

	ready();
	c = make("c", 64, 0, SLAB_NO_MERGE);
	CHILD_CHECK(cache_clear(c, NULL) == 0 && stats_of(c).nr_slabs == 0);
	cache_free(c, get(c));
	CHILD_CHECK(cache_clear(c, NULL) == 0 && stats_of(c).nr_slabs == 0);
}

#define STACK_BYTES (256ul << 10)
#define STACK_BOUND 4096u /* what threads of small programs have; musl's least is 2 KiB */
#define STACK_FILL 0x5a

static char stack[STACK_BYTES] __attribute__((aligned(64)));
static size_t stack_used;

static void *clear_there(void *arg)
{
	char *at = __builtin_frame_address(0);
	size_t low = 0;

	CHILD_CHECK(cache_clear(arg, NULL) == 0);
	while (stack[low] == STACK_FILL)
		low++;
	stack_used = (size_t)(at - stack) - low;
	return NULL;
}

/* Objects of 8 bytes: the most that a slab of one page has. */
IN_CHILD(test_small_stack)
{
	pthread_attr_t attr;
	pthread_t thread;
	struct cache *c;

	if (LOCK_RANKS || getenv("USLAB_TEST_VALGRIND"))
		child_cannot("the stack of a debug build is larger");
	ready();
	c = make("c", 8, 0, SLAB_NO_MERGE);
	for (unsigned int i = 0; i < 5000; i++)
		CHILD_CHECK(get(c));
	memset(stack, STACK_FILL, sizeof(stack));
	CHILD_CHECK(!pthread_attr_init(&attr));
	CHILD_CHECK(!pthread_attr_setstack(&attr, stack, sizeof(stack)));
	CHILD_CHECK(!pthread_create(&thread, &attr, clear_there, c));
	pthread_join(thread, NULL);
	printf("stack: %zu bytes\n", stack_used);
	CHILD_CHECK(in_use(c) == 0 && stack_used && stack_used <= STACK_BOUND);
}

/* More than are looked at at once, with those of other slabs behind them; every third is free. */
IN_CHILD(test_large_slabs)
{
	static void *p[40000];
	struct cache *c;

	setenv("USLAB_CONF", "slab_max_order=6,slab_min_order=6", 1);
	ready();
	c = make("c", 8, 0, SLAB_NO_MERGE);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get(c);
	CHILD_CHECK(stats_of(c).nr_slabs < 10);
	for (unsigned int i = 0; i < ARRAY_SIZE(p); i += 3)
		cache_free(c, p[i]);
	CHILD_CHECK(cache_clear(c, NULL) == 0 && in_use(c) == 0 && stats_of(c).nr_slabs == 0);
	cache_check_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged),	    cmocka_unit_test(test_after_a_leak),
		cmocka_unit_test(test_guarded),	    cmocka_unit_test(test_freed_ones_are_free),
		cmocka_unit_test(test_empty),	    cmocka_unit_test(test_small_stack),
		cmocka_unit_test(test_large_slabs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
