/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/timens_test.c - clocks of processes in other time namespaces
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "process/timens.h"
#include "support/child.h"

static const char offsets[] = "monotonic -501 750000000\nboottime 7 0\n";

static bool enter(void)
{
	int fd;

	if (unshare(CLONE_NEWTIME))
		return false;
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	return fd >= 0 && write(fd, offsets, strlen(offsets)) == (ssize_t)strlen(offsets) &&
	       !close(fd);
}

/* What a process there, forked from this one, sees of that process. */
static bool sees_none_from_inside(pid_t process)
{
	pid_t inside = fork();
	int status;

	if (!inside)
		_exit(timens_ahead_ms(process) != 0);
	return waitpid(inside, &status, 0) == inside && status == 0;
}

IN_CHILD(test_ahead)
{
	pid_t inside;

	CHILD_CHECK(timens_ahead_ms(getpid()) == 0 && timens_ahead_ms(getppid()) == 0);
	if (!enter())
		child_cannot("time namespaces");
	CHILD_CHECK(timens_ahead_ms(getpid()) == 0); /* only its children are there */
	inside = fork();
	if (!inside) {
		alarm(60);
		pause();
		_exit(0);
	}
	CHILD_CHECK(sees_none_from_inside(inside));
	CHILD_CHECK(timens_ahead_ms(inside) == -500 * 1000 - 250);
	kill(inside, SIGKILL);
	CHILD_CHECK(waitpid(inside, NULL, 0) == inside);
	CHILD_CHECK(timens_ahead_ms(inside) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ahead) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
