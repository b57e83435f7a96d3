/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/group/public_test.c - what programs call: before anything else, with wrong arguments,
 * and a structure of another size
 */
#include "cache/group/group.h"
#include "unit/cache/cache_fixture.h"

IN_CHILD(test_before_all)
{
	struct uslab_group_statistics stat = { .size = sizeof(stat) };

	CHILD_CHECK(!uslab_group_current() && !uslab_group_enter(NULL));
	CHILD_CHECK(uslab_group_usage(NULL) == 0 && uslab_group_peak(NULL) == 0);
	CHILD_CHECK(uslab_group_stat(NULL, &stat) == -ENOENT);
	CHILD_CHECK(uslab_group_set_limit(NULL, 1) == -ENOENT);
	CHILD_CHECK(uslab_group_set_callback(NULL, NULL, NULL) == -ENOENT);
	uslab_group_destroy(NULL);
	CHILD_CHECK(!groups_table);
	CHILD_CHECK(!uslab_group_create("", 0, NULL) && errno == EINVAL);
	CHILD_CHECK(uslab_group_create("first", 0, NULL)); /* makes the library ready */
}

IN_CHILD(test_sizes)
{
	struct {
		struct uslab_group_statistics stat;
		size_t newer;
	} larger = { .stat = { .size = sizeof(larger) }, .newer = 77 };
	struct uslab_group *g = uslab_group_create("g", 1000, NULL);
	struct uslab_group *below;

	CHILD_CHECK(g && uslab_group_stat(g, &larger.stat) == 0);
	CHILD_CHECK(larger.stat.size == sizeof(larger.stat) && larger.newer == 77);
	CHILD_CHECK(larger.stat.limit == 1000);
	larger.stat.size = sizeof(larger.stat) - 1;
	CHILD_CHECK(uslab_group_stat(g, &larger.stat) == -EINVAL);
	CHILD_CHECK(!uslab_group_enter(g) && uslab_group_current() == g);
	CHILD_CHECK(uslab_group_enter(NULL) == g && !uslab_group_current());
	below = uslab_group_create("below", 0, g);
	CHILD_CHECK(!uslab_group_enter(below) && uslab_group_current() == below);
	uslab_group_destroy(below);
	CHILD_CHECK(uslab_group_current() == g);
	CHILD_CHECK(uslab_group_enter(NULL) && !uslab_group_current());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_all),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
