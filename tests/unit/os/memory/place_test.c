/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/place_test.c - pages that are looked at where they are; on a machine of one node
 * that is node 0. scripts/numa-vm tests machines of several nodes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "child.h"
#include "os/memory/place.h"
#include "os/memory/policy.h"
#include "os/memory/vm.h"

#define PAGES 150ul /* more than one call looks at */

IN_CHILD(test_settle)
{
	size_t size = PAGES * os_page_size();
	char *p = os_map(size, os_page_size());

	CHILD_CHECK(p);
	p[0] = 'a';
	p[size - 1] = 'z';
	errno = 77;
	if (!os_can_bind())
		child_cannot("move_pages(2) and mbind(2)");
	CHILD_CHECK(os_settle_on(p, size, 0));
	CHILD_CHECK(p[0] == 'a' && p[size - 1] == 'z' && p[size / 2] == 0);
	/* there is no such node: they stay, and that is told */
	CHILD_CHECK(!os_settle_on(p, size, 63));
	CHILD_CHECK(errno == 77);
}

/* A part of a page, as with system's pages of more than 4 KiB. */
IN_CHILD(test_parts)
{
	char *p = os_map(2 * os_page_size(), os_page_size());

	CHILD_CHECK(p);
	CHILD_CHECK(os_settle_on(p + 100, os_page_size(), 0) || !os_can_bind());
	CHILD_CHECK(p[100] == 0);
}

/* A kernel that does not say where pages are is believed; BIND is refused then. */
IN_CHILD(test_filtered)
{
	struct os_policy policy;
	unsigned long mask = 1;
	char *p = os_map(os_page_size(), os_page_size());

	child_deny(SYS_move_pages, EPERM);
	CHILD_CHECK(p && !os_can_bind());
	CHILD_CHECK(os_settle_on(p, os_page_size(), 5));
	/* one node needs no kernel to say so */
	CHILD_CHECK(os_policy_make(&policy, OS_POLICY_BIND, &mask, 1) == 0);
}

IN_CHILD(test_bind_by)
{
	const struct os_policy local = { .mode = OS_POLICY_LOCAL };
	const struct os_policy bound = { .mode = OS_POLICY_BIND, .mask = 1 };
	char *p = os_map(os_page_size(), os_page_size());

	CHILD_CHECK(p);
	errno = 77;
	os_bind_by(p, os_page_size(), &local);
	os_bind_by(p, os_page_size(), &bound);
	memset(p, 1, os_page_size());
	CHILD_CHECK(errno == 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_bind_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
