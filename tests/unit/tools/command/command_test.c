/* SPDX-License-Identifier: MIT */
/*
 * unit/tools/command/command_test.c - commands to a child that has the library inside, and
 * to one that does not look
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "child.h"
#include "command/command.h"
#include "inspect/root.h"
#include "util.h"

#define SLOWLY 2
#define SLOW_US 200000

static struct target t;
static const struct target_root *root;
static pid_t pid;
/* 1 or SLOWLY: the child looks into its mailbox; behind it, what it has seen of this. */
static volatile int *looks;
static struct control reply;

/* As a process does that takes its time. */
static void carry_out_slowly(void)
{
	if (control.state != CONTROL_PENDING)
		return;
	control.state = CONTROL_RUNNING;
	usleep(SLOW_US);
	control.state = CONTROL_DONE;
}

static void child_main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int wanted = looks[0];

		if (wanted == SLOWLY)
			carry_out_slowly();
		else if (wanted)
			control_poll();
		looks[1] = wanted;
		usleep(1000);
	}
}

/* When this returns the child does so, and is past its last look. */
static void let_look(int wanted)
{
	looks[0] = wanted;
	while (looks[1] != wanted)
		usleep(100);
}

static int setup(void **state)
{
	void *used = kmalloc(64, GFP_KERNEL);

	(void)state;
	if (!looks)
		looks = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	looks[0] = 1;
	looks[1] = -1;
	pid = fork();
	if (!pid)
		child_main();
	kfree(used);
	if (target_open(&t, "test", pid) != EXIT_OK)
		return -1;
	root = &t.root[0];
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	target_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static int send_to(enum control_command command, const char *pattern, const char *argument,
		   unsigned int wait_ms)
{
	struct command_request request = {
		.command = command,
		.pattern = pattern,
		.argument = argument,
		.wait_ms = wait_ms,
	};

	return command_send(&t, root, &request, &reply);
}

static uint32_t read_state(void)
{
	uint32_t value = 0;

	assert_int_equal(reader_read(&t.remote.reader, (uintptr_t)&control.state, &value, 4), 0);
	return value;
}

static void write_state(uint32_t value)
{
	struct iovec from = { &value, 4 }, to = { &control.state, 4 };

	assert_int_equal(process_vm_writev(pid, &from, 1, &to, 1, 0), 4);
}

static void test_answer(void **state)
{
	uint64_t serial;

	(void)state;
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 60000), 0);
	assert_int_equal(reply.state, CONTROL_DONE);
	serial = reply.serial;
	assert_int_equal(send_to(CONTROL_DEBUG, "kmalloc-64", "U", 60000), 0);
	assert_int_equal(reply.matched, 1);
	assert_int_equal(reply.result, 0);
	assert_int_equal(reply.serial, serial + 1);
	assert_int_equal(send_to(CONTROL_DEBUG, "none-such", "U", 60000), 0);
	assert_int_equal(reply.matched, 0);
	assert_int_equal(read_state(), CONTROL_IDLE);
}

/* As many as fit go with one command; names mean nothing else, whatever debug flags they have. */
static void test_many_at_once(void **state)
{
	static const char *const names[] = { "kmalloc-64", "kmalloc-*", "kmalloc-96" };
	struct command_request request = {
		.command = CONTROL_DEBUG,
		.patterns = names,
		.nr_patterns = 3,
		.names = true,
		.argument = "U",
		.wait_ms = 60000,
	};
	const char *many[400];
	unsigned int fit;

	(void)state;
	assert_int_equal(command_send(&t, root, &request, &reply), 0);
	assert_int_equal(reply.matched, 2);
	assert_int_equal(reply.serial, 1);
	request.names = false;
	assert_int_equal(command_send(&t, root, &request, &reply), 0);
	assert_in_range(reply.matched, 3, 100);
	for (unsigned int i = 0; i < 400; i++)
		many[i] = "malloc-1024";
	fit = command_fits(many, 400, true);
	assert_in_range(fit, 100, 399); /* all caches of the drop-in */
	many[1] = "a*************************************************************";
	assert_in_range(command_fits(many, 400, true), 100, fit - 9);
	many[1] = "malloc-1024";
	request.patterns = many;
	request.nr_patterns = fit;
	assert_int_equal(command_send(&t, root, &request, &reply), 0);
	assert_int_equal(reply.matched, 0);
	request.nr_patterns++;
	assert_int_equal(command_send(&t, root, &request, &reply), -ENAMETOOLONG);
}

