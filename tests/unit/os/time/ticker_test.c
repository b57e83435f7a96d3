/* SPDX-License-Identifier: MIT */
/*
 * unit/os/time/ticker_test.c - the thread that calls again and again
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "bare.h"
#include "base/atomic.h"
#include "child.h"
#include "os/time/ticker.h"
#include "threads.h"

/* In place of libc's, as libfaketime has one: time stands still. It is none of the library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	*now = (struct timespec){ .tv_sec = 1 };
	return 0;
}

static unsigned int ticks;
static unsigned int others; /* of the second function */
static char name[16];
static unsigned int blocked; /* signals */
static pthread_t ticker;

static void count(void)
{
	sigset_t set;

	if (!load_relaxed(&ticks)) {
		ticker = pthread_self();
		prctl(PR_GET_NAME, name);
		pthread_sigmask(SIG_BLOCK, NULL, &set);
		for (int sig = 1; sig < 32; sig++)
			blocked += sigismember(&set, sig) == 1;
	}
	CHILD_CHECK(os_ticker_is_here() && os_ticker_runs());
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELEASE); /* pairs with wait_for */
}

static void count_others(void)
{
	__atomic_fetch_add(&others, 1, __ATOMIC_RELEASE);
}

static void third(void)
{
}
static void fourth(void)
{
}
static void fifth(void)
{
}
static void sixth(void)
{
}
static void seventh(void)
{
}

static int urgent[2];
static unsigned int calls; /* of watched() */
static bool watches;

static void watched(void)
{
	char byte;

	CHILD_CHECK(os_ticker_is_here() && recv(urgent[0], &byte, 1, MSG_OOB) == 1);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELEASE);
}

static void start_watch(void)
{
	if (!watches)
		watches = os_ticker_watch(urgent[0], watched) && os_ticker_watch(0, watched) &&
			  !os_ticker_watch(1, watched);
}

static void wait_for(unsigned int *counter, unsigned int n)
{
	for (unsigned int i = 0; load_acquire(counter) < n; i++) {
		CHILD_CHECK(i < 60000);
		usleep(1000);
	}
}

IN_CHILD(test_ticker)
{
	sigset_t before;
	sigset_t after;
	unsigned int threads;
	unsigned int n;
	int status;
	pid_t pid;

	sigemptyset(&before);
	sigemptyset(&after);
	CHILD_CHECK(os_ticker_start("ticker-test", 0, count) == -EINVAL);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	CHILD_CHECK(os_ticker_start("ticker-test", 5, count) == 0);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int sig = 1; sig < 65; sig++)
		CHILD_CHECK(sigismember(&before, sig) == sigismember(&after, sig));
	CHILD_CHECK(!os_ticker_is_here());
	wait_for(&ticks, 3);
	CHILD_CHECK(!strcmp(name, "ticker-test"));
	CHILD_CHECK(blocked == 29); /* all but KILL and STOP */

	/*
	 * Another function: no second thread, and the first one goes on. (Sanitizers and emulators
	 * may have one of their own.)
	 */
	threads = nr_threads();
	CHILD_CHECK(threads == 2 || !bare_process() || is_emulated());
	CHILD_CHECK(os_ticker_start("another", 1, count_others) == 0);
	wait_for(&others, 3);
	wait_for(&ticks, load_acquire(&ticks) + 2);
	CHILD_CHECK(nr_threads() == threads);
	/* Again: with another interval. Two calls may still come, one of them under way. */
	CHILD_CHECK(os_ticker_start("ticker-test", 1000000, count) == 0);
	for (unsigned int i = 0; i < 3; i++) {
		n = load_acquire(&ticks);
		wait_for(&others, load_acquire(&others) + 20);
	}
	CHILD_CHECK(load_acquire(&ticks) == n);

	/* ThreadSanitizer does not like threads of children, and qemu-user's assertions fail. */
	if (!bare_process() || is_emulated())
		return;

	/* A child has none until it asks for one. */
	pid = fork();
	if (pid == 0) {
		alarm(120);
		n = load_acquire(&others);
		usleep(20000);
		CHILD_CHECK(load_acquire(&others) == n);
		CHILD_CHECK(nr_threads() == 1 || is_emulated());
		CHILD_CHECK(os_ticker_start("ticker-test", 1, count_others) == 0);
		wait_for(&others, n + 3);
		CHILD_CHECK(nr_threads() == 2 || is_emulated());
		/* nor do the parent's functions come back with it */
		n = load_acquire(&ticks);
		CHILD_CHECK(os_ticker_start("third", 5, third) == 0);
		CHILD_CHECK(os_ticker_start("fourth", 5, fourth) == 0);
		CHILD_CHECK(os_ticker_start("fifth", 5, fifth) == 0);
		CHILD_CHECK(os_ticker_start("sixth", 5, sixth) == 0);
		CHILD_CHECK(os_ticker_start("seventh", 5, seventh) == 0);
		CHILD_CHECK(os_ticker_start("ticker-test", 1, count) == -ENOSPC);
		wait_for(&others, load_acquire(&others) + 20);
		CHILD_CHECK(load_acquire(&ticks) == n);
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	wait_for(&others, load_acquire(&others) + 2);
}

