/* SPDX-License-Identifier: MIT */
/*
 * unit/os/lock/lock_test.c - exclusion, sleepers, fork, ranks
 *
 * The rank tests need a debug build; elsewhere they check that nothing is checked.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "child.h"
#include "os/cpu/cpu.h"
#include "os/lock/lock.h"

#define THREADS 8

static struct lock lock = LOCK_INIT(RANK_NONE);
static unsigned long rounds = 20000; /* of each thread; fewer under valgrind */

static void test_word(void **state)
{
	struct lock l;

	(void)state;
	memset(&l, 0xff, sizeof(l));
	lock_init(&l, RANK_PAGE);
	assert_int_equal(l.word, 0);
	assert_int_equal(l.rank, RANK_PAGE);
	assert_true(lock_try(&l));
	assert_int_equal(l.word, 1);
	lock_release(&l);
	lock_acquire(&l);
	assert_int_equal(l.word, 1);
	lock_release(&l);
	assert_int_equal(l.word, 0);
}

static volatile sig_atomic_t alarms;

static void defer_something(int sig)
{
	(void)sig;
	lock_set_flags(LOCK_DEFERRED);
	alarms++;
}

/* What a signal handler sets while another flag is changed stays: deferred work would be lost. */
static void test_flags(void **state)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = defer_something }, before;

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (sig_atomic_t seen = 0; seen < 200; seen = alarms) {
		for (int i = 0; i < 10000 && alarms == seen; i++) {
			lock_set_flags(LOCK_NOTIFYING);
			lock_clear_flags(LOCK_NOTIFYING);
		}
		if (alarms != seen)
			assert_int_equal(lock_thread.flags, LOCK_DEFERRED);
		lock_clear_flags(LOCK_DEFERRED);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_int_equal(lock_clear_flags(LOCK_DEFERRED) & ~LOCK_DEFERRED, 0);
}

static void *try_it(void *arg)
{
	return lock_try(arg) ? arg : NULL;
}

/* A second lock of the same rank is tried beside the first, is counted, and never waited for. */
static void beside(__attribute__((unused)) void *arg)
{
	struct lock first = LOCK_INIT(RANK_LANE);
	struct lock second = LOCK_INIT(RANK_LANE);

	lock_acquire(&first);
	CHILD_CHECK(lock_try_beside(&second) && lock_thread.nr == 2);
	CHILD_CHECK(!lock_try_beside(&second) && lock_thread.nr == 2);
	lock_leave_inside(&second);
	CHILD_CHECK(lock_thread.nr == 1 && !second.word && first.word);
	lock_release(&first);
	CHILD_CHECK(!lock_thread.nr && lock_try(&first)); /* its rank was left alone */
	lock_release(&first);
}

static void test_beside(void **state)
{
	struct child c;

	(void)state;
	c = child_run(beside, NULL);
	assert_true(child_passed(&c));
}

static void test_try_fails(void **state)
{
	pthread_t thread;
	void *got;

	(void)state;
	lock_acquire(&lock);
	pthread_create(&thread, NULL, try_it, &lock);
	pthread_join(thread, &got);
	assert_null(got);
	assert_int_equal(lock.word, 1);
	lock_release(&lock);
}

struct storm {
	unsigned long a; /* both plain, both only under the lock */
	unsigned long b;
	unsigned long torn;
};

static struct storm storm;

static void *storm_thread(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			while (!lock_try(&lock))
				sched_yield();
		else
			lock_acquire(&lock);
		if (storm.a != storm.b)
			storm.torn++;
		storm.a++;
		/* Now and then give the others the time to go to sleep. */
		if ((seed >> 17 & 255) == 0)
			sched_yield();
		storm.b++;
		lock_release(&lock);
	}
	return NULL;
}

static void run_storm(void)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	storm = (struct storm){ 0 };
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm_thread, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(storm.a, THREADS * rounds);
	assert_int_equal(storm.b, THREADS * rounds);
	assert_int_equal(storm.torn, 0);
	assert_int_equal(lock.word, 0);
}

