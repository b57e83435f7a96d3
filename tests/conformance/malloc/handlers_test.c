/* SPDX-License-Identifier: MIT */
/*
 * conformance/malloc/handlers_test.c - malloc in signal handlers: inside of malloc, while the
 * program dies, around fork
 *
 * ctest: timeout=300 sanitize=no (the sanitizers bring a malloc of their own)
 *
 * Tests in which "all locks are held" take them as fork() does, which a handler
 * may interrupt at any place.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/atomic.h"
#include "cache/cache.h"
#include "child.h"
#include "malloc/internal.h"
#include "os/process/die.h"
#include "page/buddy.h"
#include "page/nested.h"
#include "page/reserve.h"
#include "replaced.h"

#define PATIENCE 60 /* s; who waits for a lock waits for ever */
#define HANDLERS 1000

static const size_t sizes[] = { 0, 1, 40, 100, 1000, 5000, 20000, 70000, 300000, 6ul << 20 };

static void fill(void *p, size_t size, int byte)
{
	CHILD_CHECK(p && (uintptr_t)p % MALLOC_ALIGN == 0 && malloc_usable_size(p) >= size);
	memset(p, byte, size);
}

static void check(const unsigned char *p, size_t size, int byte)
{
	for (size_t i = 0; i < size; i++)
		CHILD_CHECK(p[i] == byte);
}

/* Nothing is put off any more, and no block of the reserve is given out. */
static void check_settled(void)
{
	void *(*volatile any)(size_t) = malloc; /* the compiler must not know it */

	free(any(1ul << 20)); /* no hit */
	CHILD_CHECK(!nested_waiting() && !nested_lost() && !reserve_count());
	reserve_check();
	malloc_check();
}

/* Also hits: a size of which the interrupted call changes nothing. */
static void use_all(void **keep)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		unsigned char *p = malloc(sizes[i]);
		unsigned char *q = calloc(1, sizes[i]);
		void *aligned = NULL;

		fill(p, sizes[i], 3);
		check(q, sizes[i], 0);
		p = realloc(p, 2 * sizes[i] + 1);
		fill(q, sizes[i], 4);
		check(p, sizes[i], 3);
		q = realloc(q, sizes[i] / 2 + 1);
		check(q, sizes[i] / 2, 4);
		CHILD_CHECK(!posix_memalign(&aligned, 4096, sizes[i] + 1));
		CHILD_CHECK((uintptr_t)aligned % 4096 == 0);
		free(aligned);
		free(q);
		keep[i] = p;
	}
}

/* ---- all locks are held ---- */

static void allocate(void **p)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		p[i] = malloc(sizes[i]);
		fill(p[i], sizes[i], 1);
	}
}

static void check_and_free(void **p, int byte)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		check(p[i], sizes[i], byte);
		free(p[i]);
	}
}

IN_CHILD(test_inside)
{
	void *before[ARRAY_SIZE(sizes)];
	void *kept[ARRAY_SIZE(sizes)];
	void *resized[ARRAY_SIZE(sizes)];

	alarm(PATIENCE);
	allocate(before);
	allocate(resized);
	cache_fork_prepare();
	use_all(kept);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) - 1; i++) {
		resized[i] = realloc(resized[i], sizes[i] + 40);
		check(resized[i], sizes[i], 1);
	}
	check_and_free(before, 1);
	cache_fork_parent();
	CHILD_CHECK(reserve_count() > 0 && nested_waiting() > 0);
	check_and_free(kept, 3); /* memory of the reserve, which the program goes on with */
	check_and_free(resized, 1);
	check_settled();
}

/* A mapped block whose size is in a table that is being changed: it stays, and the call says so. */
IN_CHILD(test_mapped_inside)
{
	char *p = malloc(6ul << 20);

	alarm(PATIENCE);
	fill(p, 6ul << 20, 1);
	cache_fork_prepare();
	errno = 0;
	CHILD_CHECK(!realloc(p, 7ul << 20) && errno == ENOMEM);
	cache_fork_parent();
	p = realloc(p, 7ul << 20);
	check((unsigned char *)p, 6ul << 20, 1);
	free(p);
	check_settled();
}

static void free_twice(void *p)
{
	void (*volatile give)(void *) = free;

	give(p);
	give(p);
}

IN_CHILD(test_reserve_freed_twice)
{
	struct child c;
	void *p;

	alarm(PATIENCE);
	cache_fork_prepare();
	p = malloc(300);
	cache_fork_parent();
	c = child_run(free_twice, p);
	CHILD_CHECK(strstr(c.text, "lies in memory for signal handlers"));
}

/* ---- a storm ---- */

static struct {
	void *held[16];
	unsigned int handlers;
	unsigned int was_inside;
} storm;

