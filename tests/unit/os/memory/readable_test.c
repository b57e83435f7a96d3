/* SPDX-License-Identifier: MIT */
/*
 * unit/os/memory/readable_test.c - memory that may not be there
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "bare.h"
#include "child.h"
#include "os/memory/readable.h"

#define PAGE 4096ul

/* Three pages: one that can be read, one without any right, a hole. */
static char *map_pages(void)
{
	char *pages =
		mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHILD_CHECK(pages != MAP_FAILED);
	memset(pages, 'x', PAGE);
	CHILD_CHECK(!mprotect(pages + PAGE, PAGE, PROT_NONE));
	CHILD_CHECK(!munmap(pages + 2 * PAGE, PAGE));
	return pages;
}

static void look(__attribute__((unused)) void *arg)
{
	char *pages = map_pages();
	char copy[16];

	errno = 77;
	CHILD_CHECK(os_readable_page((uintptr_t)pages));
	CHILD_CHECK(os_readable_page((uintptr_t)pages + PAGE - 8));
	CHILD_CHECK(!os_readable_page((uintptr_t)pages + PAGE));
	CHILD_CHECK(!os_readable_page((uintptr_t)pages + 2 * PAGE));
	CHILD_CHECK(!os_readable_page(-PAGE));
	CHILD_CHECK(os_readable_copy(copy, pages + PAGE - 16, 16));
	CHILD_CHECK(!memcmp(copy, "xxxxxxxxxxxxxxxx", 16));
	CHILD_CHECK(!os_readable_copy(copy, pages + PAGE - 15, 16));
	CHILD_CHECK(!os_readable_copy(copy, pages + 2 * PAGE, 1));
	CHILD_CHECK(!os_readable_copy(copy, NULL, 1));
	CHILD_CHECK(errno == 77);
	munmap(pages, 2 * PAGE);
}

static void test_here(void **state)
{
	look(state);
}

static void look_without_copies(void *arg)
{
	child_deny(SYS_process_vm_readv, EPERM);
	look(arg);
}

static void look_without_masks(void *arg)
{
	child_deny(SYS_rt_sigprocmask, EPERM);
	look(arg);
}

/* Each of the two calls alone is enough. */
static void test_in_sandboxes(void **state)
{
	struct child c;

	if (!bare_process())
		skip(); /* valgrind looks at the arguments of one call, sanitizers need the other */
	c = child_run(look_without_copies, state);
	assert_true(child_passed(&c));
	c = child_run(look_without_masks, state);
	assert_true(child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_sandboxes), /* first: nothing is found out as yet */
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
