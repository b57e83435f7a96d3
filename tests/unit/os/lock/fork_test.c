/* SPDX-License-Identifier: MIT */
/*
 * unit/os/lock/fork_test.c - the hooks run, on the right side, in the documented order
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "os/lock/fork.h"

static char order[16];
static size_t used;

static void note(char c)
{
	order[used++] = c;
}

static void first_prepare(void)
{
	note('p');
}

static void first_parent(void)
{
	note('a');
}

static void first_child(void)
{
	note('c');
}

static void second_prepare(void)
{
	note('P');
}

static void second_parent(void)
{
	note('A');
}

static void second_child(void)
{
	note('C');
}

static void test_order(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(os_at_fork(first_prepare, first_parent, first_child), 0);
	assert_int_equal(os_at_fork(second_prepare, second_parent, second_child), 0);
	assert_int_equal(os_at_fork(NULL, NULL, NULL), 0);
	pid = fork();
	if (pid == 0)
		_exit(strcmp(order, "PpcC") == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(order, "PpaA");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
