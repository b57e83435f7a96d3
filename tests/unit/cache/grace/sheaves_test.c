/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/grace/sheaves_test.c - who hands rcu_free sheaves over, and who waits for them
 */
#include "sheaves_fixture.h"

/* Spec A8: who drains hands over, and those sheaves go past the barn. */
IN_CHILD(a_drain_hands_over)
{
	struct cache *c = of_sheaves();

	for (unsigned int i = 0; i < 7; i++)
		free_node(new_node(c));
	cache_shrink(c);
	os_rcu_submit();
	CHILD_CHECK(!of_cpu(c)->rcu_free && rcu.calls == 1 && in_use(c) == 7);
	rcu_grace();
	CHILD_CHECK(in_use(c) == 0);
	CHILD_CHECK(!its_barn(c)->full);
	for (unsigned int i = 0; i < 7; i++)
		free_node(new_node(c));
	lock_acquire(&cache_lock);
	c->front.ops->drain(&c->front);
	cache_unlock();
	os_rcu_submit();
	rcu_grace();
	CHILD_CHECK(in_use(c) == 0 && !its_barn(c)->full && stat(c, BARN_PUT_FAIL) == 0);
	CHILD_CHECK(stat(c, SHEAF_FLUSH) >= 7);
	cache_destroy(c->handle, NULL);
}

/* One cache's, or all. */
IN_CHILD(who_waits_gets_all)
{
	struct cache *c = of_sheaves();
	struct cache *other = make_front("other", 512, "sheaves");

	free_node(new_node(c));
	free_node(new_node(other));
	CHILD_CHECK(grace_has(c) && grace_has(other));
	grace_wait(c);
	CHILD_CHECK(in_use(c) == 0 && !grace_has(c));
	free_node(new_node(other));
	grace_wait(NULL);
	CHILD_CHECK(in_use(other) == 0 && !grace_has(other));
	cache_destroy(c->handle, NULL);
	cache_destroy(other->handle, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drain_hands_over),
		cmocka_unit_test(who_waits_gets_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