/* What nobody came for is taken back, and not done later. */
static void test_nobody_looks(void **state)
{
	(void)state;
	let_look(0);
	assert_int_equal(send_to(CONTROL_DEBUG, "kmalloc-64", "FZPU", 30), -ETIMEDOUT);
	assert_int_equal(read_state(), CONTROL_IDLE);
	let_look(1);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 60000), 0);
	assert_int_equal(reply.serial, 1);
}

/* Left by tools that were killed. */
static void test_leftovers(void **state)
{
	(void)state;
	let_look(0);
	write_state(CONTROL_CLAIMED);
	let_look(1);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 60000), 0);
	write_state(CONTROL_DONE);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 60000), 0);
	let_look(0);
	write_state(CONTROL_PENDING);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 20), -ETIMEDOUT);
	assert_int_equal(read_state(), CONTROL_IDLE);
	/* somebody is at it, and does not come to an end */
	write_state(CONTROL_RUNNING);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 20), -EBUSY);
	assert_int_equal(read_state(), CONTROL_RUNNING);
	/* what no version ever wrote there */
	write_state(77);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 20), -EPROTO);
}

static void read_control(struct control *copy)
{
	assert_int_equal(reader_read(&t.remote.reader, (uintptr_t)&control, copy, sizeof(*copy)),
			 0);
}

/*
 * The process may come for it at any moment: it is made harmless, and the next
 * one is not written over it.
 */
static void test_leftover_is_not_overwritten(void **state)
{
	static const char pattern[] = "left over";
	struct iovec from = { (void *)(uintptr_t)pattern, sizeof(pattern) };
	struct iovec to = { control.patterns, sizeof(pattern) };
	struct control copy;

	(void)state;
	let_look(0);
	assert_int_equal(process_vm_writev(pid, &from, 1, &to, 1, 0), sizeof(pattern));
	write_state(CONTROL_PENDING);
	assert_int_equal(send_to(CONTROL_SHRINK, "kmalloc-64", NULL, 20), -ETIMEDOUT);
	read_control(&copy);
	assert_int_equal(copy.state, CONTROL_IDLE);
	assert_int_equal(copy.command, CONTROL_NOTHING);
	assert_string_equal(copy.patterns, pattern);
	let_look(1);
	write_state(CONTROL_PENDING);
	assert_int_equal(send_to(CONTROL_SHRINK, "kmalloc-64", NULL, 60000), 0);
	assert_int_equal(reply.matched, 1);
	assert_int_equal(reply.serial, 2);
}

/* ---- signals ---- */

static void on_signal(int number)
{
	(void)number;
}

/*
 * Forks a process that sends a signal to target as soon as the command is in the mailbox (PENDING),
 * or is being carried out (RUNNING), however long that takes. To be ended with end_signaller().
 */
static pid_t start_signaller(pid_t target, int number, uint32_t awaited)
{
	pid_t signaller = fork();

	if (signaller)
		return signaller;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read_state() != awaited)
		usleep(1000);
	kill(target, number);
	_exit(0);
}

static void end_signaller(pid_t signaller)
{
	kill(signaller, SIGKILL);
	waitpid(signaller, NULL, 0);
}

/* A command, and SIGTERM while it is in the awaited state. */
static int send_and_get_signal(void (*action)(int), uint32_t awaited, unsigned int wait_ms)
{
	pid_t signaller;
	int ret;

	signal(SIGTERM, action);
	signaller = start_signaller(getpid(), SIGTERM, awaited);
	ret = send_to(CONTROL_DEBUG, "kmalloc-64", "FZPU", wait_ms);
	end_signaller(signaller);
	return ret;
}

static void send_and_end(void *arg)
{
	(void)arg;
	send_and_get_signal(SIG_DFL, CONTROL_PENDING, 60000);
}

static void send_and_go_on(void *arg)
{
	(void)arg;
	CHILD_CHECK(send_and_get_signal(SIG_IGN, CONTROL_PENDING, 200) == -ETIMEDOUT);
	CHILD_CHECK(send_and_get_signal(on_signal, CONTROL_PENDING, 60000) == -EINTR);
	let_look(1);
	CHILD_CHECK(send_to(CONTROL_NOTHING, "", NULL, 60000) == 0);
	CHILD_CHECK(reply.serial == 1);
}

/* What the process is doing already is waited for: whoever asked may have to undo it. */
static void send_to_slow(void *arg)
{
	(void)arg;
	CHILD_CHECK(send_and_get_signal(on_signal, CONTROL_RUNNING, 60000) == 0);
	CHILD_CHECK(reply.state == CONTROL_DONE);
}

