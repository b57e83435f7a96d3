/* SPDX-License-Identifier: MIT */
/*
 * os/ticker.c - one thread that calls a function again and again
 *
 * Data:       interval and function, and the process that has the thread; all atomic.
 * Invariants: owner is 0, or the number of the process whose thread it is: in a child of fork() it is
 *             the parent's, so that nothing needs to be undone there.
 * Locks:      none: whoever writes its number into owner makes the thread.
 * Flow:       called by cache/reap.c; calls pthread_create, clock_nanosleep.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/ticker.h"

static unsigned int interval;
static void (*function)(void);
static pid_t owner;

static void sleep_ms(unsigned int ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {}
}

static void *tick(void *name)
{
	prctl(PR_SET_NAME, name);
	for (;;) {
		sleep_ms(load_relaxed(&interval));
		load_acquire (&function)(); /* pairs with os_ticker_start */
	}
	return NULL;
}

/* Signals are blocked before the thread exists, so that it never takes one. */
static int make_thread(const char *name)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	int ret;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, &attr, tick, (void *)name);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -ret;
}

int os_ticker_start(const char *name, unsigned int interval_ms, void (*fn)(void))
{
	pid_t self = getpid();
	pid_t before = load_relaxed(&owner);
	int ret;

	if (!interval_ms)
		return -EINVAL;
	store_relaxed(&interval, interval_ms);
	store_release(&function, fn); /* pairs with tick */
	if (before == self || !cmpxchg(&owner, before, self))
		return 0;
	ret = make_thread(name);
	if (ret)
		store_relaxed(&owner, 0);
	return ret;
}
