/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/switch_test.c - watch bits of a live cache, and its front with them
 */
#include "cache/internal.h"
#include "cache_fixture.h"
#include "front/array.h"

#define FZPU DEBUG_DEFAULT

static void set_bit(struct cache *c, unsigned int bit, bool on)
{
	lock_acquire(&cache_lock);
	cache_watch_locked(c, bit, on);
	lock_release(&cache_lock);
}

static bool is_closed(struct cache *c)
{
	return c->front.closed & FRONT_CLOSED;
}

/* The front is closed by the first bit that wants it, and opened by the last one. */
IN_CHILD(test_bits)
{
	struct cache *c;
	void *p;

	ready();
	stay_here();
	c = make("c", 64, 0, 0);
	cache_free(c, get(c));
	CHILD_CHECK(c->front.ops->held(&c->front) > 0);
	set_bit(c, WATCH_PROBES, true);
	CHILD_CHECK(is_closed(c) && c->front.ops->held(&c->front) == 0);
	CHILD_CHECK(c->watch == (WATCH_PROBES | WATCH_PAST_FRONT));
	p = get(c);
	CHILD_CHECK(p && !array_push(c->front.id, percpu_cpu(), p));
	cache_free(c, p);
	CHILD_CHECK(c->front.ops->held(&c->front) == 0);
	CHILD_CHECK(cache_set_debug(c, FZPU) == 0);
	set_bit(c, WATCH_PROBES, false);
	CHILD_CHECK(is_closed(c));
	CHILD_CHECK(cache_set_debug(c, 0) == 0);
	CHILD_CHECK(!is_closed(c) && c->watch == WATCH_ROUTE);
	cache_free(c, get(c));
	CHILD_CHECK(c->front.ops->held(&c->front) > 0);
	/* others leave it alone */
	set_bit(c, WATCH_KFENCE, true);
	CHILD_CHECK(!is_closed(c) && c->watch == (WATCH_ROUTE | WATCH_KFENCE));
	set_bit(c, WATCH_KFENCE, false);
	cache_check_all();
}

/* Past every front, out of the engine and back. */
IN_CHILD(test_past_fronts)
{
	static const char *const fronts[] = { "array", "cpuslab", "queues", "none", "sheaves" };
	void *p[200];

	ready();
	for (unsigned int f = 0; f < ARRAY_SIZE(fronts); f++) {
		struct cache *c = make_front("c", 64, fronts[f]);

		p[0] = get(c);
		set_bit(c, WATCH_PROBES, true);
		for (unsigned int i = 1; i < 200; i++)
			p[i] = get(c);
		CHILD_CHECK(in_use(c) == 200 && c->front.ops->held(&c->front) == 0);
		for (unsigned int i = 0; i < 200; i++)
			cache_free(c, p[i]);
		CHILD_CHECK(cache_alloc_bulk(c, GFP_KERNEL, 200, p) == 200 && in_use(c) == 200);
		cache_free_bulk(c, 200, p);
		CHILD_CHECK(in_use(c) == 0 && c->front.ops->held(&c->front) == 0);
		set_bit(c, WATCH_PROBES, false);
		CHILD_CHECK(cache_shrink(c) == 0);
		cache_check_all();
		cache_destroy(c->handle, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_past_fronts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
