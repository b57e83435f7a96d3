/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/check_test.c - what is spoilt is found
 */
#include "cache/internal.h"
#include "cache_fixture.h"
#include "engine/slub/slub.h"
#include "front/depot.h"

static void spoil(void *arg)
{
	struct cache *c;

	ready();
	c = make_front("c", 64, "array");
	get(c);
	cache_check_all();
	switch (*(int *)arg) {
	case 0:
		c->refcount = -1;
		break;
	case 1:
		c->handle = percpu_handle(USLAB_ID_FIRST_FREE + 1);
		break;
	case 2:
		c->handle->cache = NULL;
		break;
	case 3:
		cache_number_put_locked(c->front.id);
		break;
	case 4: /* the front's check is called */
		c->front.depot[0].left[DEPOT_FULL]++;
		break;
	case 5: /* and the engine's */
		slub_of(&c->engine)->node[0]->nr_partial += 1;
		break;
	case 6: /* an engine that counts and frees under another number */
		c->engine.id++;
		break;
	}
	cache_check_all();
}

static void test_check_finds(void **state)
{
	(void)state;
	for (int what = 0; what <= 6; what++) {
		struct child c = child_run(spoil, &what);

		if (!child_aborted(&c))
			fail_msg("case %d was not found", what);
		assert_non_null(strstr(c.text, "assertion failed"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