/* A child that is told of the fork has the functions again, with one more thread. */
IN_CHILD(test_again)
{
	int status;
	pid_t pid;

	if (!bare_process() || is_emulated())
		return;
	CHILD_CHECK(!os_ticker_forked(true)); /* there is nothing to keep */
	CHILD_CHECK(os_ticker_start("ticker-test", 2, count_others) == 0);
	CHILD_CHECK(!os_ticker_waits() && os_ticker_again() == 0);
	for (int way = 0; way < 5; way++) {
		pid = fork();
		if (pid == 0) {
			unsigned int n = load_acquire(&others);

			alarm(120);
			CHILD_CHECK(os_ticker_forked(way != 3));
			CHILD_CHECK(!os_ticker_runs() && os_ticker_waits() == (way != 3));
			if (way == 1) { /* its own child waits as it did */
				pid = fork();
				CHILD_CHECK(pid || os_ticker_forked(true));
				CHILD_CHECK(!pid || (waitpid(pid, &status, 0) == pid && !status));
			}
			if (way == 2) { /* another function: the old ones are there, too */
				CHILD_CHECK(os_ticker_start("other", 5, third) == 0);
			} else if (way == 4) {
				os_ticker_give_up();
				CHILD_CHECK(!os_ticker_waits());
			}
			CHILD_CHECK(os_ticker_again() == 0 && !os_ticker_waits());
			CHILD_CHECK(os_ticker_runs() == (way < 3));
			if (way < 3)
				wait_for(&others, n + 3);
			CHILD_CHECK(nr_threads() == 1u + (way < 3));
			_exit(0);
		}
		CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(os_ticker_forked(true));
		child_deny(SYS_clone3, ENOSYS);
		child_deny(SYS_clone, EAGAIN);
		CHILD_CHECK(os_ticker_again() == -EAGAIN && !os_ticker_runs());
		CHILD_CHECK(!os_ticker_waits() && os_ticker_again() == 0);
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* The thread itself forks: in the child it is the thread. */
static void fork_once(void)
{
	static bool done;
	int status;
	pid_t pid;

	if (done)
		return;
	done = true;
	pid = fork();
	if (pid == 0) {
		CHILD_CHECK(!os_ticker_forked(true) && os_ticker_runs() && !os_ticker_waits());
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELEASE);
}

IN_CHILD(test_it_forks)
{
	CHILD_CHECK(os_ticker_start("ticker-test", 2, fork_once) == 0);
	wait_for(&ticks, 1);
}

IN_CHILD(test_no_thread)
{
	child_deny(SYS_clone3, ENOSYS);
	child_deny(SYS_clone, EAGAIN);
	CHILD_CHECK(os_ticker_start("ticker-test", 5, count) == -EAGAIN);
	CHILD_CHECK(os_ticker_start("ticker-test", 5, count) == -EAGAIN); /* nothing is left over */
}

/* ---- the last thread ---- */

#define END_OF_MAIN "end-of-main" /* argument of this program, before the descriptor */

static int order[2]; /* a pipe: who has done what */

static void say_end(void)
{
	CHILD_CHECK(write(order[1], "e", 1) == 1);
}

/* Outlives the main thread, and is called beside it. */
static void *outlive(__attribute__((unused)) void *arg)
{
	wait_for(&ticks, load_acquire(&ticks) + 300);
	CHILD_CHECK(write(order[1], "t", 1) == 1);
	return NULL;
}

/* 0: the status is in *status; else it never ended. */
static int await(pid_t pid, int *status)
{
	for (unsigned int i = 0; i < 60000; i++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return 0;
		usleep(1000);
	}
	kill(pid, SIGKILL); /* no other signal is taken by a thread that blocks them */
	waitpid(pid, status, 0);
	return -1;
}

static _Noreturn void end_of_main(void)
{
	pthread_t thread;

	CHILD_CHECK(atexit(say_end) == 0);
	CHILD_CHECK(os_ticker_start("ticker-test", 1, count) == 0);
	CHILD_CHECK(pthread_create(&thread, NULL, outlive, NULL) == 0);
	pthread_exit(NULL);
}

/*
 * A program of its own: in a child of fork() musl 1.2.3 leaves the lock of its list of threads held
 * when the main thread ends by pthread_exit(), and no other thread of it ever ends.
 */
static _Noreturn void start_end_of_main(void)
{
	char fd[16];
	char *const argv[] = { (char *)"ticker_test", (char *)END_OF_MAIN, fd, NULL };

	snprintf(fd, sizeof(fd), "%d", order[1]);
	execv("/proc/self/exe", argv);
	_exit(127);
}

/*
 * The process ends with 0 when only our thread is left, after the program's own; exit handlers run.
 */
static void test_last_thread(void **state)
{
	char text[8] = "";
	int status = -1;
	pid_t pid;

	(void)state;
	/* ThreadSanitizer has a thread of its own, and valgrind's main thread is no zombie */
	if (!bare_process())
		skip();
	if (is_emulated())
		skip_because("the emulator has a thread of its own");
	assert_int_equal(pipe(order), 0);
	pid = fork();
	if (pid == 0)
		start_end_of_main();
	close(order[1]);
	assert_int_equal(await(pid, &status), 0);
	assert_int_equal(status, 0);
	assert_int_equal(read(order[0], text, sizeof(text)), 2);
	assert_string_equal(text, "te");
	close(order[0]);
}

/* It sleeps for a second at a time, but not while there is something urgent. */
IN_CHILD(test_watch)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, urgent) || send(urgent[1], "x", 1, MSG_OOB) != 1)
		child_cannot("sockets of this system have no urgent data");
	CHILD_CHECK(os_ticker_start("ticker-test", 600, start_watch) == 0);
	for (unsigned int i = 1; i <= 3; i++) {
		wait_for(&calls, i);
		CHILD_CHECK(watches);
		CHILD_CHECK(send(urgent[1], "x", 1, MSG_OOB) == 1);
	}
	wait_for(&calls, 4);
	close(urgent[1]); /* it is looked at no more */
	CHILD_CHECK(os_ticker_start("ticker-test", 5, count) == 0);
	wait_for(&ticks, 3);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticker),	 cmocka_unit_test(test_again),
		cmocka_unit_test(test_it_forks), cmocka_unit_test(test_no_thread),
		cmocka_unit_test(test_watch),	 cmocka_unit_test(test_last_thread),
	};

	if (argc == 3 && !strcmp(argv[1], END_OF_MAIN)) {
		order[1] = atoi(argv[2]);
		end_of_main();
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
