/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/process/remote_test.c - the memory of a child, by either way, until after its end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "process/remote.h"

#define LENGTH 20000

static char *area; /* LENGTH bytes, and no memory behind them */
static char expected[LENGTH];

static void fill(void)
{
	char *end;

	area = mmap(NULL, 10 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		_exit(1);
	end = area + 5 * 4096;
	munmap(end, 4096);
	area = end - LENGTH;
	for (int i = 0; i < LENGTH; i++)
		area[i] = expected[i] = (char)(i * 31 + 5);
}

/* A child that has area[0] changed, and waits. */
static pid_t start(void)
{
	int ready[2];
	pid_t pid;
	char c = 0;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		area[0] = 'C';
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	while (read(ready[0], &c, 1) < 0 && errno == EINTR)
		continue;
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void read_child(void *arg)
{
	static char buf[LENGTH + 1];
	struct remote remote;
	pid_t pid;

	if (arg)
		child_deny(SYS_process_vm_readv, *(int *)arg);
	fill();
	pid = start();
	CHILD_CHECK(pid > 0);
	remote_open(&remote, pid);
	CHILD_CHECK(!reader_read(&remote.reader, (uintptr_t)area, buf, LENGTH));
	CHILD_CHECK(buf[0] == 'C');
	CHILD_CHECK(!memcmp(buf + 1, expected + 1, LENGTH - 1));
	/* one byte too much, and nowhere at all */
	CHILD_CHECK(reader_read(&remote.reader, (uintptr_t)area, buf, LENGTH + 1) == -EFAULT);
	CHILD_CHECK(reader_read(&remote.reader, 8, buf, 8) == -EFAULT);
	CHILD_CHECK(reader_read(&remote.reader, UINT64_MAX - 7, buf, 8) == -EFAULT);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHILD_CHECK(reader_read(&remote.reader, (uintptr_t)area, buf, 8) == -ESRCH);
	remote_close(&remote);
	CHILD_CHECK(reader_read(&remote.reader, (uintptr_t)area, buf, 8) != 0);
}

static void test_call(void **state)
{
	struct child c = child_run(read_child, NULL);

	(void)state;
	assert_true(child_passed(&c));
}

/* A sandbox without process_vm_readv: the file is read. */
static void test_file(void **state)
{
	static int errors[] = { EPERM, ENOSYS };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct child c = child_run(read_child, &errors[i]);

		assert_true(child_passed(&c));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