static void on_timer(int sig)
{
	unsigned int n = storm.handlers++;
	size_t size = n % 50 ? (n * 37) % 900 : 5000 + n * 100;
	void **slot = &storm.held[n % ARRAY_SIZE(storm.held)];
	const struct itimerval none = { 0 };

	(void)sig;
	if (n >= HANDLERS) {
		setitimer(ITIMER_REAL, &none, NULL);
		return;
	}
	storm.was_inside += lock_is_inside();
	free(*slot);
	*slot = n % 3 ? malloc(size) : calloc(1, size);
	fill(*slot, size, 2);
	if (n % 4 == 0) {
		*slot = realloc(*slot, 2 * size + 1);
		check(*slot, size, 2);
	}
}

static void *work(void *arg)
{
	unsigned char *p[300] = { NULL };
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	while (load_relaxed(&storm.handlers) < HANDLERS) {
		for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
			size_t size;

			seed = seed * 1664525 + 1013904223;
			size = seed >> 30 ? seed >> 20 & 511 : seed >> 16 & 32767;
			free(p[i]);
			p[i] = malloc(size);
			fill(p[i], MIN(size, 64ul), 1);
		}
		for (unsigned int i = 0; i < ARRAY_SIZE(p); i++) {
			free(p[i]);
			p[i] = NULL;
		}
	}
	return NULL;
}

IN_CHILD(test_storm)
{
	const struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 40 }, { 0, 40 } };
	sigset_t alarms;
	pthread_t thread;

	/* this thread takes the signals, the other one its locks */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	CHILD_CHECK(!pthread_create(&thread, NULL, work, (void *)7));
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	work((void *)1);
	signal(SIGALRM, SIG_IGN);
	pthread_join(thread, NULL);
	for (unsigned int i = 0; i < ARRAY_SIZE(storm.held); i++)
		free(storm.held[i]);
	check_settled();
}

/* ---- the program dies ---- */

static void *use_beside(void *arg)
{
	void *p = malloc(3ul << 20);

	free(p);
	return p ? arg : NULL;
}

/* As redis does: backtraces, logs, waits for threads. */
static void on_abort(int sig)
{
	void *kept[ARRAY_SIZE(sizes)];
	void *result = NULL;
	pthread_t thread;

	(void)sig;
	use_all(kept);
	if (pthread_create(&thread, NULL, use_beside, &storm) || pthread_join(thread, &result))
		_exit(2);
	_exit(result ? 0 : 3);
}

IN_CHILD(test_handler_of_abort)
{
	alarm(PATIENCE);
	signal(SIGABRT, on_abort);
	lock_acquire(&buddy_zones[0].purge_lock);
	lock_acquire(&buddy_zones[0].lock);
	os_die_fmt("corrupt");
}

/* ---- fork ---- */

static void fork_inside(void)
{
	void *kept[ARRAY_SIZE(sizes)];
	void *before[ARRAY_SIZE(sizes)];
	int status;
	pid_t pid;

	allocate(before);
	lock_acquire(&buddy_zones[0].lock); /* a handler comes */
	pid = fork();
	if (pid == 0) {
		alarm(PATIENCE);
		use_all(kept);
		check_and_free(kept, 3);
		check_and_free(before, 1);
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	use_all(kept);
	lock_release(&buddy_zones[0].lock);
	check_and_free(kept, 3);
	check_and_free(before, 1);
	check_settled();
}

/*
 * The handler returns, in the child as well: a copy of the only thread goes
 * on as if nothing had been.
 */
IN_CHILD(test_fork_inside_alone)
{
	int status;
	pid_t pid;

	alarm(PATIENCE);
	fork_inside();
	lock_acquire(&buddy_zones[0].lock);
	pid = fork();
	lock_release(&buddy_zones[0].lock);
	check_settled();
	if (pid == 0)
		_exit(0);
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void *hold(void *arg)
{
	lock_acquire(&buddy_zones[0].purge_lock);
	store_release((bool *)arg, true);
	for (;;)
		pause();
	return NULL;
}

IN_CHILD(test_fork_inside_threads)
{
	bool held = false;
	pthread_t thread;
	pid_t pid;
	int status;

	alarm(PATIENCE);
	fork_inside();
	CHILD_CHECK(!pthread_create(&thread, NULL, hold, &held));
	while (!load_acquire(&held))
		sched_yield();
	lock_acquire(&buddy_zones[0].lock);
	pid = fork();
	lock_release(&buddy_zones[0].lock);
	if (pid == 0) { /* what the thread held nobody will release here */
		void *kept[ARRAY_SIZE(sizes)];

		alarm(PATIENCE);
		use_all(kept);
		check_and_free(kept, 3);
		_exit(0);
	}
	CHILD_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_mapped_inside),
		cmocka_unit_test(test_reserve_freed_twice),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_handler_of_abort),
		cmocka_unit_test(test_fork_inside_alone),
		cmocka_unit_test(test_fork_inside_threads),
	};

	if (malloc_is_replaced())
		return TEST_SKIPPED;
	malloc_start();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