/* Without spinning, then with: nr_cpus says which. */
static void test_storm(void **state)
{
	(void)state;
	assert_int_equal(os_topology_set(1, 1), 0);
	run_storm();
	assert_int_equal(os_topology_set(2, 1), 0);
	run_storm();
}

static unsigned int woken;
static unsigned int errnos_kept;

static void *sleeper(void *arg)
{
	errno = 77;
	lock_acquire(arg);
	woken++;
	errnos_kept += errno == 77;
	lock_release(arg);
	return NULL;
}

/* Sleepers mark the word with 2; each release wakes one, the last one leaves 0. */
static void test_sleepers(void **state)
{
	pthread_t threads[THREADS];
	int i;

	(void)state;
	woken = 0;
	errnos_kept = 0;
	lock_acquire(&lock);
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, sleeper, &lock);
	while (load_relaxed(&lock.word) != 2)
		sched_yield();
	assert_int_equal(woken, 0);
	errno = 77;
	lock_release(&lock);
	assert_int_equal(errno, 77);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(woken, THREADS);
	assert_int_equal(errnos_kept, THREADS);
	assert_int_equal(lock.word, 0);
}

static bool stop;

static void *hold_and_release(void *arg)
{
	unsigned int turns = 0;

	while (!load_relaxed(&stop)) {
		lock_acquire(arg);
		storm.a++;
		storm.b++;
		lock_release(arg);
		/* Released, then given away: the thread that forks gets its turn. */
		if (turns++ % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static void child_uses_lock(void)
{
	lock_fork_child(&lock);
	/* The data is whole, and the lock works, also through its slow path. */
	if (storm.a != storm.b || lock.word != 0 || !lock_try(&lock))
		_exit(1);
	lock_release(&lock);
	lock_count(&lock);
	lock_acquire_slow(&lock);
	lock_release(&lock);
	_exit(lock.word == 0 ? 0 : 2);
}

static void fork_once(void)
{
	int status = -1;
	pid_t pid;

	lock_fork_prepare(&lock);
	pid = fork();
	if (pid == 0)
		child_uses_lock();
	lock_fork_parent(&lock);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- what a thread holds ---- */

static void test_counted(void **state)
{
	struct lock other = LOCK_INIT(RANK_NONE);

	(void)state;
	assert_true(lock_is_plain() && !lock_is_inside());
	lock_acquire(&lock);
	assert_true(lock_try(&other));
	assert_false(lock_try(&other));
	assert_int_equal(lock_thread.nr, 2);
	assert_ptr_equal(lock_thread.held[0], &lock);
	assert_ptr_equal(lock_thread.held[1], &other);
	lock_release(&other);
	assert_true(!lock_is_plain() && lock_is_inside());
	lock_release(&lock);
	lock_thread.flags |= LOCK_DEFERRED;
	assert_true(!lock_is_plain() && !lock_is_inside());
	lock_thread.flags &= ~LOCK_DEFERRED;
	assert_true(lock_is_plain());
}

/* A lock that this thread holds is not waited for; another one is. */
static void test_inside(void **state)
{
	struct lock other = LOCK_INIT(RANK_NONE);

	(void)state;
	lock_acquire(&lock);
	assert_false(lock_take_inside(&lock));
	assert_true(lock_take_inside(&other));
	assert_false(lock_take_inside(&other));
	assert_int_equal(other.word, 1);
	lock_leave_inside(&other);
	assert_int_equal(other.word, 0);
	lock_release(&lock);
	lock_acquire_apart(&other);
	assert_true(lock_holds_apart(&other) && !lock_take_inside(&other));
	lock_acquire(&lock);
	lock_release_apart(&other); /* before what was taken later */
	assert_int_equal(lock_thread.nr, 1);
	assert_ptr_equal(lock_thread.held[0], &lock);
	lock_release(&lock);
	assert_true(lock_is_plain());
}

static void *abandon(void *arg)
{
	struct lock *locks = arg;

	for (int i = 0; i < 3; i++)
		lock_acquire(&locks[i]);
	lock_acquire_apart(&locks[3]);
	lock_abandon();
	return lock_is_inside() && !lock_thread.nr ? arg : NULL;
}

static void test_abandon(void **state)
{
	struct lock locks[4] = { LOCK_INIT(RANK_NONE) };
	pthread_t thread;
	void *result;

	(void)state;
	pthread_create(&thread, NULL, abandon, locks);
	pthread_join(thread, &result);
	assert_ptr_equal(result, locks);
	for (int i = 0; i < 4; i++)
		assert_int_equal(locks[i].word, 0);
}

static void test_fork_inside(void **state)
{
	(void)state;
	assert_true(lock_fork_enter() && lock_is_inside() && !lock_fork_is_inside());
	assert_false(lock_take_inside(&lock)); /* it holds all */
	assert_false(lock_fork_enter());
	assert_true(lock_fork_is_inside());
	lock_fork_leave();
	assert_true(lock_is_inside() && !lock_fork_is_inside());
	lock_fork_leave();
	assert_true(lock_is_plain());
}

/* In a child that forked inside, no thread will release a lock that is held. */
static void wait_forked_inside(void *arg)
{
	struct lock mine = LOCK_INIT(RANK_NONE);
	struct lock absent = { *(uint32_t *)arg, RANK_NONE };

	alarm(60); /* it waited for ever */
	lock_forked_inside();
	lock_acquire(&mine);
	lock_release(&mine);
	lock_acquire(&absent);
}

static void test_forked_inside(void **state)
{
	uint32_t free_word = 0;
	uint32_t held = 1;
	uint32_t waited_for = 2;
	struct child c = child_run(wait_forked_inside, &free_word);

	(void)state;
	assert_true(child_passed(&c));
	c = child_run(wait_forked_inside, &held);
	assert_true(child_aborted(&c));
	assert_non_null(strstr(c.text, "uslab: a fork in a signal handler: its child returned"));
	c = child_run(wait_forked_inside, &waited_for);
	assert_true(child_aborted(&c));
}

/* Forks while other threads hold and wait for the lock. */
static void test_fork(void **state)
{
	pthread_t threads[3];
	size_t i;

	(void)state;
	storm = (struct storm){ 0 };
	stop = false;
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, hold_and_release, &lock);
	for (i = 0; i < 50; i++)
		fork_once();
	store_relaxed(&stop, true);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(lock.word, 0);
}

/* Takes locks with these ranks in this order, releases them in the same order. */
static void take_ranks(void *arg)
{
	const enum lock_rank *ranks = arg;
	struct lock locks[4];
	int n;
	int i;

	for (n = 0; n < 4 && ranks[n]; n++) {
		lock_init(&locks[n], ranks[n]);
		if (n & 1)
			CHILD_CHECK(lock_try(&locks[n]));
		else
			lock_acquire(&locks[n]);
	}
	for (i = n; i-- > 0;)
		lock_release(&locks[i]);
	/* All bits are gone again: the highest rank can be taken. */
	lock_init(&locks[0], RANK_CACHE);
	lock_acquire(&locks[0]);
	lock_release(&locks[0]);
}

static void test_ranks_descend(void **state)
{
	static enum lock_rank down[4] = { RANK_CACHE, RANK_ENGINE, RANK_PAGE, RANK_OS };
	static enum lock_rank single[4] = { RANK_META };

	(void)state;
	take_ranks(down);
	take_ranks(single);
	take_ranks(down);
}

static void check_order_refused(enum lock_rank first, enum lock_rank second, const char *text)
{
	enum lock_rank ranks[4] = { first, second };
	struct child c = child_run(take_ranks, ranks);

	if (!LOCK_RANKS) {
		assert_true(child_passed(&c));
		return;
	}
	assert_true(child_aborted(&c));
	assert_string_equal(c.text, text);
}

static void test_ranks_refused(void **state)
{
	(void)state;
	check_order_refused(RANK_PAGE, RANK_ENGINE,
			    "uslab: lock of rank 40 taken while rank 30 is held\n");
	check_order_refused(RANK_PAGE, RANK_PAGE,
			    "uslab: lock of rank 30 taken while rank 30 is held\n");
	check_order_refused(RANK_OS, RANK_CACHE,
			    "uslab: lock of rank 60 taken while rank 10 is held\n");
}

static void release_unheld(void *arg)
{
	struct lock l = LOCK_INIT(RANK_ENGINE);

	(void)arg;
	lock_release(&l);
}

static void test_release_unheld(void **state)
{
	struct child c = child_run(release_unheld, NULL);

	(void)state;
	assert_true(LOCK_RANKS ? child_aborted(&c) : child_passed(&c));
}

/* fork takes any number of locks of one rank, and leaves no rank behind. */
static void test_fork_no_ranks(void **state)
{
	struct lock l[2] = { LOCK_INIT(RANK_ENGINE), LOCK_INIT(RANK_ENGINE) };
	struct lock above = LOCK_INIT(RANK_CACHE);

	(void)state;
	lock_fork_prepare(&l[0]);
	lock_fork_prepare(&l[1]);
	lock_acquire(&above);
	lock_release(&above);
	assert_int_equal(l[0].word, 1);
	lock_fork_parent(&l[1]);
	lock_fork_parent(&l[0]);
	assert_int_equal(l[0].word, 0);
	assert_int_equal(l[1].word, 0);
}

/* Whatever is held: ranks count anew, and all other calls are nested. */
static void test_tries(void **state)
{
	struct lock page = LOCK_INIT(RANK_PAGE);
	struct lock engine = LOCK_INIT(RANK_ENGINE);
	struct lock_tries outer;
	struct lock_tries inner;

	(void)state;
	lock_acquire(&page);
	outer = lock_tries_begin();
	assert_false(lock_try(&page));
	assert_true(lock_try(&engine)); /* though it is above */
	inner = lock_tries_begin();
	assert_false(lock_try(&engine));
	lock_tries_end(inner);
	assert_true(lock_thread.flags & LOCK_TRYING);
	lock_release(&engine);
	assert_true(lock_is_inside());
	lock_tries_end(outer);
	assert_false(lock_thread.flags & LOCK_TRYING);
	lock_release(&page);
	assert_false(lock_is_inside());
	lock_acquire(&engine); /* ranks are as they were */
	lock_acquire(&page);
	lock_release(&page);
	lock_release(&engine);
}

static void wait_while_trying(void *arg)
{
	struct lock l = LOCK_INIT(RANK_PAGE);

	(void)arg;
	lock_tries_begin();
	lock_acquire(&l);
}

static void test_tries_do_not_wait(void **state)
{
	struct child c = child_run(wait_while_trying, NULL);

	(void)state;
	assert_true(LOCK_RANKS ? child_aborted(&c) : child_passed(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counted),	       cmocka_unit_test(test_inside),
		cmocka_unit_test(test_abandon),	       cmocka_unit_test(test_forked_inside),
		cmocka_unit_test(test_fork_inside),    cmocka_unit_test(test_flags),
		cmocka_unit_test(test_word),	       cmocka_unit_test(test_beside),
		cmocka_unit_test(test_try_fails),      cmocka_unit_test(test_storm),
		cmocka_unit_test(test_sleepers),       cmocka_unit_test(test_fork),
		cmocka_unit_test(test_ranks_descend),  cmocka_unit_test(test_ranks_refused),
		cmocka_unit_test(test_release_unheld), cmocka_unit_test(test_fork_no_ranks),
		cmocka_unit_test(test_tries),	       cmocka_unit_test(test_tries_do_not_wait),
	};

	if (getenv("USLAB_TEST_VALGRIND"))
		rounds = 500;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