/* What undoes another command is not broken off, however often a signal comes. */
static void send_to_the_end(void *arg)
{
	struct command_request request = {
		.command = CONTROL_DEBUG,
		.pattern = "kmalloc-64",
		.argument = "-U",
		.wait_ms = 100,
		.to_the_end = true,
	};
	sigset_t set;

	(void)arg;
	signal(SIGTERM, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	CHILD_CHECK(command_send(&t, root, &request, &reply) == -ETIMEDOUT);
	request.to_the_end = false;
	CHILD_CHECK(command_send(&t, root, &request, &reply) == -EINTR);
}

/* What is broken off with ^C is not done later. */
static void test_interrupted(void **state)
{
	struct child child;

	(void)state;
	let_look(0);
	child = child_run(send_and_end, NULL);
	assert_true(WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGTERM);
	assert_int_equal(read_state(), CONTROL_IDLE);
	child = child_run(send_to_the_end, NULL);
	assert_true(child_passed(&child));
	child = child_run(send_and_go_on, NULL);
	assert_true(child_passed(&child));
	let_look(SLOWLY);
	child = child_run(send_to_slow, NULL);
	assert_true(child_passed(&child));
}

static void test_other_tool(void **state)
{
	char path[40];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 30), -EBUSY);
	close(fd);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 60000), 0);
}

static void test_ended(void **state)
{
	(void)state;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 1000), -ESRCH);
}

static void test_ends_meanwhile(void **state)
{
	pid_t signaller;

	(void)state;
	let_look(0);
	signaller = start_signaller(pid, SIGKILL, CONTROL_PENDING);
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 60000), -ESRCH);
	end_signaller(signaller);
}

static void test_long_texts(void **state)
{
	char text[CONTROL_PATTERNS + 1];

	(void)state;
	memset(text, 'x', CONTROL_PATTERNS);
	text[CONTROL_PATTERNS - 1] = '\0'; /* and the empty one behind it has no room */
	assert_int_equal(send_to(CONTROL_DEBUG, text, "U", 1000), -ENAMETOOLONG);
	text[CONTROL_PATTERNS - 2] = '\0';
	assert_int_equal(send_to(CONTROL_DEBUG, text, "U", 60000), 0);
	assert_int_equal(reply.matched, 0);
	text[CONTROL_TEXT] = '\0';
	assert_int_equal(send_to(CONTROL_DEBUG, "a", text, 1000), -ENAMETOOLONG);
}

/* Another program under the same number: nothing is written. */
static void test_other_program(void **state)
{
	struct target_root wrong = { .address = (uintptr_t)&reply };

	(void)state;
	root = &wrong;
	t.force = true; /* it does not say how many filters of system calls it began with */
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 1000), -EPROTO);
	wrong.address = 16;
	assert_int_equal(send_to(CONTROL_NOTHING, "", NULL, 1000), -EFAULT);
}

static void send_denied(void *arg)
{
	(void)arg;
	child_deny(SYS_process_vm_writev, EPERM);
	CHILD_CHECK(send_to(CONTROL_NOTHING, "", NULL, 60000) == 0);
}

static void test_by_file(void **state)
{
	struct child child;

	(void)state;
	if (getenv("USLAB_TEST_VALGRIND"))
		skip(); /* does not know the filter */
	child = child_run(send_denied, NULL);
	assert_true(child_passed(&child));
}

/* What /proc/PID/stat says that the child does. */
static char process_letter(void)
{
	char path[40], letter = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &letter) != 1)
		letter = 0;
	if (file)
		fclose(file);
	return letter;
}

static void send_to_stopped(void *arg)
{
	struct command_request request = { .pattern = "", .wait_ms = 30 };

	(void)arg;
	kill(pid, SIGSTOP);
	while (process_letter() != 'T')
		usleep(1000);
	CHILD_CHECK(command_perform(&t, root, &request, &reply) == EXIT_FAILED);
	_exit(3);
}

static void send_to_idle(void *arg)
{
	struct command_request request = { .pattern = "", .wait_ms = 30 };

	(void)arg;
	let_look(0);
	CHILD_CHECK(command_perform(&t, root, &request, &reply) == EXIT_FAILED);
	_exit(3);
}

static void test_messages(void **state)
{
	struct child child = child_run(send_to_idle, NULL);

	(void)state;
	assert_int_equal(WEXITSTATUS(child.status), 3);
	assert_non_null(strstr(child.text, "USLAB_CONF=control=100"));
	child = child_run(send_to_stopped, NULL);
	assert_int_equal(WEXITSTATUS(child.status), 3);
	assert_non_null(strstr(child.text, "is stopped"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_looks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leftovers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leftover_is_not_overwritten, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_tool, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_texts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_by_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
