/* SPDX-License-Identifier: MIT */
/*
 * unit/cache/control/thread_test.c - children of fork() start the library's own thread again
 */
#include "unit/cache/cache_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bare.h"
#include "base/atomic.h"
#include "cache/control/control.h"
#include "cache/internal.h"
#include "os/time/ticker.h"
#include "threads.h"

static struct cache *cache;
static void *p_of_parent;

/* The thread takes a command. */
static void await_polled(void)
{
	store_relaxed(&control.command, CONTROL_NOTHING);
	store_release(&control.state, CONTROL_PENDING);
	for (unsigned int i = 0; load_acquire(&control.state) != CONTROL_DONE; i++) {
		CHILD_CHECK(i < 60000);
		usleep(1000);
	}
}

/* An allocation that is no hit. */
static void *miss(void)
{
	cache_shrink(cache);
	return get(cache);
}

/* In a child of a process whose thread polls. */
static void in_fork(void (*fn)(void), bool on)
{
	int status;
	pid_t pid;

	if (!bare_process() || is_emulated())
		child_cannot("threads of children");
	ready();
	cache = make_front("c", 64, "array");
	p_of_parent = get(cache);
	CHILD_CHECK(cache_set_option("control", "5", NULL));
	CHILD_CHECK(on || cache_set_option("fork_thread", "0", NULL));
	cache_start_threads();
	CHILD_CHECK(os_ticker_runs() && control.thread == CONTROL_THREAD_AS_STARTED);
	pid = fork();
	if (!pid) {
		alarm(120);
		CHILD_CHECK(control.thread == (on ? CONTROL_THREAD_WAITS : CONTROL_THREAD_OFF));
		CHILD_CHECK(nr_threads() == 1 && !lock_is_inside());
		fn();
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void check_there(void)
{
	CHILD_CHECK(control.thread == CONTROL_THREAD_AS_STARTED && lock_is_plain());
	CHILD_CHECK(nr_threads() == 2 && os_ticker_runs());
	await_polled();
}

static void by_allocation(void)
{
	void *p = miss();

	check_there();
	cache_free(cache, p);
	CHILD_CHECK(miss() && nr_threads() == 2);
}

IN_CHILD(test_allocation)
{
	in_fork(by_allocation, true);
}

static void not_by_free(void)
{
	cache_free(cache, p_of_parent);
	CHILD_CHECK(nr_threads() == 1 && control.thread == CONTROL_THREAD_WAITS);
	miss();
	check_there();
}

IN_CHILD(test_no_free)
{
	in_fork(not_by_free, true);
}

static void stays_away(void)
{
	miss();
	CHILD_CHECK(nr_threads() == 1 && control.thread == CONTROL_THREAD_OFF && lock_is_plain());
}

IN_CHILD(test_off)
{
	in_fork(stays_away, false);
}

/* Not while this thread holds a lock, but later. */
static void nested(void)
{
	struct lock l = LOCK_INIT(RANK_NONE);

	lock_acquire(&l);
	CHILD_CHECK(lock_is_inside());
	cache_alloc(cache, GFP_KERNEL, NUMA_NO_NODE);
	CHILD_CHECK(nr_threads() == 1);
	lock_release(&l);
	miss();
	check_there();
}

IN_CHILD(test_nested)
{
	in_fork(nested, true);
}

static void handle(int sig)
{
	(void)sig;
	miss();
	CHILD_CHECK(nr_threads() == 1 && control.thread == CONTROL_THREAD_WAITS);
}

static void in_handler(void)
{
	signal(SIGUSR1, handle);
	raise(SIGUSR1);
	miss();
	check_there();
}

IN_CHILD(test_handler)
{
	in_fork(in_handler, true);
}

/* A program that blocks a signal for good, as for signalfd(2), has its thread a second later. */
static void blocked(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	miss();
	CHILD_CHECK(nr_threads() == 1);
	for (unsigned int i = 0; nr_threads() == 1; i++) {
		CHILD_CHECK(i < 60000);
		usleep(1000);
		cache_free(cache, miss());
	}
	check_there();
}

IN_CHILD(test_blocked)
{
	in_fork(blocked, true);
}

static void refused(void)
{
	child_deny(SYS_clone3, ENOSYS);
	child_deny(SYS_clone, EAGAIN);
	miss();
	CHILD_CHECK(nr_threads() == 1 && control.thread == CONTROL_THREAD_FAILED);
	CHILD_CHECK(lock_is_plain() && !os_ticker_waits());
}

static void refuse(void *arg)
{
	(void)arg;
	in_fork(refused, true);
}

/* A filter came since the start: it might end who makes a thread. */
static void test_filter(void **state)
{
	static const char line[] =
		"uslab: USLAB_CONF: no thread could be made in this child of fork(); control, "
		"defrag, kfence.interval, reap and reclaim need it\n";
	struct child c = child_run(refuse, NULL);

	(void)state;
	assert_true(child_passed(&c));
	assert_string_equal(c.text, line);
}

static void limited(void)
{
	struct rlimit none = { 0, 0 };

	if (!geteuid() && (setgid(65534) || setuid(65534)))
		child_cannot("another user");
	CHILD_CHECK(!setrlimit(RLIMIT_NPROC, &none));
	miss();
	CHILD_CHECK(nr_threads() == 1 && control.thread == CONTROL_THREAD_FAILED);
}

IN_CHILD(test_limit)
{
	in_fork(limited, true);
}

/* Another thread than the one that forked is marked by a command. */
static void *allocate(void *arg)
{
	(void)arg;
	miss();
	CHILD_CHECK(control.thread == CONTROL_THREAD_WAITS);
	store_relaxed(&control.command, CONTROL_NOTHING);
	store_release(&control.state, CONTROL_PENDING);
	control_poll();
	CHILD_CHECK(load_acquire(&control.state) == CONTROL_DONE);
	miss();
	CHILD_CHECK(control.thread == CONTROL_THREAD_AS_STARTED && os_ticker_runs());
	return NULL;
}

static void by_command(void)
{
	pthread_t thread;

	CHILD_CHECK(!pthread_create(&thread, NULL, allocate, NULL));
	CHILD_CHECK(!pthread_join(thread, NULL));
	miss(); /* it finds nothing to do */
	CHILD_CHECK(lock_is_plain());
}

IN_CHILD(test_command)
{
	in_fork(by_command, true);
}

/* The child of a child that did not come to it. */
static void by_grandchild(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		CHILD_CHECK(control.thread == CONTROL_THREAD_WAITS);
		miss();
		check_there();
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	miss();
	check_there();
}

IN_CHILD(test_grandchild)
{
	in_fork(by_grandchild, true);
}

/* A child of vfork() leaves it to its parent, whose memory it has. */
static void in_vfork(void)
{
	int status = 0;
	pid_t pid = vfork();

	if (!pid) {
		miss();
		_exit(nr_threads() != 1);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHILD_CHECK(control.thread == CONTROL_THREAD_WAITS);
	miss();
	check_there();
}

IN_CHILD(test_vfork)
{
	in_fork(in_vfork, true);
}

/* Without a thread there is nothing to start. */
IN_CHILD(test_no_child)
{
	int status;
	pid_t pid;

	ready();
	cache_start_threads();
	pid = fork();
	if (!pid) {
		CHILD_CHECK(lock_is_plain() && !os_ticker_waits());
		get(make("c", 64, 0, 0));
		CHILD_CHECK(control.thread == CONTROL_THREAD_AS_STARTED && !os_ticker_runs());
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocation), cmocka_unit_test(test_no_free),
		cmocka_unit_test(test_off),	   cmocka_unit_test(test_nested),
		cmocka_unit_test(test_handler),	   cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_filter),	   cmocka_unit_test(test_limit),
		cmocka_unit_test(test_command),	   cmocka_unit_test(test_grandchild),
		cmocka_unit_test(test_no_child),   cmocka_unit_test(test_vfork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
