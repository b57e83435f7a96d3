/* SPDX-License-Identifier: MIT */
/*
 * unit/api/policy_api_test.c - uslab_set_mempolicy() and uslab_cache_set_mempolicy()
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <uslab/slab.h>

/* Modes and results; what they do is tested below this floor. Node 0 is always there. */
static void test_modes(void **state)
{
	unsigned long mask = 1;

	(void)state;
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_PREFERRED, &mask, 64), 0);
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_BIND, &mask, 1), 0);
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_INTERLEAVE, &mask, 64), 0);
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_PREFERRED_MANY, &mask, 64), 0);
	kfree(kmalloc(100, GFP_KERNEL));
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_LOCAL, &mask, 64), -EINVAL);
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_BIND, &mask, 0), -EINVAL);
	assert_int_equal(uslab_set_mempolicy(17, &mask, 64), -EINVAL);
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_LOCAL, NULL, 0), 0);
	assert_int_equal(uslab_set_mempolicy(USLAB_POLICY_DEFAULT, NULL, 0), 0);
}

static void test_cache(void **state)
{
	struct kmem_cache *s = kmem_cache_create("policy", 200, 0, SLAB_NO_MERGE, NULL);
	unsigned long mask = 1;
	void *object;

	(void)state;
	assert_non_null(s);
	assert_int_equal(uslab_cache_set_mempolicy(s, USLAB_POLICY_BIND, &mask, 64), 0);
	object = kmem_cache_alloc(s, GFP_KERNEL);
	assert_non_null(object);
	assert_int_equal(uslab_cache_set_mempolicy(s, USLAB_POLICY_INTERLEAVE, &mask, 64), 0);
	assert_int_equal(uslab_cache_set_mempolicy(s, USLAB_POLICY_BIND, NULL, 0), -EINVAL);
	assert_int_equal(uslab_cache_set_mempolicy(s, 6, &mask, 64), -EINVAL);
	assert_int_equal(uslab_cache_set_mempolicy(s, USLAB_POLICY_DEFAULT, NULL, 0), 0);
	kmem_cache_free(s, object);
	kmem_cache_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_modes),
					    cmocka_unit_test(test_cache) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
