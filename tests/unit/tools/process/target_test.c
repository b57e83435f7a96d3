/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/target_test.c - uslab found in a process, and the hint about permissions
 *
 * The process is this one: its parent side forks a child that has the library inside as well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "inspect/snapshot.h"
#include "process/target.h"
#include "util.h"

/* text: the hint where the file path has that scope. */
static void make_hint(const char *scope, char text[256], char *path)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, scope, strlen(scope)), strlen(scope));
	close(fd);
	target_permission_text(text, 256, path);
	unlink(path);
}

static void check_hint(const char *scope, bool named)
{
	char path[] = "/tmp/uslab-target-XXXXXX";
	char text[256];

	make_hint(scope, text, path);
	assert_non_null(strstr(text, "CAP_SYS_PTRACE"));
	assert_non_null(strstr(text, "same user"));
	assert_int_equal(strstr(text, path) != NULL, named);
	if (named)
		assert_non_null(strstr(text, "it is 1"));
}

/* No user and no capability would help. */
static void test_hint_for_nobody(void **state)
{
	char path[] = "/tmp/uslab-as-long-as-ptrace-XXXXXX"; /* all of the text has room */
	char text[256];

	(void)state;
	make_hint("3\n", text, path);
	assert_non_null(strstr(text, path));
	assert_non_null(strstr(text, "next boot"));
	assert_null(strstr(text, "CAP_SYS_PTRACE"));
	assert_non_null(strstr(text, "(uslab info --core)"));
}

static void test_hint(void **state)
{
	char text[256];

	(void)state;
	check_hint("0\n", false);
	check_hint("1\n", true);
	check_hint("", false);
	target_permission_text(text, sizeof(text), "/nonexistent");
	assert_null(strstr(text, "nonexistent"));
}

static void look_into_child(void *arg)
{
	static struct target t;
	static struct snapshot s;
	const struct target_root *root;
	void *run;
	pid_t pid;

	(void)arg;
	run = kmalloc(1 << 20, GFP_KERNEL);
	CHILD_CHECK(run);
	prctl(PR_SET_NAME, "target\ntest"); /* valgrind's is another */
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	CHILD_CHECK(target_open(&t, "test", pid) == EXIT_OK);
	CHILD_CHECK(t.nr_roots == 1);
	CHILD_CHECK(t.root[0].address == (uintptr_t)&uslab_root);
	CHILD_CHECK(strstr(t.root[0].object, "target_test"));
	CHILD_CHECK(!strcmp(t.program, "target?test"));
	CHILD_CHECK(target_snapshot(&t, NULL, &s, &root) == EXIT_OK);
	CHILD_CHECK(root == &t.root[0]);
	CHILD_CHECK(s.totals.run_bytes == 1 << 20);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* found alive, dead when read */
	CHILD_CHECK(target_snapshot(&t, NULL, &s, &root) == EXIT_FAILED);
	target_close(&t);
	CHILD_CHECK(target_open(&t, "test", pid) == EXIT_FAILED);
	CHILD_CHECK(target_find(&t, "test", pid, NULL) == -ENOENT);
	target_close(&t);
}

static void test_child(void **state)
{
	struct child c = child_run(look_into_child, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_non_null(strstr(c.text, "(target?test) ended while it was being read\n"));
	assert_non_null(strstr(c.text, "uslab test: no such process: "));
}

/* Searched again, files that have no uslab are not read, and the others are found as before. */
static void look_again(void *arg)
{
	static struct target t;
	static struct snapshot s;
	struct file_set without = { .tree = NULL };
	pid_t pid;

	(void)arg;
	CHILD_CHECK(kmalloc(8, GFP_KERNEL));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	for (int i = 0; i < 2; i++) {
		CHILD_CHECK(target_find(&t, "test", pid, &without) == 0);
		CHILD_CHECK(t.nr_roots == 1 && t.root[0].address == (uintptr_t)&uslab_root);
		CHILD_CHECK(target_take(&t, &t.root[0], &s) == 0);
		CHILD_CHECK(without.tree);
		target_close(&t);
	}
	file_set_free(&without);
	kill(pid, SIGKILL);
}

static void test_again(void **state)
{
	struct child c = child_run(look_again, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hint),
		cmocka_unit_test(test_hint_for_nobody),
		cmocka_unit_test(test_child),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
