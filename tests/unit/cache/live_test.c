/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/live_test.c - the objects in use of one slab, of each engine that can tell
 */
#include "cache/live.h"
#include "cache_fixture.h"

static void check_engine(const struct engine_ops *engine)
{
	struct cache *c = made(&(struct cache_spec){
		.name = "live", .size = 200, .engine = engine, .front = &front_none_ops });
	struct live_objects live;
	unsigned int i = 0;
	void *p[10];

	for (unsigned int n = 0; n < 10; n++)
		CHILD_CHECK((p[n] = get(c)));
	for (unsigned int n = 1; n < 10; n += 3)
		cache_free(c, p[n]);
	live_read(c, page_slab_of(p[0]), &live);
	for (unsigned int n = 0; n < 10; n++)
		CHILD_CHECK(n % 3 == 1 || live_next(&live, &i) == p[n]);
	CHILD_CHECK(!live_next(&live, &i));

	for (unsigned int n = 0; n < 10; n++)
		if (n && n % 3 != 1)
			cache_free(c, p[n]);
	live_read(c, page_slab_of(p[0]), &live);
	i = 0;
	CHILD_CHECK(live_next(&live, &i) == p[0] && !live_next(&live, &i));
	cache_free(c, p[0]);
	cache_destroy(c->handle, NULL);
}

IN_CHILD(test_slub)
{
	ready();
	check_engine(&slub_ops);
}

IN_CHILD(test_slab)
{
	ready();
	check_engine(&slab_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_slub),
					    cmocka_unit_test(test_slab) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
